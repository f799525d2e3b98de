"""Trees of any scheme in the bounds: chances of sets, mixtures, prices; stratified branches against i.i.d. ones."""

from fractions import Fraction
from functools import cache
from itertools import chain, combinations, cycle, islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.lp_analysis import certificate, check_certificate, direct_bound, optimum
from draftproof.lp_analysis.hitting import ListedTrees, hitting_of
from draftproof.lp_analysis.nodes import efficiency, reach
from draftproof.lp_analysis.orders import Mixture, mixed_law
from draftproof.lp_analysis.prices import node_worths, price_bound, sorted_levels
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified, Systematic, UserScheme
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess
from tests.lp_analysis.cases import DELAYED, FAMILY_NAMES, OTHERS, instance_of, pair, probability
from tests.quick import quick

SCHEMES = [*DELAYED[8:10], DELAYED[5], *OTHERS]
ORDERS = ("descending", "number")
#: V, K, L1, L2.
STRATIFIED = [
    (2, 2, 0, 2), (3, 2, 0, 2), (2, 3, 0, 2), (2, 2, 1, 2), (3, 3, 0, 1),
    (3, 2, 1, 1), (2, 2, 0, 3), (2, 4, 0, 2), (4, 2, 0, 2), (4, 3, 0, 1), (2, 8, 1, 2),
]  # fmt: skip
#: Solvers work to 1e-10 in every row of a program, and rows add up; the largest gap seen is 2e-9.
SAME = Fraction(1, 10**8)


@cache
def world_of(V, scheme, seed):
    return instance_of(V, scheme.depth, FAMILY_NAMES[seed % len(FAMILY_NAMES)], seed)


@cache
def problem_of(V, scheme, seed):
    return BoundProblem.of(*pair(world_of(V, scheme, seed)), scheme)


@cache
def trees_of(V, scheme, seed):
    """The trees by enumeration."""
    return ListedTrees.of(world_of(V, scheme, seed).draft, scheme)


def random_prices(problem, seed):
    rng = np.random.default_rng(seed)
    levels = [rng.integers(0, 3, problem.vocab_size**d) * (d > 0) for d in range(problem.depth + 1)]
    return [RATIONAL.vector(values) / RATIONAL.number(4) for values in levels]


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), case=st.sampled_from(SCHEMES))
def test_the_price_bound_is_a_mean_over_trees(seed, case):
    problem = problem_of(*case, seed=seed % 5)
    prices = random_prices(problem, seed)
    pi = {(): RATIONAL.number(0)}
    for depth in range(1, problem.depth + 1):
        for i, context in enumerate(product(range(problem.vocab_size), repeat=depth)):
            pi[context] = pi[context[:-1]] + prices[depth][i]
    mean = sum(mass * max(pi[c] for c in tree) for tree, mass in trees_of(*case, seed=seed % 5).trees)
    assert price_bound(prices, problem) == node_worths(prices, problem)[0][0] + mean


def random_orders(problem, seed):
    rng = np.random.default_rng(seed)
    return tuple(tuple(tuple(rng.permutation(len(ends)).tolist()) for ends in problem.trees.ends) for _ in range(2))


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), case=st.sampled_from(SCHEMES), by_prices=st.booleans())
def test_any_mixture_is_attained_and_below_any_prices(seed, case, by_prices):
    V, scheme = case
    problem = problem_of(V, scheme, seed=seed % 5)
    orders, prices = random_orders(problem, seed), random_prices(problem, seed)
    if by_prices:
        orders = (orders[0], tuple(map(tuple, sorted_levels(prices, problem)[0].tolist())))
    law = mixed_law(Mixture(scheme, (Fraction(1, 3), Fraction(2, 3)), orders), problem)
    assert law[0][0] == 1
    reached = reach(law, problem.target)
    assert efficiency(reached) <= price_bound(prices, problem)
    contexts = [c for d in range(scheme.depth + 1) for c in product(range(V), repeat=d)]
    reach_of = dict(zip(contexts, chain(*reached), strict=True))
    accepted = {c: mass - sum(reach_of.get((*c, y), 0) for y in range(V)) for c, mass in reach_of.items()}
    assert min(accepted.values()) >= 0
    likely = [c for c in contexts if accepted[c] > 0][:8]  # all sets of so many contexts
    for chosen in chain.from_iterable(combinations(likely, n) for n in range(1, len(likely) + 1)):
        assert sum(accepted[c] for c in chosen) <= probability(trees_of(V, scheme, seed=seed % 5), chosen)


@pytest.mark.parametrize(("V", "scheme"), SCHEMES, ids=str)
def test_chances_of_sets_are_sums_over_trees(V, scheme):
    rng = np.random.default_rng(0)
    contexts = [c for d in range(scheme.depth + 1) for c in product(range(V), repeat=d)]
    for seed in range(len(FAMILY_NAMES)):
        problem, trees = problem_of(V, scheme, seed), trees_of(V, scheme, seed).trees
        for _ in range(6):
            some = {contexts[i] for i in rng.choice(len(contexts), rng.integers(1, 5), replace=False)}
            met = sum((mass for tree, mass in trees if tree & some), start=RATIONAL.number(0))
            assert probability(problem.trees, some) == met
            assert probability(problem.trees.floats, some) == pytest.approx(float(as_python(met)))
            if type(scheme) is Stratified:
                tables = world_of(V, scheme, seed).draft.tables[: scheme.depth]
                assert met >= probability(hitting_of(tables, Delayed(scheme.K, scheme.L1, scheme.L2)), some)


class TwoOrNone:
    """Two tokens, or, where the first is token 0, none: its tree is then the root alone."""

    depth = 1

    def draw(self, draft, coin):
        first, second = (coin.choose(draft.row(())) for _ in range(2))
        return [(first,), (second,)] if first else []


def test_user_defined_schemes_have_bounds_and_no_certificate():
    instance, scheme = instance_of(3, 1), UserScheme(TwoOrNone())
    found = optimum(*pair(instance), scheme)
    assert found.gap <= Fraction(1, 10**9)
    assert float(found.lower) == pytest.approx(direct_bound(*pair(instance), scheme), abs=1e-9)  # solver accuracy
    assert ListedTrees.of(instance.draft, scheme).ends[0][-1] == ()
    with pytest.raises(InvalidInput, match="TwoOrNone is defined elsewhere"):
        certificate(*pair(instance), found)


def certified(instance, scheme):
    """The bounds that the checker recomputes from the certificate, and the prices of the optimum."""
    found = optimum(*pair(instance), scheme, gap=1e-11, method="columns")
    return *check_certificate(certificate(*pair(instance), found), instance), found.prices


def compared(seeds):
    """How often stratified branches are better than i.i.d. ones, and how often equal."""
    outcomes = {"better": 0, "equal": 0}
    worlds = zip(range(2000), cycle(STRATIFIED), cycle(FAMILY_NAMES), cycle(o for o in ORDERS for _ in STRATIFIED))
    for seed, (V, K, L1, L2), family, order in islice(worlds, seeds.start, seeds.stop):
        instance, scheme = FAMILIES[family].instance(V, L1 + L2, np.random.default_rng(seed), 64), Delayed(K, L1, L2)
        low, high, _ = certified(instance, Stratified(K, L1, L2, order))
        iid_low, iid_high, prices = certified(instance, scheme)
        assert high >= iid_low
        better = low > iid_high
        assert better or high - iid_low <= SAME, "the gap of the bounds is below the difference, or that is zero"
        if better:  # some tight set is cut unequally
            problem = BoundProblem.of(*pair(instance), Stratified(K, L1, L2, order))
            assert Fraction(as_python(price_bound(list(map(RATIONAL.vector, prices)), problem))) > iid_high
        outcomes["better" if better else "equal"] += 1
    return outcomes


@pytest.mark.parametrize("seeds", quick([range(12), *(range(n, n + 500) for n in range(0, 2000, 500))], [range(12)]))
def test_stratified_branches_are_at_least_as_good_as_iid_ones(seeds):
    assert min(compared(seeds).values()) > len(seeds) / 6


@pytest.mark.parametrize(
    ("target", "values"),
    [(["1/2", 0, "1/2", 0], ("3/2", "7/4", "7/4")), (["1/2", "1/2", 0, 0], (2, "7/4", 2))],
)
def test_four_equal_tokens_and_two_branches(target, values):
    """Systematic branches draw tokens 0 and 2 or 1 and 3: what two i.i.d. ones, or one from each half, do not."""
    rows = RATIONAL.vector([target])
    draft = TableProcess([RATIONAL.vector([["1/4"] * 4])], "draft")
    instance = Instance(TableProcess([rows, rows.repeat(4, axis=0)], "target"), draft)
    for kind, value in zip((Systematic, Delayed, Stratified), map(Fraction, values), strict=True):
        low, high, _ = certified(instance, kind(2, 0, 1))
        assert low <= value <= high
        assert high - low <= SAME


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("L1", "L2"), [(0, 2), (1, 1), (2, 0)])
def test_one_stratified_branch_is_one_path(L1, L2, order):
    instance = instance_of(3, 2, "dirichlet")
    low, high, _ = certified(instance, Stratified(1, L1, L2, order))
    path = optimum(*pair(instance), Delayed(1, L1, L2))
    assert low <= path.lower == path.upper <= high
    assert high - low <= SAME
