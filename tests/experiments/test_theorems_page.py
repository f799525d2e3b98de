"""The page of theorems: its rows are what `prove` gives for the list, and what has no row is not called proved."""

import re

import pytest

from draftproof import check
from draftproof.experiments.cli.prove import prove
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.pages.theorems import PAGE, about, claims, filled, row_of

#: Columns of the page that name a theorem, and those that are compared.
NAMED, SHOWN = ("theorem", "V", "scheme", "free", "zeros"), ("verdict", "cells of verdicts", "cells", "cases", "CPU s")


def table_rows(text):
    """Rows of the page's tables by what names each; one without V is about every size."""
    rows, headings = {}, []
    for line in re.sub(r"(?<=\d),(?=\d{3} )", "", text).splitlines():
        cells = [cell.strip(" `").replace("\\", "") for cell in line.strip("|").split("|")]
        if "verdict" in cells:
            headings = cells
        elif line.startswith("| ") and headings:
            row = {"V": "every", **dict(zip(headings, cells, strict=True))}
            if "by z3" in row and row["found"]:
                row |= {"verdict": f"{row['verdict']}, {row['found']}", "cells": "0"}
            rows[" | ".join(row[key] for key in NAMED if key in row)] = {key: row[key] for key in SHOWN if key in row}
    return rows


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
    about_it = {**row, "V": "every" if row["V"] == "any" else row["V"]}
    on_page = ROWS[" | ".join(str(about_it[name]) for name in ("theorem", "V", "scheme", *named))]
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
