"""The parts of the whole-tree programs, each against brute force: prices, linear algebra, orders."""

from itertools import product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from draftproof.lp_analysis import direct, hitting
from draftproof.lp_analysis.decompose import decompose, iid_law, repaired, slack
from draftproof.lp_analysis.direct import direct_bound
from draftproof.lp_analysis.hitting import IidBranches, ListedTrees, probability
from draftproof.lp_analysis.nodes import efficiency, from_leaves, reach
from draftproof.lp_analysis.orders import selection_law
from draftproof.lp_analysis.prices import end_prices, node_worths, price_bound, sorted_levels, subgradient, trimmed
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.biased_program import BiasedProgram
from draftproof.lp_analysis.solvers.interior import LevelProgram, dot, each
from draftproof.lp_analysis.solvers.levels import errors, first_knots, refined
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES


def instance_of(V, depth, family="perturbed", seed=0):
    return FAMILIES[family].instance(V, depth, np.random.default_rng(seed))


@pytest.mark.parametrize("family", ["perturbed", "zeros"])
@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1)], ids=str)
def test_hitting_probabilities_equal_enumeration(shape, family):
    V, K, L1, L2 = shape
    draft = instance_of(V, L1 + L2, family).draft
    iid = IidBranches(draft.tables, Delayed(K, L1, L2))
    listed = ListedTrees.of(draft, Delayed(K, L1, L2))
    contexts = [c for d in range(L1 + L2 + 1) for c in product(range(V), repeat=d)]
    rng = np.random.default_rng(0)
    for _ in range(30):
        some = [contexts[i] for i in rng.choice(len(contexts), rng.integers(1, 5), replace=False)]
        assert probability(iid, some) == probability(listed, some)
    assert probability(iid, [()]) == 1
    assert probability(iid, []) == 0
    assert dict(iid.trees) == dict(listed.trees)


def test_trunks_without_mass_have_no_trees():
    table = RATIONAL.vector([1, 0])
    half = RATIONAL.vector(["1/2", "1/2"])
    iid = IidBranches([np.array([table]), np.array([half, half])], Delayed(2, 1, 1))
    assert [mass for _, mass in iid.trees] == [RATIONAL.number(x) for x in ("1/4", "1/4", "1/2")]


def test_limits_of_size_are_inclusive(monkeypatch):
    instance = instance_of(2, 3)
    given = instance.draft, Delayed(2, 1, 2)  # two trunks, each with 4 single paths and 6 pairs
    iid = IidBranches(instance.draft.tables, given[1])
    monkeypatch.setattr(hitting, "MOST_TREES", 20)
    assert len(iid.trees) == 20
    monkeypatch.setattr(hitting, "MOST_TREES", 19)
    with pytest.raises(TooLarge, match="more than 19 draft trees"):
        _ = iid.trees
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


@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(2, 2, 0, 3), (3, 3, 0, 2), (2, 3, 1, 2), (3, 2, 2, 1)]))
def test_any_prices_bound_any_order(seed, shape):
    V, K, L1, L2 = shape
    instance = instance_of(V, L1 + L2, seed=seed % 7)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(K, L1, L2))
    prices = random_prices(V, L1 + L2, seed)
    bound = price_bound(prices, problem)
    order = np.stack([np.random.default_rng(seed + t).permutation(V**L2) for t in range(V**L1)])
    for chosen in (order, sorted_levels(prices, problem)[0]):
        law = selection_law(chosen, problem)
        assert efficiency(reach(law, instance.target.tables)) <= bound


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
    less = trimmed(here, problem.target)
    assert bound(less) <= bound(here)
    assert all(
        (a == b).all() for a, b in zip(*(node_worths(prices, problem.target) for prices in (less, here)), strict=True)
    )


def test_negative_prices_are_refused():
    instance = instance_of(2, 1)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(2, 0, 1))
    for prices in ([[0], [-1, 0]], [[1], [0, 0]]):
        with pytest.raises(InvalidInput, match="at least 0"):
            price_bound([RATIONAL.vector(v) for v in prices], problem)


def level_program(V, K, L1, L2, cells=7, of=LevelProgram):
    instance = instance_of(V, L1 + L2)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(K, L1, L2)).floats
    return of(problem, first_knots(V**L1, cells))


def biased_program(problem, knots):
    return BiasedProgram(problem, knots, 0.05)


@pytest.mark.parametrize("shape", [(3, 3, 0, 3), (3, 3, 1, 2), (2, 2, 2, 3), (2, 4, 3, 1)], ids=str)
@pytest.mark.parametrize("of", [LevelProgram, biased_program])
def test_the_tree_elimination_solves_the_normal_equations(shape, of):
    program = level_program(*shape, of=of)
    state, rng = program.start(), np.random.default_rng(0)
    weights = each(lambda part: 10 ** rng.uniform(-3, 3, part.shape), state.multiplier)
    program.system.factor(weights)
    right = program.rows.adjoint(each(lambda part: rng.normal(size=part.shape), weights))
    found = program.rows.apply(program.system.solve(right))
    back = program.rows.adjoint(each(lambda w, v: w * v, weights, found))
    for a, b in zip(back, right, strict=True):
        assert abs(a - b).max() < 1e-9 * abs(b).max()  # condition of the weights


@pytest.mark.parametrize("shape", [(3, 3, 0, 3), (3, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("of", [LevelProgram, biased_program])
def test_apply_and_adjoint_are_transposed(shape, of):
    program, rng = level_program(*shape, of=of), np.random.default_rng(1)
    rows = each(lambda part: rng.normal(size=part.shape), program.start().multiplier)
    x = each(lambda part: rng.normal(size=part.shape), program.cost)
    assert dot(program.rows.apply(x), rows) == pytest.approx(dot(program.rows.adjoint(rows), x), rel=1e-12)


@pytest.mark.parametrize("shape", [(3, 3, 0, 3), (3, 2, 1, 2), (2, 3, 2, 1)], ids=str)
def test_the_interior_of_a_biased_program_has_bounds_in_order(shape):
    program = level_program(*shape, of=biased_program)
    state, gaps = program.start(), []
    for part in (*state.slack, *state.multiplier, *state.omega):
        assert (part > 0).all()
    assert program.read(state, program.problem).lower < program.objective(state.x)
    for cost, own in zip(program.cost, program.rows.adjoint(state.multiplier), strict=True):
        assert abs(cost - own).max() < 1e-14  # the start is a verifier and its bias
    for _ in range(20):
        state = program.step(state)
        found = program.read(state, program.problem)
        assert found.lower <= found.upper + 1e-12
        gaps.append(found.value - found.lower)
    assert gaps[-1] < 1e-6


@pytest.mark.parametrize("shape", [(3, 3, 0, 3), (3, 2, 1, 2), (4, 4, 0, 3)], ids=str)
def test_every_interior_step_gives_bounds_in_order(shape):
    V, K, L1, L2 = shape
    program = level_program(*shape)
    state, problem = program.start(), program.problem
    for _ in range(20):
        state = program.step(state)
        law = program.rows.law(state.multiplier.cells)
        lower = efficiency(reach(from_leaves(law, V, L1 + L2), problem.target))
        prices = program.rows.nodes(np.maximum(program.rows.steps(state.x.pi), 0))
        upper = price_bound(prices, problem)
        assert lower <= upper + 1e-12
        for r, q, mass in zip(
            law.reshape(problem.iid.shares.shape), problem.iid.shares, problem.iid.groups, strict=True
        ):
            assert slack(r / mass, q, K).min() > -1e-10  # rounding of the normal equations
        if 1 + program.objective(state.x) - lower < 1e-6:
            break
    assert 1 + program.objective(state.x) - lower < 1e-3


def test_refined_knots_lower_the_error():
    program = level_program(3, 3, 1, 2, cells=4)
    knots, state = first_knots(3, 4), program.start()
    for _ in range(8):
        state = program.step(state)
    prices = program.rows.nodes(np.maximum(program.rows.steps(state.x.pi), 0))
    before = errors(end_prices(prices, program.problem), program.problem, knots)[0].sum()
    finer = refined(end_prices(prices, program.problem), program.problem, knots)
    assert finer.shape[0] == 3
    assert (np.diff(finer, axis=1) > 0).all()
    assert (finer[:, 0] == 0).all()
    assert (finer[:, -1] == 1).all()
    assert errors(end_prices(prices, program.problem), program.problem, finer)[0].sum() < before / 2


@given(seed=st.integers(0, 10**6), K=st.integers(1, 4), N=st.integers(1, 12))
def test_a_mixture_of_orders_is_taken_apart_again(seed, K, N):
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(N))
    weights = rng.dirichlet(np.ones(3))
    law = sum(w * iid_law(rng.permutation(N), masses, K) for w in weights)
    found, orders = decompose(law, masses, K)
    assert len(orders) <= max(N, 1)
    assert sum(found) == pytest.approx(1, abs=1e-12)
    again = sum(w * iid_law(order, masses, K) for w, order in zip(found, orders, strict=True))
    assert abs(again - law).max() < 1e-9


def test_the_law_of_an_order_is_taken_apart_into_that_order():
    masses, order = np.array([0.5, 0.4, 0.1]), np.array([2, 0, 1])  # the least mass has the largest ratio
    weights, orders = decompose(iid_law(order, masses, 2), masses, 2)
    assert (weights, [each.tolist() for each in orders]) == ([1.0], [[2, 0, 1]])


@given(seed=st.integers(0, 10**6), K=st.integers(1, 4), N=st.integers(2, 8), off=st.sampled_from([1e-15, 1e-14, 1e-13]))
def test_a_law_that_is_none_by_rounding_is_taken_apart_all_the_same(seed, K, N, off):
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(N))
    law = iid_law(rng.permutation(N), masses, K)
    here, there = rng.permutation(N)[:2]
    moved = law + (np.arange(N) == here) * off - (np.arange(N) == there) * min(off, law[there])
    weights, orders = decompose(moved / moved.sum(), masses, K)
    assert len(weights) == len(orders) <= N
    assert min(weights) >= 0
    assert sum(weights) == pytest.approx(1, abs=1e-12)  # a sum of floats


@given(seed=st.integers(0, 10**6), K=st.integers(1, 4))
def test_repair_gives_a_law_exactly_and_leaves_laws_alone(seed, K):
    rng = np.random.default_rng(seed)
    masses = RATIONAL.vector(rng.integers(0, 9, 6))
    masses[0] = masses[0] + 1
    masses = masses / masses.sum()
    wild = RATIONAL.vector(rng.integers(0, 9, 6) + 1)
    law = repaired(wild, masses, K)
    assert law.sum() == 1
    assert (slack(law, masses, K) >= 0).all()
    assert (law >= 0).all()
    assert (law[masses == 0] == 0).all()
    own = iid_law(rng.permutation(6), masses, K)
    assert (repaired(own, masses, K) == own).all()


def test_selection_laws_match_plans_and_floats():
    instance = instance_of(3, 3)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(3, 1, 2))
    order = np.stack([np.random.default_rng(t).permutation(9) for t in range(3)])
    exact, floats = selection_law(order, problem), selection_law(order, problem.floats)
    assert all(np.allclose(a.astype(float), b, atol=1e-14) for a, b in zip(exact, floats, strict=True))
    assert (exact[1] == problem.iid.masses[1]).all()


def test_trimmed_prices_are_at_most_what_is_paid_below():
    half, third = fmpq(1, 2), fmpq(1, 3)
    target = [np.array([[half, half]]), np.array([[third, 1 - third], [half, half]])]
    prices = [np.array([fmpq(0)]), np.array([fmpq(5), third]), np.array([half, fmpq(3), half, half])]
    # a leaf is worth 1 - mu, at least 0: [1/2, 0, 1/2, 1/2]; so most is 1 at a leaf, 1 + 1/6 and 1 + 1/2 above
    found = trimmed(prices, target)
    assert [each.tolist() for each in found] == [[0], [1 + third / 2, third], [half, 1, half, half]]
