"""A file's verifier is enumerated; what it offers is used where that is asked for, and then proves nothing."""

from pathlib import Path

import pytest

LIARS = Path(__file__).parents[1] / "data" / "liars.py"
NAMES = ["Branch", "Card", "ChildLaw", "LastStep", "Settle", "Select", "Reject", "InTheDeep"]


@pytest.mark.one_in(16)
@pytest.mark.parametrize("command", ["check", "compare"])
@pytest.mark.parametrize("name", NAMES)
def test_a_liar_is_refused_in_one_line(draftproof, name, command):
    ran = draftproof(command, f"{LIARS}:Lying{name}", "--K", 3, "--engine", "structured")
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.strip().splitlines()
    assert line.startswith("draftproof: lying_")
    assert "give two laws on delayed(K=" in line
    assert "mend one of them, or use the engine enumerate" in line


@pytest.mark.parametrize("name", NAMES)
def test_enumeration_judges_what_a_liar_does(draftproof, name):
    ran = draftproof("check", f"{LIARS}:Lying{name}", "--world", "family:dirichlet,vocab=2", "--K", 3, "--json")
    assert (ran.code, ran.row["engine"], ran.row["max_deviation"]) == (0, "enumerate", "0")
    assert not ran.row["assumed"]


@pytest.mark.parametrize("vocab", [8, pytest.param(30, marks=pytest.mark.heavy)])
def test_a_lie_about_several_paths_shows_where_only_one_could_be_enumerated(draftproof, vocab):
    given = ("--world", f"family:dirichlet,vocab={vocab}", "--K", 4, "--L2", 2, "--arithmetic", "float64")
    ran = draftproof("check", f"{LIARS}:LyingInTheDeep", *given, "--engine", "structured")
    assert ran.code == 2
    assert "give two laws" in ran.err
    assert draftproof("check", "nss", *given).code == 0


def test_a_user_with_branch_alone_is_told_when_the_drafts_of_a_node_are_too_many(draftproof):
    given = ("--arithmetic", "float64", "--engine", "structured")
    ran = draftproof("check", f"{LIARS}:InOrder", "--world", "family:dirichlet,vocab=30", "--K", 4, *given)
    assert (ran.code, ran.out) == (2, "")
    assert "float64 steps, more than 3e+07; the nearest shape that fits is delayed(K=" in ran.err
    assert draftproof("check", f"{LIARS}:InOrder", "--world", "family:dirichlet,vocab=12", "--K", 2, *given).code == 3


IN_THIRDS = f"{LIARS}:LossyInThirds"
GRID = ("--world", "grid:denominator=3,vocab=2", "--K", 1, "--L2", 1)


@pytest.mark.heavy
def test_a_lossy_verifier_with_a_lossless_structure_is_refuted_by_every_route(draftproof):
    from draftproof import assert_lossless, check, compare, find_witness

    assert draftproof("check", IN_THIRDS, *GRID).code == 1
    assert draftproof("check", IN_THIRDS).code == 1
    given = (["1/3", "2/3"], ["2/3", "1/3"])
    path = "delayed:K=1,L1=0,L2=1"
    assert not check(IN_THIRDS, given, path).row["lossless"]
    assert find_witness(IN_THIRDS, path, target=given[0], draft=given[1]) is not None
    assert not compare(IN_THIRDS, given, path, optimum=False, arithmetic="rational").row["lossless"]
    with pytest.raises(AssertionError, match="is not lossless"):
        assert_lossless(IN_THIRDS, *given, path)
    with pytest.raises(AssertionError, match="is not lossless"):
        assert_lossless(IN_THIRDS)


def test_what_rests_on_a_structure_is_said_and_not_called_proved(draftproof):
    said = "by its structure, which was not compared with verify on every instance"
    ran = draftproof("check", IN_THIRDS, *GRID, "--engine", "structured")
    assert (ran.code, "proved" in ran.out) == (3, False)
    assert f"LOSSLESS {said}" in ran.out
    table = draftproof(
        "compare",
        IN_THIRDS,
        "--world",
        "family:dirichlet,vocab=2",
        "--arithmetic",
        "rational",
        "--engine",
        "structured",
    )
    assert "by its structure" in table.out
    assert "PROVED" not in table.out
