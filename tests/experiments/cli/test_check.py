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


#: Rules made for i.i.d. siblings, on branches that are none. Of their smallest witnesses p and q at the root, the token
#: whose mass is wrong, its mass and what the block gives it.
WITNESSES = {
    ("khisti", "stratified"): (["1/2", "1/2"], ["1/3", "2/3"], (0, "1/2", "7/12")),
    ("specinfer", "systematic"): (
        ["1/3", "0", "2/3"],
        ["0", "1/2", "1/2"],
        (0, "1/3", "1/6"),
    ),
}


@pytest.mark.parametrize("named", WITNESSES, ids="-".join)
def test_the_witness_says_which_token_has_the_wrong_mass(draftproof, tmp_path, named):
    (p, q, found), (name, scheme) = WITNESSES[named], named
    rows = {"": p, **{str(token): p for token in range(len(p))}}
    fields = {"vocab_size": len(p), "depth": 1, "target": rows, "draft": {"": q}}
    for drawn, code in ((f"{scheme}:K=2,L1=0,L2=1", 1), ("delayed:K=2,L1=0,L2=1", 0)):
        (tmp_path / "rows.json").write_text(json.dumps(fields))
        ran = draftproof("check", name, "--world", str(tmp_path / "rows.json"), "--scheme", drawn, "--json")
        assert ran.code == code
        assert code == 0 or tuple(ran.witness[field] for field in ("token", "expected", "found")) == found


def test_exhaustive_grid_stops_at_a_failure(draftproof):
    ran = draftproof("check", "naive_from_target", "--world", "grid:denominator=3,vocab=2", "--L2", 1, "--json")
    assert ran.code == 1
    assert ran.row["instances"] < 16


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
