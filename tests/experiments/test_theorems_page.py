"""The page of theorems: its lines are what the claims give, and only what no shape refutes is listed as such."""

import pytest

from draftproof.experiments.pages.theorems import PAGE, PATH, Claim, claims, lines, row_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS

QUICK = [
    Claim("naive", 2, PATH),
    Claim("block", 2, PATH),
    Claim("specinfer", 2, Delayed(2, 0, 1)),
    Claim("block", None, PATH),
    Claim("block", None, PATH, kind=DOMINATES, other="naive"),
    Claim("naive_from_target", 2, Delayed(1, 0, 1)),
    Claim("naive_tree", 2, PATH, kind=EQUALS, other="naive"),
    Claim("gbv", 2, Delayed(2, 0, 1), kind=DOMINATES, other="block"),
    Claim("traversal", 3, Delayed(2, 0, 1), kind=DOMINATES, other="specinfer"),
]


def without_seconds(line: str) -> str:
    return line.rsplit(" | ", 1)[0]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: f"{claim.verifier} {claim.size} {claim.kind} {claim.other}")
def test_the_page_says_what_its_claims_give(claim):
    row = row_of(claim)
    every = {**claim.fields(), "vocab_size": None, "verdict": "proved", "cases": 0, "runs": 0, "equations": 0}
    plain = claim.vocab_size == 2 and not claim.kind and row["verdict"] == "proved"
    rows = [row, every | {"questions": 0, "cpu_seconds": 0}] if plain else [row]
    table = [line for line in "\n".join(lines(rows, "abc")).splitlines() if line.startswith(f"| {claim.verifier} ")]
    assert without_seconds(table[0]) in PAGE.read_text(encoding="utf-8")
    assert len(table) == len(rows)


def test_a_refuted_relation_is_not_listed_as_proved():
    text = "\n".join(lines([row_of(claim) for claim in QUICK[6:]], "abc"))
    assert "- naive_tree equals naive (1 shape)" in text
    assert "- gbv dominates block" not in text
    assert "| gbv dominates block | 2 | delayed(K=2, L1=0, L2=1) | refuted, 7/4 against 2 |" in text


def test_a_claim_without_a_row_is_named_and_not_called_proved():
    text = "\n".join(lines([], "abc", [Claim("traversal", 3, Delayed(2, 0, 2), free=("a",))]))
    assert "\n- traversal, V = 3, delayed(K=2, L1=0, L2=2), a free" in text.partition("## Waiting")[2]
    assert "proved |" not in text
    assert "## Waiting" not in "\n".join(lines([], "abc"))


def test_no_claim_stands_twice():
    keys = [claim.strong_id for claim in claims()]
    assert len(keys) == len(set(keys))


def test_every_lossy_one_is_confirmed_by_a_check():
    row = row_of(QUICK[5])
    assert row["verdict"] == "refuted"
    assert row["confirmed"] not in (None, "not confirmed")
