"""Families, texts and instance files that are sampled, in every command that takes them."""

import json
from fractions import Fraction

import numpy as np
import pytest

from draftproof.experiments.inputs.world_grammar import find_worlds
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.instances.processes import MarkovProcess

WORLDS = ["family:dirichlet,denominator=1000", "text:topics,vocab=4,roots=2,denominator=1000"]
TOPICS = "text:topics,vocab=4"


def world(text, *samplings):
    """The world of a text; of target and draft samplings, where there are some."""
    [one] = find_worlds(text, *samplings)
    return one


@pytest.mark.parametrize("text", WORLDS)
@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64])
@pytest.mark.parametrize(("temperature", "exact"), [("1/2", True), ("2", False)])
def test_both_models_are_sampled_so(text, arithmetic, temperature, exact):
    before = world(text).cases(2, arithmetic)
    after = world(text, f"temperature={temperature}").cases(2, arithmetic)
    assert [case.weight for case in after] == [case.weight for case in before]
    for old, new in zip(before, after, strict=True):
        for one, other in ((old.target, new.target), (old.draft, new.draft)):
            row, found = one.row(()), other.row(())
            powers = [float(value) ** (1 / float(Fraction(temperature))) for value in row]
            assert sum(found) == (1 if arithmetic.exact else pytest.approx(1, abs=1e-12))
            near = 1e-12 if exact else 3 / 1000  # rounding of floats; of the rows to their denominator
            assert np.allclose([float(v) for v in found], np.array(powers) / sum(powers), atol=near)


def test_rational_chains_are_exact_and_roots_of_a_text_share_their_tables():
    plain, other = (world(TOPICS, sampling).cases(2, RATIONAL) for sampling in (None, "top_p=.9"))
    for before, after in zip(plain, other, strict=True):
        row, found = before.target.row(()), after.target.row(())
        kept = [token for token in range(4) if found[token]]
        assert [found[token] for token in kept] == [row[token] / sum(row[kept]) for token in kept]
    assert len({id(case.target.states) for case in other}) == 1


def test_a_penalty_knows_the_root_and_what_was_drafted():
    plain, case = (
        world(f"{TOPICS},root=the", sampling).cases(2, RATIONAL)[0] for sampling in (None, "repetition_penalty=2")
    )
    assert isinstance(plain.target, MarkovProcess)
    for side, given in ((case.target, plain.target), (case.draft, plain.draft)):
        for context in ((), (0,)):
            raw, seen = given.row(context), {*plain.target.root, *context}
            powers = [value**2 if token in seen else value for token, value in enumerate(raw)]
            assert side.row(context).tolist() == [value / sum(powers) for value in powers]


def test_commands_take_it(draftproof, tmp_path):
    given = "family:perturbed,s=1,vocab=2,denominator=20"
    samplings = [word for t in (0.0, 0.5, 1.0) for word in ("--sampling", f"temperature={t}")]
    means = draftproof("compare", "block", "--world", "family:perturbed,s=1,vocab=2", *samplings, "--json").json["rows"]
    assert len({row["block_efficiency_float"] for row in means}) == 3
    assert means[0]["block_efficiency_float"] in (1, 2, 3)  # every row is one token: all drafts agree, or none
    many = draftproof("check", "block", "--world", f"{given},seeds=0..2", "--sampling", "temperature=.5", "--json").row
    assert (many["lossless"], many["instances"]) == (True, 3)
    grid = draftproof("check", "block", "--world", "grid:denominator=2", "--sampling", "top_k=1")
    assert (grid.code, "as they are; leave out sampling" in grid.err) == (2, True)
    refused = draftproof("check", "block", "--world", given, "--sampling", "top_p=0")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "sampling top_p=0: top_p 0.0 must be above 0 and at most 1" in refused.err


def test_an_instance_file_is_sampled_and_its_witness_holds_the_sampled_rows(draftproof, tmp_path):
    rows = {"vocab_size": 3, "depth": 1, "target": {"": ["1/2", "3/10", "1/5"]}, "draft": {"": ["1/5", "1/5", "3/5"]}}
    rows["target"] |= {f"{token}": ["1/2", "3/10", "1/5"] for token in range(3)}
    (tmp_path / "i.json").write_text(json.dumps(rows))
    at = ("--world", tmp_path / "i.json", "--sampling", "top_k=2", "--K", 1, "--L2", 1)
    assert draftproof("check", "naive", *at).code == 0
    ran = draftproof("check", "naive_from_target", *at, "--witness", tmp_path / "w.json")
    assert ran.code == 1
    saved = json.loads((tmp_path / "w.json").read_text())
    assert saved["target"][""] == ["5/8", "3/8", "0"]
    assert saved["draft"][""] == ["1/5", "1/5", "3/5"]  # both that equal the second
    assert draftproof("check", "naive_from_target", "--world", tmp_path / "w.json").code == 1


def test_a_draft_is_sampled_otherwise(draftproof):
    at = ("--sampling", "top_p=.9", "--draft-sampling", "bits=2", "--json")
    case, plain, alike = (
        world("family:dirichlet", *samplings).cases(2, RATIONAL)[0]
        for samplings in (("top_p=.9", "bits=2"), (), ("top_p=.9",))
    )
    assert case.target.row(()).tolist() == alike.target.row(()).tolist() != plain.target.row(()).tolist()
    units = [4 * value for value in case.draft.row(())]
    assert all(unit.q == 1 for unit in units)
    assert sum(units) == 4
    for command in (
        ("check", "block"),
        ("compare", "block", "traversal"),
        ("bound",),
    ):
        ran = draftproof(*command, *at)
        assert ran.code == 0, ran.err
        assert all(row.get("lossless", True) for row in ran.json["rows"])
    same = world("family:dirichlet", "top_p=.9", "top_p=9/10")
    assert same == world("family:dirichlet", "top_p=.9")
    refused = draftproof("bound", "--draft-sampling", "top_k=-1")
    assert (refused.code, "draft_sampling top_k=-1: top_k -1 must be at least 1" in refused.err) == (2, True)


@pytest.mark.heavy
def test_what_verifiers_are_told_is_refuted_with_a_witness_that_says_it(draftproof, tmp_path):
    at = ("--K", 1, "--L2", 1, "--draft-sampling", "top_k=2")
    assert draftproof("check", "naive", *at).code == 0
    ran = draftproof("check", "naive", *at, "--told", "draft", "--witness", tmp_path / "w.json", "--json")
    assert ran.code == 1
    assert (ran.witness["shrunk"], ran.witness["vocab_size"]) == (True, 3)
    saved = json.loads((tmp_path / "w.json").read_text())
    assert saved["told"][""] != saved["draft"][""]
    assert "0" in saved["draft"][""]
    again = draftproof("check", "naive", "--world", tmp_path / "w.json", "--json").row
    assert (again["lossless"], again["engine"]) == (False, "enumerate")
    note = "Verifiers that read q are told another one than drafts come from: what their cards promise does not apply."
    for source in ((*at[4:], "--told", "draft"), ("--world", tmp_path / "w.json")):
        assert note in draftproof("compare", "naive", *source, "--K", 1, "--L2", 1).out
    rows = draftproof("compare", "naive", "block", *at, "--told", "draft", "--json").json["rows"]
    assert [row["lossless"] for row in rows] == [False, False]
    for _ in range(2):  # stored, and taken from the store
        ran = draftproof("compare", "naive", "block", *at, "--told", "draft", "--resume", "r.db", "--json")
        assert [row["block_efficiency"] for row in ran.json["rows"]] == [row["block_efficiency"] for row in rows]
    for line, words in (
        (("compare", "optimum", *at, "--told", "draft"), "promises nothing where verifiers are told another one"),
        (
            ("compare", "naive", "static", "--world", "text:topics,vocab=3", "--told", "top_k=2"),
            "static goes without told",
        ),
        (
            ("check", "naive", *at[:-2], "--told", "draft"),
            "told draft is the q that tokens are drawn from; leave it out",
        ),
        (("bound", "--world", tmp_path / "w.json"), "told plants a mistake"),
    ):
        refused = draftproof(*line)
        assert (refused.code, words in refused.err) == (2, True), refused.err


@pytest.mark.parametrize("sampling", [("--sampling", "temperature=.5"), ("--draft-sampling", "bits=4")])
def test_the_told_rows_of_a_file_stay_told_where_it_is_sampled(draftproof, tmp_path, sampling):
    half = ["1/2", "1/2"]
    rows = {"vocab_size": 2, "depth": 1, "target": {"": half, "0": half, "1": half}, "draft": {"": ["1/4", "3/4"]}}
    (tmp_path / "i.json").write_text(json.dumps(rows | {"told": {"": ["3/4", "1/4"]}}))
    at = ("--world", tmp_path / "i.json", "--K", 1, "--L2", 1, *sampling)
    assert draftproof("check", "naive", *at).code == 1
    (tmp_path / "i.json").write_text(json.dumps(rows))
    assert draftproof("check", "naive", *at).code == 0


def test_told_rows_of_a_file_are_refused_where_they_would_be_dropped(draftproof, tmp_path):
    rows = {"target": {"": ["1/3", "2/3"], "0": ["1", "0"], "1": ["1", "0"]}, "draft": {"": ["1/2", "1/2"]}}
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"vocab_size": 2, "depth": 1, **rows, "told": {"": ["3/4", "1/4"]}}))
    shape = ("--K", 1, "--L2", 1)
    ran = draftproof("check", "naive", "--world", told, *shape, "--told", "sampled")
    assert (ran.code, f"told is for rows without the key told, which {told} has" in ran.err) == (2, True)
