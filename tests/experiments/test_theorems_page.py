"""The page of theorems: its rows are what `prove` gives for the list, and what has no row is not called proved."""

import pytest
from tests.frozen import key_of, table_rows

from draftproof import check
from draftproof.experiments.cli.prove import prove
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.pages.theorems import PAGE, about, claims, filled, row_of

PATH, PAIR = "delayed:K=1,L1=0,L2=2", "delayed:K=2,L1=0,L2=1"
ROWS = table_rows(PAGE.read_text(encoding="utf-8"))
QUICK = [
    {"verifier": "naive", "scheme": PATH, "vocab": 2},
    {"verifier": "specinfer", "scheme": PAIR, "vocab": 2},
    {"verifier": "block", "scheme": PATH, "vocab": "any"},
    {"verifier": "block", "scheme": PATH, "vocab": "any", "dominates": "naive"},
    {"verifier": "naive_from_target", "scheme": "delayed:K=1,L1=0,L2=1", "vocab": 2},
    {"verifier": "naive_tree", "scheme": PATH, "vocab": 2, "equals": "naive"},
    {"verifier": "gbv", "scheme": PAIR, "vocab": 2, "dominates": "block"},
    {"verifier": "traversal", "scheme": PAIR, "vocab": 3, "dominates": "specinfer"},
]


def only_row(row):
    """The row of the page by column, beside one that differs from it in every text."""
    texts = dict.fromkeys(("scheme", "verdict", "free", "zeros", "found", "cpu_seconds"), "-")
    another = {**row, **texts, "theorem": "another", "solved": 0}
    found = table_rows(filled(PAGE.read_text(encoding="utf-8"), [row, another], "abc"))
    return found[next(key for key in found if not key.startswith("another"))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: " ".join(map(str, claim.values())))
def test_the_page_says_what_prove_gives(claim):
    assert claim in list(claims())
    row = row_of(claim)
    named = {"lossless": ("free", "zeros"), "lossy": ("free",)}.get(row["table"], ())
    on_page = ROWS[key_of({name: str(value) for name, value in row.items()}, named)]
    assert {**only_row(row), "CPU s": ""} == {**on_page, "CPU s": ""}


def test_a_theorem_without_a_row_is_waiting_and_not_proved():
    row = about({"verifier": "traversal", "scheme": PATH, "vocab": 3, "free": ["a"]})
    assert only_row(row)["verdict"] == "waiting"
    assert "proved" not in {row["verdict"] for row in table_rows(filled(PAGE.read_text(), [], "abc")).values()}


def test_no_theorem_stands_twice():
    keys = [strong_id(claim) for claim in claims()]
    assert len(keys) == len(set(keys))


def test_a_lossy_one_is_confirmed_by_a_check(tmp_path):
    claim = QUICK[4]
    result = prove(claim["verifier"], claim["scheme"], vocab=2)
    result.save(tmp_path)
    [file] = result.files
    found = check(claim["verifier"], world=str(tmp_path / file)).tables[1].records()[0]
    assert f"{found['found']} for {found['expected']}" == row_of(claim)["found"]
