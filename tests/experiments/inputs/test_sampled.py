"""Families and texts at a temperature: the rows to the power 1/T, in every command that takes an instance."""

import numpy as np
import pytest

from draftproof.experiments.inputs.given import Given, choose_problem
from draftproof.experiments.inputs.sources import SampledProblem, tempered
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL

ROWS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])


def test_a_temperature_is_a_power_of_the_rows():
    assert tempered(ROWS, 0.5).tolist() == [[2 / 3, 1 / 6, 1 / 6], [0, 1, 0], [1 / 6, 1 / 6, 2 / 3]]
    assert tempered(ROWS, 0).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert tempered(np.array([[0.5, 0.5]]), 0).tolist() == [[1, 0]]
    assert tempered(ROWS, 1e-300).tolist() == tempered(ROWS, 0).tolist()  # no overflow on the way


@pytest.mark.parametrize("given", [{"family": "dirichlet"}, {"text": "topics", "vocab": 4, "roots": 2}])
@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64])
def test_both_models_are_sampled_so(given, arithmetic):
    before = choose_problem(Given(**given, denominator=1000)).roots(2, arithmetic)
    after = choose_problem(Given(**given, denominator=1000, sampling="temperature=.5")).roots(2, arithmetic)
    assert [case.weight for case in after] == [case.weight for case in before]
    for old, new in zip(before, after, strict=True):
        for one, other in ((old.target, new.target), (old.draft, new.draft)):
            row, found = one.row(()), other.row(())
            squares = [float(value) ** 2 for value in row]
            assert sum(found) == (1 if arithmetic.exact else pytest.approx(1, abs=1e-12))
            assert np.allclose([float(v) for v in found], np.array(squares) / sum(squares), atol=3 / 1000)


def test_a_temperature_of_one_is_the_problem_itself():
    plain = choose_problem(Given(family="dirichlet"))
    assert choose_problem(Given(family="dirichlet", sampling="temperature=1")) == plain
    other = choose_problem(Given(family="dirichlet", sampling="temperature=2"))
    assert isinstance(other, SampledProblem)
    assert other.source == {**plain.source, "sampling": {"temperature": 2.0}}
    assert str(other).endswith("temperature 2")


def test_commands_take_it_and_say_no(draftproof, tmp_path):
    family = ("--family", "perturbed:s=1", "--vocab", 2)
    means = [
        draftproof("compare", "block", *family, "--sampling", f"temperature={t}", "--json", "-").json["rows"][0]
        for t in (0.0, 0.5, 1.0)
    ]
    assert len({row["block_efficiency_float"] for row in means}) == 3
    assert means[0]["block_efficiency_float"] in (1, 2, 3)  # every row is one token: all drafts agree, or none
    refused = draftproof("check", "block", *family, "--sampling", "temperature=.5", "--instances", 3)
    assert (refused.code, "--instances makes its own instances; leave out --sampling" in refused.err) == (2, True)
    ran = draftproof("check", "naive_from_target", *family, "--witness", "w.json")
    assert ran.code == 1
    kept = draftproof("check", "naive", "--instance", "w.json", "--sampling", "temperature=.5")
    assert (kept.code, "--sampling has no effect on --instance; leave it out" in kept.err) == (2, True)
