"""A file's verifier that offers something else than it does is refused in one line; enumeration still judges it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import by_turns

LIARS = Path(__file__).parents[1] / "data" / "liars.py"
NAMES = ["Branch", "Card", "ChildLaw", "LastChildLaw", "Settle", "Select", "Reject", "InTheDeep"]


@pytest.mark.parametrize("command", ["check", "compare"])
@pytest.mark.parametrize("name", by_turns(NAMES))
def test_a_liar_is_refused_in_one_line(draftproof, name, command):
    ran = draftproof(command, f"{LIARS}:Lying{name}", "--K", 3)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.strip().splitlines()
    assert line.startswith("draftproof: lying_")
    assert "give two laws on delayed(K=" in line
    assert line.endswith("mend one of them, or use the engine enumerate")


@pytest.mark.parametrize("name", NAMES)
def test_enumeration_judges_what_a_liar_does(draftproof, name):
    ran = draftproof("check", f"{LIARS}:Lying{name}", "--vocab", 2, "--K", 3, "--engine", "enumerate", "--json", "-")
    assert (ran.code, ran.json["engine"], ran.json["max_deviation"]) == (0, "enumerate", "0")


@pytest.mark.parametrize("vocab", [8, pytest.param(30, marks=pytest.mark.heavy)])
def test_a_lie_about_several_paths_shows_where_only_one_could_be_enumerated(draftproof, vocab):
    given = ("--vocab", vocab, "--K", 4, "--L2", 2, "--arithmetic", "float64")
    ran = draftproof("check", f"{LIARS}:LyingInTheDeep", *given)
    assert ran.code == 2
    assert "give two laws" in ran.err
    assert draftproof("check", "nss", *given).code == 0


def test_a_user_with_branch_alone_is_told_when_the_drafts_of_a_node_are_too_many(draftproof):
    ran = draftproof("check", f"{LIARS}:InOrder", "--vocab", 30, "--K", 4, "--arithmetic", "float64")
    assert (ran.code, ran.out) == (2, "")
    assert "float64 steps, more than 3e+07; the nearest shape that fits is delayed(K=" in ran.err
    assert draftproof("check", f"{LIARS}:InOrder", "--vocab", 12, "--K", 2, "--arithmetic", "float64").code == 0


@pytest.mark.heavy
def test_honest_users_with_branch_alone_get_the_fast_engine(draftproof):
    for name, code in (("InOrder", 0), ("LikeliestHalf", 1)):
        ran = draftproof("check", f"{LIARS}:{name}", "--K", 3, "--json", "-")
        assert (ran.code, ran.json["engine"]) == (code, "structured (top-down)")
        slow = draftproof("check", f"{LIARS}:{name}", "--K", 3, "--json", "-", "--engine", "enumerate")
        assert slow.json["block_efficiency"] == ran.json["block_efficiency"]
        assert slow.json["max_deviation"] == ran.json["max_deviation"]
