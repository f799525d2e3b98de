"""`draftproof hierarchy`: three models against two, in rows and words; refusals in a line."""

from fractions import Fraction

import pytest

SMALL = ("--text", "topics", "--vocab", 2, "--target-order", 2, "--length", "1..2", "--handed", 2, "--blocks", 1)
EXACT = ("--arithmetic", "rational", "--json", "-")


def test_rows_have_exact_means_and_say_who_is_best(draftproof):
    found = draftproof("hierarchy", *SMALL, *EXACT).json
    rows = found["rows"]
    assert {row["drafted_by"] for row in rows} == {"small", "middle", "tokens", "blocks"}
    assert all(row["lossless"] for row in rows)
    for row in rows:
        passes = [Fraction(row[f"{name}_passes"]) for name in ("small", "middle", "target")]
        time = passes[0] / 50 + passes[1] / 5 + passes[2]
        assert Fraction(row["tokens_per_time"]) == Fraction(row["tokens"]) / time
    for kind, place in found["best"].items():
        rates = [Fraction(row["tokens_per_time"]) for row in rows if row["drafted_by"] == kind]
        assert Fraction(rows[place]["tokens_per_time"]) == max(rates)


def test_times_decide_whether_three_models_are_better(draftproof, tmp_path):
    given = ("--text", "topics", "--vocab", 2, "--draft-order", 2, "--length", 2, "--handed", "4..6", "--blocks", 1)
    cheap = draftproof("hierarchy", *given, "--cost", "small=.01,middle=.03,target=1", "--plot", "who.png")
    assert "Three models are better here" in cheap.out
    assert (tmp_path / "who.png").read_bytes().startswith(b"\x89PNG")
    assert "Two models are better here" in draftproof("hierarchy", *SMALL, "--cost", "small=0,middle=1,target=1").out


def test_a_lossy_middle_stage_is_refuted_unless_its_law_is_told(draftproof):
    ran = draftproof("hierarchy", *SMALL, "--middle", "threshold")
    assert ran.code == 1
    assert "REFUTED: drafted by both, " in ran.out
    assert "Two models are not compared with three: those of three are lossy" in ran.out
    assert draftproof("hierarchy", *SMALL, "--middle", "threshold", "--told-handed").code == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--family", "dirichlet"), "needs three models"),
        ((*SMALL, "--small-order", 2), "above the order of the middle model"),
        ((*SMALL, "--cost", "small=1,middle=2"), "give small, middle, target"),
        ((*SMALL, "--cost", "small=1,middle=2,target=0"), "that of the target is above 0"),
        ((*SMALL, "--blocks", 9), "nothing is left that is drafted by both, whole blocks"),
        (("naive", "block", *SMALL), "one verifier of the target at a time"),
        ((*SMALL, "--sampling", "temperature=.5"), "takes its models as they are"),
        ((*SMALL, "--length", 0), "drafts nothing"),
        ((*SMALL, "--roots", 2), "no effect on the long run"),
    ],
)
def test_refusals_are_one_line(draftproof, given, message):
    ran = draftproof("hierarchy", *given)
    assert ran.code == 2
    assert message in ran.err.strip().splitlines()[-1]
