"""`draftproof bound --bias`: the curve, the points of verifiers, the picture, and what is refused."""

import json
from fractions import Fraction
from pathlib import Path

from draftproof.lp_analysis import FrontierInterrupted, frontier

LIMITED = ("--bias", "0,.005,.01,.02,.05,.1", "--seconds", "1e-6", "--json")
SMALL = ("--world", "family:perturbed,s=1", "--K", 1, "--L2", 2)


def test_verifiers_are_held_against_the_curve_and_lossless_ones(draftproof):
    ran = draftproof("bound", "block", "ensemble:w=19/20", "threshold", *SMALL, "--bias", ".01,.1", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert [point["bias"] for point in found["rows"]] == ["0", "1/100", "1/10"]
    lower = [Fraction(point["lower"]) for point in found["rows"]]
    assert lower == sorted(lower)
    assert all(Fraction(row["distance"]) >= 0 for row in found["verifiers"])
    block = found["verifiers"][0]
    assert (block["lossless"], block["bias"], block["beaten_by"]) == (True, "0", None)
    for row in found["verifiers"][1:]:
        assert (row["beaten_by"] == "block") == (Fraction(row["tokens"]) <= Fraction(block["tokens"]))


def test_the_table_and_the_picture(draftproof, tmp_path):
    ran = draftproof("bound", "typical", *SMALL, "--bias", "0,.05", "--plot", "curve.png")
    assert ran.code == 0, ran.err
    assert "at most" in ran.out
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_certificate_of_the_curve_is_checked_without_a_solver(draftproof):
    ran = draftproof("bound", *SMALL, "--bias", "0,.05", "--certificate", "c.json", "--json")
    assert ran.code == 0, ran.err
    points = ran.json["rows"]
    checked = draftproof("verify", "c.json", "--json")
    assert checked.code == 0
    for stated, proved in zip(points, checked.row["points"], strict=True):
        assert {key: stated[key] for key in ("bias", "lower", "upper")} == {
            key: proved[key] for key in ("bias", "lower", "upper")
        }


def test_ctrl_c_prints_the_points_at_hand(draftproof, monkeypatch):
    def interrupted(*given, **settings):
        raise FrontierInterrupted(frontier(*given, **settings)[:1])

    monkeypatch.setattr("draftproof.experiments.cli.bound.curve.trace", interrupted)
    ran = draftproof("bound", "block", *SMALL, "--bias", "0,.05", "--certificate", "c.json")
    assert ran.code == 130
    assert "interrupted at bias 1 of 2" in ran.err
    assert "at most" in ran.out
    assert "verifiers" not in ran.out
    assert draftproof("verify", "c.json").code == 0


def test_a_limit_of_time_gives_certified_bounds(draftproof):
    ran = draftproof("bound", *SMALL[:2], "--K", 2, "--L2", 3, *LIMITED)
    assert ran.code == 0, ran.err
    assert "at most 1e-06 s each" in ran.err
    for point in ran.json["rows"]:
        assert Fraction(point["lower"]) <= Fraction(point["upper"])


def test_fly_on_the_text_has_the_numbers_of_another_model_of_it(draftproof):
    """Bias, tokens and the most tokens at that bias, as computed apart from this code, to three digits."""
    given = ("--world", "text:topics,vocab=4", "--K", 1, "--L2", 4, "--bias", 0, "--json")
    rows = {row["verifier"]: row for row in draftproof("bound", "fly:w=2", "fly:w=1", *given).json["verifiers"]}
    numbers = {
        spec: tuple(round(float(row[f"{key}_float"]), 3) for key in ("bias", "tokens", "upper"))
        for spec, row in rows.items()
    }
    assert numbers == {"fly:w=2": (0.085, 4.579, 4.683), "fly:w=1": (0.135, 4.742, 4.837)}
