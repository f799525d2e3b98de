"""Stratified branches against i.i.d. ones: never worse, by certificates; and when they are equal."""

from fractions import Fraction
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.lp_analysis import certificate, check_certificate, optimum
from draftproof.lp_analysis.hitting import StratifiedBranches, hitting_of
from draftproof.lp_analysis.prices import end_prices, price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified, Systematic
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess
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


@pytest.mark.parametrize("count", quick([100, 2000], [100]))
def test_stratified_branches_are_at_least_as_good_as_iid_ones(count):
    outcomes = {"better": 0, "equal": 0}
    orders = [order for order in ORDERS for _ in SHAPES]
    for seed, shape, family, order in zip(range(count), cycle(SHAPES), cycle(FAMILY_NAMES), cycle(orders)):
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
    assert min(outcomes.values()) > count / 5, outcomes


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), order=st.sampled_from(ORDERS))
def test_sets_are_met_at_least_as_often_and_equally_where_all_pieces_have_the_same_mass(seed, shape, order):
    V, K, L1, L2 = shape
    rng = np.random.default_rng(seed)
    draft = instance_of(V, L1 + L2, FAMILY_NAMES[seed % len(FAMILY_NAMES)], seed % 7).draft
    tables = draft.tables[: L1 + L2]
    pieces, iid = hitting_of(tables, Stratified(K, L1, L2, order)), hitting_of(tables, Delayed(K, L1, L2))
    assert isinstance(pieces, StratifiedBranches)
    assert (pieces.laws.sum(axis=0) == K * iid.shares).all()
    paths = np.stack([rng.permutation(V**L2) for _ in range(V**L1)])
    sizes = rng.integers(0, V**L2, V**L1)
    for trunk, (more, less, size) in enumerate(zip(pieces.chances(paths), iid.chances(paths), sizes, strict=True)):
        assert (more >= less).all()
        masses = {law[trunk][paths[trunk][: size + 1]].sum() for law in pieces.laws}
        assert (more[size] == less[size]) == (len(masses) == 1)


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


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize(("V", "K", "L1", "L2"), SHAPES[:6])
def test_they_are_equal_if_all_pieces_have_the_same_mass_of_the_tight_sets(V, K, L1, L2, family):
    """Prices of i.i.d. branches whose level sets are all cut equally bound stratified ones by the same number."""
    instance = instance_of(V, L1 + L2, family, 1)
    scheme = Stratified(K, L1, L2)
    low, high, _ = certified(instance, scheme)
    iid_low, iid_high, iid = certified(instance, Delayed(K, L1, L2))
    problem = BoundProblem.of(instance.target, instance.draft, scheme)
    levels = end_prices([RATIONAL.vector(values) for values in iid.prices], problem)
    cut_equally = all(
        len({law[trunk][own >= level].sum() for law in problem.trees.laws}) == 1
        for trunk, own in enumerate(levels)
        if problem.trees.groups[trunk] > 0
        for level in own
        if level > 0
    )
    assert cut_equally == (other_bound(instance, scheme, iid.prices) == iid_high)
    if cut_equally:
        assert low <= iid_high
        assert high - iid_low <= SAME


def test_systematic_branches_can_be_worse_than_iid_ones():
    """Both paths have the same second token, so one half of the paths is met half of the time, not three quarters."""
    half, first = ["1/2", "1/2"], [1, 0]
    draft = TableProcess([RATIONAL.vector([half]), RATIONAL.vector([half] * 2)], "draft")
    target = TableProcess(
        [RATIONAL.vector([half]), RATIONAL.vector([first] * 2), RATIONAL.vector([half] * 4)], "target"
    )
    systematic, iid, stratified = (
        certified(Instance(target, draft), scheme)[:2]
        for scheme in (Systematic(2, 0, 2), Delayed(2, 0, 2), Stratified(2, 0, 2))
    )
    assert systematic[1] < iid[0]
    assert systematic[0] <= Fraction(5, 2) <= systematic[1]  # both first tokens are drafted
    assert stratified[0] <= Fraction(11, 4) <= stratified[1]
    assert iid[0] <= Fraction(11, 4) <= iid[1]
