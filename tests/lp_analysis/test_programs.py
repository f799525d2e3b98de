"""The parts of the whole-tree programs, each against brute force: limits, prices, linear algebra."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.lp_analysis import direct, hitting
from draftproof.lp_analysis.direct import direct_bound
from draftproof.lp_analysis.hitting import IidBranches, ListedTrees
from draftproof.lp_analysis.prices import node_worths, price_bound, subgradient, trimmed
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.interior import each
from draftproof.lp_analysis.solvers.levels import first_knots
from draftproof.lp_analysis.solvers.programs import PriceProgram
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES


def instance_of(V, depth, family="perturbed", seed=0):
    return FAMILIES[family].instance(V, depth, np.random.default_rng(seed))


def test_limits_of_size_are_inclusive(monkeypatch):
    instance = instance_of(2, 3)
    given = instance.draft, Delayed(2, 1, 2)  # two trunks, each with 4 single paths and 6 pairs
    assert len(ListedTrees.of(*given).trees) == 20
    monkeypatch.setattr(hitting, "MOST_TREES", given[1].count(instance.draft))
    assert ListedTrees.of(*given).depth == 3
    monkeypatch.setattr(hitting, "MOST_TREES", given[1].count(instance.draft) - 1)
    with pytest.raises(TooLarge, match="more than"):
        ListedTrees.of(*given)
    monkeypatch.undo()
    variables = sum(len(tree) for tree, _ in ListedTrees.of(*given).trees)
    monkeypatch.setattr(direct, "MOST_VARIABLES", variables)
    assert direct_bound(instance.target, *given) > 1
    monkeypatch.setattr(direct, "MOST_VARIABLES", variables - 1)
    with pytest.raises(TooLarge, match="variables"):
        direct_bound(instance.target, *given)


def random_prices(V, depth, seed):
    rng = np.random.default_rng(seed)
    return [RATIONAL.vector([0])] + [
        RATIONAL.vector(rng.integers(0, 9, V**d)) / RATIONAL.number(4) for d in range(1, depth + 1)
    ]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(2, 2, 0, 3), (3, 3, 0, 2), (2, 3, 1, 2)]))
def test_the_bound_is_convex_with_this_subgradient_and_trimming_helps(seed, shape):
    V, K, L1, L2 = shape
    instance = instance_of(V, L1 + L2, seed=seed % 5)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(K, L1, L2))
    here, there = (random_prices(V, L1 + L2, seed + i) for i in range(2))

    def bound(prices):
        return price_bound(prices, problem)

    slope = subgradient(here, problem)
    step = sum(((b - a) * s).sum() for a, b, s in zip(here, there, slope, strict=True))
    assert bound(there) >= bound(here) + step
    middle = [(a + b) / 2 for a, b in zip(here, there, strict=True)]
    assert 2 * bound(middle) <= bound(here) + bound(there)
    less = trimmed(here, problem)
    assert bound(less) <= bound(here)
    assert all((a == b).all() for a, b in zip(*(node_worths(prices, problem) for prices in (less, here)), strict=True))


def test_negative_prices_are_refused():
    instance = instance_of(2, 1)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(2, 0, 1))
    for prices in ([[0], [-1, 0]], [[1], [0, 0]]):
        with pytest.raises(InvalidInput, match="at least 0"):
            price_bound([RATIONAL.vector(v) for v in prices], problem)


@pytest.mark.parametrize("shape", [(3, 3, 0, 3), (3, 3, 1, 2), (2, 2, 2, 3), (2, 4, 3, 1)], ids=str)
@pytest.mark.parametrize("bias", [None, 0.05])
def test_the_tree_elimination_solves_the_normal_equations(shape, bias):
    V, K, L1, L2 = shape
    instance = instance_of(V, L1 + L2)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(K, L1, L2)).floats
    program = PriceProgram(problem, first_knots(V**L1, 7), bias)
    state, rng = program.start(), np.random.default_rng(0)
    weights = each(lambda part: 10 ** rng.uniform(-3, 3, part.shape), state.multiplier)
    program.system.factor(weights)
    right = program.rows.adjoint(each(lambda part: rng.normal(size=part.shape), weights))
    found = program.rows.apply(program.system.solve(right))
    back = program.rows.adjoint(each(lambda w, v: w * v, weights, found))
    for a, b in zip(back, right, strict=True):
        assert abs(a - b).max() <= 1e-9 * abs(b).max()  # condition of the weights


def test_trimmed_prices_are_at_most_what_is_paid_below():
    half, third = fmpq(1, 2), fmpq(1, 3)
    target = [np.array([[half, half]]), np.array([[third, 1 - third], [half, half]])]
    prices = [np.array([fmpq(0)]), np.array([fmpq(5), third]), np.array([half, fmpq(3), half, half])]
    # a leaf is worth 1 - mu, at least 0: [1/2, 0, 1/2, 1/2]; so most is 1 at a leaf, 1 + 1/6 and 1 + 1/2 above
    found = trimmed(prices, BoundProblem(target, IidBranches(target, Delayed(1, 0, 2))))
    assert [each.tolist() for each in found] == [[0], [1 + third / 2, third], [half, 1, half, half]]
