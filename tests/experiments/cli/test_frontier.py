"""`draftproof frontier`: the curve, the points of verifiers, the picture, and what is refused."""

import json
from fractions import Fraction

SMALL = ("--family", "perturbed:s=1", "--K", 1, "--L2", 2)


def test_verifiers_are_held_against_the_curve_and_lossless_ones(draftproof):
    ran = draftproof("frontier", "block", "ensemble:w=19/20", "threshold", *SMALL, "--bias", ".01,.1", "--json", "-")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert [point["bias"] for point in found["points"]] == ["0", "1/100", "1/10"]
    lower = [Fraction(point["lower"]) for point in found["points"]]
    assert lower == sorted(lower)
    assert all(Fraction(row["distance"]) >= 0 for row in found["verifiers"])
    block = found["verifiers"][0]
    assert (block["lossless"], block["bias"], block["beaten_by"]) == (True, "0", None)
    for row in found["verifiers"][1:]:
        assert (row["beaten_by"] == "block") == (Fraction(row["tokens"]) <= Fraction(block["tokens"]))


def test_the_table_and_the_picture(draftproof, tmp_path):
    ran = draftproof("frontier", "typical", *SMALL, "--bias", "0,.05", "--plot", "curve.png")
    assert ran.code == 0, ran.err
    assert "at most" in ran.out
    assert "picture: curve.png" in ran.out


def test_a_bias_that_is_none_is_refused_in_one_line(draftproof):
    ran = draftproof("frontier", *SMALL, "--bias", "0,2")
    assert ran.code == 2
    assert "give numbers in 0..1" in ran.err
