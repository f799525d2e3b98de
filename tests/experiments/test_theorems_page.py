"""The page of theorems: its lines are what the claims give, and only what is proved everywhere is a conjecture."""

from __future__ import annotations

import pytest

from experiments.pages.theorems import PAGE, PATH, Claim, claims, lines, row_of
from experiments.shared.rows import strong_id
from simulator.drafts import Delayed
from simulator.theorems.relations import DOMINATES, EQUALS

QUICK = [
    Claim("naive", 2, PATH),
    Claim("block", 2, PATH),
    Claim("specinfer", 2, Delayed(2, 0, 1)),
    Claim("naive_tree", 2, PATH, kind=EQUALS, other="naive"),
    Claim("gbv", 2, Delayed(2, 0, 1), kind=DOMINATES, other="block"),
]


def without_seconds(line: str) -> str:
    return line.rpartition("| ")[0].rpartition("| ")[0]


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: f"{claim.verifier} {claim.kind} {claim.other}")
def test_the_page_says_what_its_claims_give(claim):
    row = row_of(claim)
    table = [line for line in "\n".join(lines([row])).splitlines() if line.startswith(f"| {claim.verifier} ")]
    assert len(table) == 1
    assert without_seconds(table[0]) in PAGE.read_text(encoding="utf-8")


def test_a_refuted_relation_is_no_conjecture():
    text = "\n".join(lines([row_of(claim) for claim in QUICK[3:]]))
    assert "- naive_tree equals naive (1 shape)" in text
    assert "- gbv dominates block" not in text


def test_no_claim_stands_twice():
    keys = [strong_id(claim.fields()) for claim in claims()]
    assert len(keys) == len(set(keys))
