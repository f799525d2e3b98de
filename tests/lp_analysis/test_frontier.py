"""The frontier of lossy verification: against the optimum, the program over trees, and every lossy verifier."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import direct_bound, frontier, optimum
from draftproof.lp_analysis.frontier_points import bias_bound, shortfall
from draftproof.lp_analysis.nodes import efficiency
from draftproof.lp_analysis.orders import mixed_law
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator import check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified, TopK, WithoutReplacement
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES
from tests.lp_analysis.test_certificates import pair
from tests.quick import by_turns

#: Gap that is asked of both programs. HiGHS works at 1e-10, and both sides are exact.
GAP = 1e-6
SHAPES = [
    (3, Delayed(1, 0, 2)),
    (2, Delayed(1, 0, 3)),
    (3, Delayed(2, 0, 1)),
    (2, Delayed(2, 0, 2)),
    (2, Delayed(2, 1, 1)),
    (2, Delayed(3, 0, 2)),
    (2, Stratified(2, 0, 2)),
    (3, WithoutReplacement(2, 0, 2)),
    (2, TopK(2, 0, 2)),
    (2, Delayed(2, 1, 2)),
]
#: Lossy verifiers, and a lossless one; those of one path stand first.
LOSSY = (
    *("ensemble:w=7/10", "ensemble:w=19/20", "lenience:l=1/2", "truncation", "truncation:top_p=1/2", "eta"),
    *(
        "cactus:d=1/20",
        "fuzzy",
        "mentored",
        "cascade",
        "typical",
        "threshold",
        "toward:inner=block,target=ensemble:w=19/20",
        "block",
    ),
)


def instance_of(V, scheme, seed):
    family = ("perturbed", "dirichlet")[seed % 2]
    return FAMILIES[family].instance(V, scheme.depth, np.random.default_rng(seed), denominator=64)


def traced(V, scheme, seed, bias):
    return frontier(*pair(instance_of(V, scheme, seed)), scheme, bias, gap=GAP)


@pytest.mark.parametrize("first", by_turns(range(0, 200, 5), 40))
def test_no_bias_is_the_optimum_over_lossless_verifiers(first):
    for seed in range(first, first + 5):
        V, scheme = SHAPES[seed // 2 % len(SHAPES)]
        best = optimum(*pair(instance_of(V, scheme, seed)), scheme, gap=GAP)
        (found,) = traced(V, scheme, seed, [0])
        assert max(found.lower, best.lower) <= min(found.upper, best.upper)
        assert found.upper - found.lower <= GAP
        assert shortfall(found.verified_by.reach, found.verified_by.corrections, _problem(V, scheme, seed).target) == 0


def _problem(V, scheme, seed):
    return BoundProblem.of(*pair(instance_of(V, scheme, seed)), scheme)


@pytest.mark.parametrize("seed", by_turns(range(50), 50))
def test_the_program_over_trees_has_the_same_value(seed):
    pytest.importorskip("cvxpy")
    V, scheme = SHAPES[seed % len(SHAPES)]
    for found in traced(V, scheme, seed, [0, "0.01", "0.2"]):
        direct = direct_bound(*pair(instance_of(V, scheme, seed)), scheme, float(found.bias))
        assert float(found.lower) - 1e-8 <= direct <= float(found.upper) + 1e-8  # accuracy of HiGHS
        assert found.upper - found.lower <= GAP


@pytest.mark.parametrize("shape", [0, 3, 4, 7])
def test_the_proof_gives_the_bounds_again(shape):
    V, scheme = SHAPES[shape]
    problem = _problem(V, scheme, 0)
    points = traced(V, scheme, 0, ["0", "0.01", "0.05", "0.5", "1"])
    for found in points:
        proof, exact = found.verified_by, RATIONAL.number(found.bias)
        law = mixed_law(proof.plan, problem)
        assert all((own <= most).all() for own, most in zip(proof.reach, law, strict=True))
        for depth in range(1, problem.depth + 1):
            spent = (proof.reach[depth] + proof.corrections[depth]).reshape(-1, V).sum(axis=1)
            assert (spent == proof.reach[depth - 1]).all()
            assert (proof.corrections[depth] >= 0).all()
        assert shortfall(proof.reach, proof.corrections, problem.target) <= exact
        assert as_python(efficiency(proof.reach)) == found.lower
        price = RATIONAL.number(found.price)
        assert as_python(bias_bound(proof.shortfalls, price, exact, problem)) == found.upper
        for other in points:  # prices hold at every bias: the curve is below each of its tangents
            assert other.lower <= as_python(bias_bound(proof.shortfalls, price, RATIONAL.number(other.bias), problem))
    assert points[-1].lower == max(point.lower for point in points)


@pytest.mark.parametrize("first", by_turns(range(0, 1000, 10), 100))
def test_no_verifier_is_above(first):
    ahead = 0
    for seed in range(first, first + 10):
        V, scheme = [(2, Delayed(1, 0, 2)), (3, Delayed(1, 0, 1)), (2, Delayed(2, 0, 2)), (3, Delayed(1, 0, 2))][
            seed % 4
        ]
        instance = instance_of(V, scheme, seed)
        points = {}
        for spec in LOSSY if scheme.K == 1 else ("typical", "threshold"):
            verdict = check(find_verifier(spec).verifier, *pair(instance), scheme)
            points[spec] = Fraction(verdict.total_variation), Fraction(verdict.block_efficiency)
        curve = frontier(*pair(instance), scheme, [bias for bias, _ in points.values()], gap=GAP)
        for (bias, tokens), found in zip(points.values(), curve, strict=True):
            assert (found.bias, tokens <= found.upper) == (bias, True)
            ahead += bias > 0
    assert ahead


def test_what_is_no_bias_or_too_large_is_refused():
    instance = instance_of(2, Delayed(1, 0, 1), 0)
    for wrong in (-0.01, 1.5, "x", float("nan")):
        with pytest.raises(InvalidInput, match=r"total variation; give numbers in 0\.\.1"):
            frontier(*pair(instance), Delayed(1, 0, 1), [wrong])
    with pytest.raises(InvalidInput, match="drafts nothing"):
        frontier(*pair(instance), Delayed(1, 0, 0), [0])
    deep = Delayed(1, 0, 11)
    with pytest.raises(TooLarge, match="paths are more than"):
        frontier(*pair(FAMILIES["perturbed"].instance(2, 11, np.random.default_rng(0), denominator=64)), deep, [0])
