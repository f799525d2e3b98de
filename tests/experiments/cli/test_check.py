"""`draftproof check`: exit codes, the JSON that programs read, witnesses that reproduce."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.simulator import InvalidInput
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.instances.instance import Instance
from draftproof.verifiers import REGISTRY, STANDALONE
from tests.quick import quick

CONTROLS = [
    name for name in STANDALONE if "delayed" not in lossless_for(REGISTRY[name].card) and name != "spechub"
]  # spechub takes no delayed trees at all


@pytest.mark.parametrize(
    "name",  # insertion order: see above
    quick([name for name in CONTROLS if name != "traversal_insertion_order"], ("naive_from_target", "ensemble")),
)
def test_every_verifier_not_meant_for_delayed_trees_is_refuted_and_its_file_reproduces_the_violation(draftproof, name):
    ran = draftproof("check", name, "--K", 3, "--world", "family:dirichlet,denominator=20,seeds=0..19", "--json")
    assert ran.code == 1
    witness = ran.witness
    again = draftproof("check", name, "--world", witness["file"], "--json")
    assert again.code == 1
    for field in ("context", "token", "expected", "found", "deviation"):
        assert again.witness[field] == witness[field]
    assert again.row["max_deviation"] == witness["deviation"]
    assert Fraction(again.row["total_variation"]) >= Fraction(again.row["max_deviation"]) > 0


def test_ensemble_reports_its_exact_bias(draftproof, tmp_path):
    # one token: accepted with min(1, 3/10 + 7/10 p/q); q(0) = 2/3 loses 2/3 (1 - (3/10 + 7/20)) instead of 1/3
    file = tmp_path / "one.json"
    rows = {"": ["1/3", "2/3"], "0": ["1", "0"], "1": ["1", "0"]}
    file.write_text(json.dumps({"vocab_size": 2, "depth": 1, "target": rows, "draft": {"": ["2/3", "1/3"]}}))
    ran = draftproof("check", "ensemble", "--world", file, "--K", 1, "--L2", 1, "--json")
    assert ran.row["total_variation"] == str(Fraction(1, 3) - Fraction(2, 3) * (1 - Fraction(13, 20)))
    strict = draftproof("check", "ensemble:w=1", "--world", file, "--K", 1, "--L2", 1, "--json")
    assert (strict.code, strict.row["total_variation"]) == (0, "0")


def test_exhaustive_grid_stops_at_a_failure(draftproof):
    ran = draftproof("check", "naive_from_target", "--world", "grid:denominator=3,vocab=2", "--L2", 1, "--json")
    assert ran.code == 1
    assert ran.row["instances"] < 16


def test_text_roots_are_reported_one_by_one_and_averaged(draftproof):
    ran = draftproof("check", "block", "--world", "text:topics,vocab=3", "--json")
    roots = ran.json["roots"]
    assert ran.code == 0
    assert len(roots) == 8
    assert sum(Fraction(root["weight"]) for root in roots) == 1
    mean = sum(Fraction(root["weight"]) * Fraction(root["block_efficiency"]) for root in roots)
    assert mean == Fraction(ran.row["block_efficiency"])


def test_scheme_of_the_instance_file_is_the_default_and_flags_override_it(draftproof):
    file = Path(__file__).parents[2] / "data" / "topics.json"
    assert "L1=1" in draftproof("check", "nss", "--world", file, "--json").row["scheme"]
    assert "L1=0" in draftproof("check", "nss", "--world", file, "--L1", 0, "--json").row["scheme"]


def test_float64_agrees_with_rational_and_does_not_claim_a_proof(draftproof):
    exact = draftproof("check", "traversal", "--K", 2, "--json").row
    ran = draftproof("check", "traversal", "--K", 2, "--arithmetic", "float64")
    rounded = draftproof("check", "traversal", "--K", 2, "--arithmetic", "float64", "--json").row
    assert "proves nothing" in ran.out
    # rounding of sums of a few thousand terms of size at most 1
    assert rounded["block_efficiency"] == pytest.approx(exact["block_efficiency_float"], abs=1e-12)


def test_witness_goes_where_it_is_asked_to_go(draftproof, tmp_path):
    ran = draftproof("check", "ensemble", "--witness", "mine.json")
    assert ran.code == 1
    assert Instance.load(tmp_path / "mine.json").scheme is not None
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_outsiders_verifier_from_a_file(draftproof, tmp_path):
    (tmp_path / "mine.py").write_text(OUTSIDER)
    assert draftproof("check", "mine.py:Mine", "--K", 2).code == 0
    broken = draftproof("check", "mine.py:Broken", "--K", 2, "--json")
    assert broken.code == 1
    assert broken.row["verifier"] == "broken"


def test_an_outsiders_mistake_is_named_with_its_line(draftproof, tmp_path):
    (tmp_path / "mine.py").write_text(OUTSIDER)
    floats = draftproof("check", "mine.py:Floats", "--K", 2)
    assert floats.code == 2
    assert "0.5" in floats.err
    crash = draftproof("check", "mine.py:Crash", "--K", 2)
    assert crash.code == 2
    assert "ZeroDivisionError" in crash.err
    assert "line 31" in crash.err


OUTSIDER = """\
from dataclasses import dataclass
from typing import ClassVar
from draftproof.simulator import Card, Verdict


def card(name):
    return Card(name=name, title=name, source=None)


class Mine:
    card = card("mine")

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target))


class Broken(Mine):
    card = card("broken")

    def verify(self, root, coin):
        return Verdict((), coin.choose(root.draft))


class Floats(Mine):
    def verify(self, root, coin):
        return Verdict((), int(coin.flip(0.5)))


class Crash(Mine):
    def verify(self, root, coin):
        return Verdict((), 1 // 0)
"""


@pytest.mark.heavy
def test_without_an_instance_a_control_is_refuted_on_the_shape_that_shows_its_bug(draftproof):
    ran = draftproof("check", "traversal_insertion_order", "--json")
    assert ran.code == 1
    assert ran.row["scheme"] == "delayed(K=3, L1=0, L2=2)"
    assert Fraction(ran.witness["deviation"]) == Fraction(1, 32)


@pytest.mark.heavy
def test_the_standard_check_gives_no_verdict_before_its_core_is_done(draftproof, tmp_path):
    ran = draftproof("check", "block", "--seconds", 0)
    assert ran.code == 2
    assert "no verdict" in ran.err
    assert "give it more seconds" in ran.err
    assert ran.out == ""
    assert draftproof("check", "block", "--K", 2, "--seconds", 3).code == 2


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_verdict(draftproof, tmp_path, monkeypatch):
    from draftproof.experiments import result

    def full(path, content):
        raise InvalidInput(f"cannot write {path}: no")

    monkeypatch.setattr(result, "write_whole", full)
    given = ("check", "naive_from_target", "--K", 1, "--L2", 1)
    ran = draftproof(*given)
    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert "was not saved" in ran.err
    assert "REFUTED" in ran.out
