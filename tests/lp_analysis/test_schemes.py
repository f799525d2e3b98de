"""Bounds on the trees of any scheme: against the program over trees, enumeration, and certificates with an error."""

from fractions import Fraction
from functools import cache
from itertools import chain, combinations, cycle, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.lp_analysis import certificate, direct_bound, optimum
from draftproof.lp_analysis.hitting import ListedTrees, probability
from draftproof.lp_analysis.nodes import efficiency, reach
from draftproof.lp_analysis.orders import Mixture, mixed_law
from draftproof.lp_analysis.prices import node_worths, price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import (
    Adaptive,
    DySpec,
    Sequoia,
    SpecInferConfig,
    Stratified,
    Systematic,
    TopK,
    UserScheme,
    WithoutReplacement,
)
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from tests.lp_analysis.test_certificates import pair
from tests.quick import quick

#: Vocabulary and scheme; the leaves of the last four have several depths.
SCHEMES = [
    (2, Stratified(2, 0, 2)),
    (3, Stratified(2, 0, 2)),
    (3, Stratified(3, 0, 1, "number")),
    (2, Stratified(2, 1, 2)),
    (2, Stratified(3, 0, 2, "number")),
    (3, Stratified(3, 1, 1)),
    (2, Systematic(2, 0, 2)),
    (3, Systematic(3, 0, 1, "number")),
    (2, Systematic(3, 1, 1)),
    (3, WithoutReplacement(2, 0, 2)),
    (2, WithoutReplacement(2, 1, 2)),
    (4, WithoutReplacement(3, 0, 1)),
    (3, SpecInferConfig((2, 1))),
    (3, TopK(2, 1, 1)),
    (2, TopK(2, 0, 3)),
    (3, Sequoia(4, 2, (2, 1, 1, 0, 0))),
    (3, Sequoia(4, 2, (2, 2, 0, 0, 0))),
    (2, Adaptive(1, 0, 3)),
    (2, DySpec(4)),
]
FAMILY_NAMES = ("perturbed", "dirichlet", "temperature", *CORNER_CASES)
KINDS = sorted({scheme.name for _, scheme in SCHEMES})


def instance_of(V, scheme, family="perturbed", seed=0):
    return FAMILIES[family].instance(V, scheme.depth, np.random.default_rng(seed), denominator=64)


@cache
def problem_of(V, scheme, family="perturbed", seed=0):
    return BoundProblem.of(*pair(instance_of(V, scheme, family, seed)), scheme)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("worlds", quick([len(FAMILY_NAMES), 50], [len(FAMILY_NAMES)]))
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_enclose_the_program_over_trees(kind, worlds):
    schemes = cycle(case for case in SCHEMES if case[1].name == kind)
    for seed, (V, scheme), family in zip(range(worlds), schemes, cycle(FAMILY_NAMES)):
        instance = instance_of(V, scheme, family, seed)
        found = optimum(*pair(instance), scheme)
        assert 0 <= found.gap <= Fraction(1, 10**9)
        assert found.method == "columns"
        direct = direct_bound(*pair(instance), scheme)  # by enumeration of the draws, whatever has a closed form
        assert float(found.lower) - 1e-9 <= direct <= float(found.upper) + 1e-9  # direct: solver accuracy


@cache
def trees_of(V, scheme, family="perturbed", seed=0):
    """The trees by enumeration."""
    return ListedTrees.of(instance_of(V, scheme, family, seed).draft, scheme)


def random_prices(problem, seed):
    rng = np.random.default_rng(seed)
    levels = [rng.integers(0, 3, problem.vocab_size**d) * (d > 0) for d in range(problem.depth + 1)]
    return [RATIONAL.vector(values) / RATIONAL.number(4) for values in levels]


@pytest.mark.heavy
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


def random_mixture(problem, scheme, seed):
    rng = np.random.default_rng(seed)
    orders = tuple(tuple(tuple(rng.permutation(len(ends)).tolist()) for ends in problem.trees.ends) for _ in range(2))
    return Mixture(scheme, (Fraction(1, 3), Fraction(2, 3)), orders)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), case=st.sampled_from(SCHEMES))
def test_any_mixture_is_attained_and_below_any_prices(seed, case):
    V, scheme = case
    problem = problem_of(V, scheme, seed=seed % 5)
    law = mixed_law(random_mixture(problem, scheme, seed), problem)
    assert law[0][0] == 1
    reached = reach(law, problem.target)
    assert efficiency(reached) <= price_bound(random_prices(problem, seed), problem)
    contexts = [c for d in range(scheme.depth + 1) for c in product(range(V), repeat=d)]
    reach_of = dict(zip(contexts, chain(*reached), strict=True))
    accepted = {c: mass - sum(reach_of.get((*c, y), 0) for y in range(V)) for c, mass in reach_of.items()}
    assert min(accepted.values()) >= 0
    likely = [c for c in contexts if accepted[c] > 0][:8]  # all sets of so many contexts
    for chosen in chain.from_iterable(combinations(likely, n) for n in range(1, len(likely) + 1)):
        assert sum(accepted[c] for c in chosen) <= probability(trees_of(V, scheme, seed=seed % 5), chosen)


@pytest.mark.parametrize(("V", "scheme"), SCHEMES, ids=str)
def test_chances_of_sets_are_sums_over_trees(V, scheme):
    problem = problem_of(V, scheme)
    rng = np.random.default_rng(0)
    contexts = [c for d in range(scheme.depth + 1) for c in product(range(V), repeat=d)]
    for _ in range(20):
        some = {contexts[i] for i in rng.choice(len(contexts), rng.integers(1, 5), replace=False)}
        wanted = sum(mass for tree, mass in trees_of(V, scheme).trees if tree & some)
        assert probability(problem.trees, some) == wanted
        assert probability(problem.trees.floats, some) == pytest.approx(float(as_python(wanted + RATIONAL.number(0))))


def test_what_the_methods_are_for():
    V, scheme = 3, WithoutReplacement(2, 0, 2)
    instance = instance_of(V, scheme)
    with pytest.raises(InvalidInput, match="levels are for delayed trees, not for without_replacement"):
        optimum(*pair(instance), scheme, method="levels")
    with pytest.raises(TooLarge, match="more than 200,000 draft trees"):
        optimum(*pair(FAMILIES["perturbed"].instance(4, 3, np.random.default_rng(0))), WithoutReplacement(2, 0, 3))


class TwoOrNone:
    """Two tokens, or, where the first is token 0, none: its tree is then the root alone."""

    depth = 1

    def draw(self, draft, coin):
        first, second = (coin.choose(draft.row(())) for _ in range(2))
        return [(first,), (second,)] if first else []


def test_user_defined_schemes_have_bounds_and_no_certificate():
    instance = FAMILIES["perturbed"].instance(3, 1, np.random.default_rng(0))
    scheme = UserScheme(TwoOrNone())
    found = optimum(*pair(instance), scheme)
    assert found.gap <= Fraction(1, 10**9)
    assert float(found.lower) == pytest.approx(direct_bound(*pair(instance), scheme), abs=1e-9)  # solver accuracy
    assert ListedTrees.of(instance.draft, scheme).ends[0][-1] == ()
    with pytest.raises(InvalidInput, match="TwoOrNone is defined elsewhere"):
        certificate(*pair(instance), found)
