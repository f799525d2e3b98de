"""Stratified branches against i.i.d. ones: never worse, by certificates; and when they are equal."""

from fractions import Fraction
from itertools import cycle, islice, product

import numpy as np
import pytest

from draftproof.lp_analysis import certificate, check_certificate, optimum
from draftproof.lp_analysis.hitting import ListedTrees, hitting_of, probability
from draftproof.lp_analysis.prices import price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified, Systematic
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess
from tests.quick import quick

#: V, K, L1, L2.
SHAPES = [
    (2, 2, 0, 2), (3, 2, 0, 2), (2, 3, 0, 2), (2, 2, 1, 2), (3, 3, 0, 1),
    (3, 2, 1, 1), (2, 2, 0, 3), (2, 4, 0, 2), (4, 2, 0, 2), (4, 3, 0, 1), (2, 8, 1, 2),
]  # fmt: skip
FAMILY_NAMES = ("perturbed", "dirichlet", "temperature", *CORNER_CASES)
ORDERS = ("descending", "number")
#: Solvers work to 1e-10 in every row of a program, and rows add up; the largest gap seen is 2e-9.
SAME = Fraction(1, 10**8)


def instance_of(V, depth, family="perturbed", seed=0):
    return FAMILIES[family].instance(V, depth, np.random.default_rng(seed), denominator=64)


def certified(instance, scheme):
    """The bounds that the checker recomputes from the certificate, and the optimum that it was made from."""
    found = optimum(instance.target, instance.draft, scheme, gap=1e-11, method="columns")
    return *check_certificate(certificate(instance.target, instance.draft, found), instance), found


def other_bound(instance, scheme, prices):
    """The price bound of these prices with another scheme."""
    problem = BoundProblem.of(instance.target, instance.draft, scheme)
    return Fraction(as_python(price_bound([RATIONAL.vector(values) for values in prices], problem)))


@pytest.mark.heavy
@pytest.mark.parametrize("seeds", quick([range(50), *(range(n, n + 500) for n in range(0, 2000, 500))], [range(50)]))
def test_stratified_branches_are_at_least_as_good_as_iid_ones(seeds):
    outcomes = {"better": 0, "equal": 0}
    orders = [order for order in ORDERS for _ in SHAPES]
    drawn = zip(range(2000), cycle(SHAPES), cycle(FAMILY_NAMES), cycle(orders))
    for seed, shape, family, order in islice(drawn, seeds.start, seeds.stop):
        V, K, L1, L2 = shape
        instance = instance_of(V, L1 + L2, family, seed)
        low, high, _ = certified(instance, Stratified(K, L1, L2, order))
        iid_low, iid_high, iid = certified(instance, Delayed(K, L1, L2))
        assert high >= iid_low
        better = low > iid_high
        assert better or high - iid_low <= SAME, "the gap of the bounds is below the difference, or that is zero"
        if better:  # some tight set is cut unequally
            assert other_bound(instance, Stratified(K, L1, L2, order), iid.prices) > iid_high
        outcomes["better" if better else "equal"] += 1
    assert min(outcomes.values()) > len(seeds) / 5, outcomes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shape", [*SHAPES[:6], (2, 2, 0, 3), (2, 2, 2, 1), (5, 2, 0, 1)], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_sets_are_met_as_often_as_the_listed_trees_do_and_at_least_as_often_as_by_iid_branches(shape, order):
    V, K, L1, L2 = shape
    rng = np.random.default_rng(shape)
    for family in FAMILY_NAMES:
        draft = instance_of(V, L1 + L2, family).draft
        tables = draft.tables[: L1 + L2]
        closed, iid = hitting_of(tables, Stratified(K, L1, L2, order)), hitting_of(tables, Delayed(K, L1, L2))
        listed = ListedTrees.of(draft, Stratified(K, L1, L2, order))
        contexts = [c for depth in range(1, L1 + L2 + 1) for c in product(range(V), repeat=depth)]
        for share in (0.1, 0.3, 0.6):
            nodes = [context for context in contexts if rng.random() < share]
            met = probability(closed, nodes)
            assert met == probability(listed, nodes)
            assert met >= probability(iid, nodes)


def one_step(target, draft):
    rows = RATIONAL.vector([target])
    return Instance(
        TableProcess([rows, rows.repeat(len(target), axis=0)], "target"),
        TableProcess([RATIONAL.vector([draft])], "draft"),
    )


def test_worked_example():
    """Four tokens, q uniform, two branches: the target has two of them, in one piece or one in each."""
    flat = ["1/4"] * 4
    apart, together = one_step(["1/2", 0, "1/2", 0], flat), one_step(["1/2", "1/2", 0, 0], flat)
    for instance, value in ((apart, Fraction(7, 4)), (together, Fraction(2))):
        low, high, _ = certified(instance, Stratified(2, 0, 1))
        assert low <= value <= high
        assert high - low <= SAME
        assert certified(instance, Delayed(2, 0, 1))[0] <= Fraction(7, 4) <= certified(instance, Delayed(2, 0, 1))[1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("L1", "L2"), [(0, 2), (1, 1), (2, 0)])
def test_one_branch_is_one_path(L1, L2, order):
    instance = instance_of(3, 2, "dirichlet")
    low, high, _ = certified(instance, Stratified(1, L1, L2, order))
    path = optimum(instance.target, instance.draft, Delayed(1, L1, L2))
    assert low <= path.lower == path.upper <= high
    assert high - low <= SAME


def test_systematic_branches_can_be_worse_than_iid_ones():
    """Of four equal tokens they draw the first and the third, or the second and the last."""
    instance = one_step(["1/2", 0, "1/2", 0], ["1/4"] * 4)
    bounds = [certified(instance, kind(2, 0, 1))[:2] for kind in (Systematic, Delayed, Stratified)]
    for (low, high), value in zip(bounds, (Fraction(3, 2), Fraction(7, 4), Fraction(7, 4)), strict=True):
        assert low <= value <= high
        assert high - low <= SAME
