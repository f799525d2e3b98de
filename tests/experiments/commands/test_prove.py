"""`draftproof prove`: exit codes, the JSON that programs read, refutations that `check` confirms."""

from __future__ import annotations

import pytest

from simulator.theorems import oracle

ONE_STEP = ("--K", 1, "--L1", 0, "--L2", 1)


def test_a_theorem_exits_zero_and_says_what_it_covers(draftproof):
    ran = draftproof("prove", "naive", *ONE_STEP)
    assert ran.code == 0
    assert "LOSSLESS for every p and q with full support at V = 2, delayed(K=1, L1=0, L2=1)" in ran.out
    assert "coverage complete" in ran.out


def test_the_json_of_a_theorem(draftproof):
    ran = draftproof("prove", "block", "--K", 1, "--zeros", "--json", "-")
    assert ran.code == 0
    assert ran.json["verdict"] == "proved"
    assert ran.json["zeros"] is True
    assert ran.json["identities"] == 7
    assert ran.json["open_cells"] == 0
    assert ran.json["witness"] is None


def test_a_refutation_exits_one_with_an_instance_that_check_refutes(draftproof):
    ran = draftproof("prove", "block_by_weights", "--K", 1, "--json", "-")
    assert ran.code == 1
    assert ran.json["verdict"] == "refuted"
    assert ran.json["witness"]["polynomial"]
    again = draftproof("check", "block_by_weights", "--instance", ran.json["witness"]["file"], "--json", "-")
    assert again.code == 1
    assert again.json["witness"]["found"] == ran.json["witness"]["found"]


def test_what_is_not_covered_exits_three_and_is_no_theorem(draftproof, monkeypatch):
    monkeypatch.setattr(oracle.Oracle, "_answer", lambda self, region, atom, near=None: oracle.Empty.UNKNOWN)
    ran = draftproof("prove", "naive", *ONE_STEP)
    assert ran.code == 3
    assert "NOT PROVED" in ran.out
    assert "LOSSLESS" not in ran.out
    assert "not known where" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("khisti",), "draftproof check"),
        (("optimum",), "planned"),
        (("block", "--K", 1, "--vocab", 1), "--vocab 2"),
        (("naive", "--K", 4, "--L2", 3), "--max-trees"),
        (("specinfer", "--scheme", "nothing"), "unknown scheme"),
    ],
)
def test_bad_input_exits_two_with_the_way_out(draftproof, arguments, words):
    ran = draftproof("prove", *arguments)
    assert ran.code == 2
    assert words in ran.err
