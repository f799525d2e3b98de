"""Drafts whose probabilities are as small as rounding, or smaller: the repair of laws, the bounds, the certificates."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.lp_analysis import certificate, check_certificate, optimum, solve
from draftproof.lp_analysis.decompose import ROUNDING, best_first, decompose, iid_law, repaired
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess

GAP = Fraction(1, 10**6)
#: Parts of a whole: from large ones to those below all rounding, and none.
PARTS = st.sampled_from([Fraction(0), *(Fraction(n, 10**e) for e in (0, 1, 10, 14, 17, 40) for n in (1, 3, 7))])


def shares(parts):
    """Numbers as shares of their sum, exact."""
    total = sum(parts)
    return RATIONAL.vector([part / total for part in parts])


def slack(law, masses, K):
    """`g(q(S)) - r(S)` for the prefixes `S` of the sorted paths: `law` is a selection law if none is negative."""
    order = best_first(law, masses)
    return 1 - (1 - masses[order].cumsum()) ** K - law[order].cumsum()


def both_are_laws(pairs):
    return all(sum(parts) > 0 for parts in zip(*pairs, strict=True))


@given(st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=5).filter(both_are_laws), st.integers(1, 4))
def test_a_repaired_law_is_in_the_polytope_by_all_subsets_and_loses_no_more_than_its_excess(pairs, K):
    law, masses = (shares(list(parts)) for parts in zip(*pairs, strict=True))
    found = repaired(law, masses, K)
    possible = law * (masses > 0)
    if possible.sum() == 0:
        assert (found == masses).all()
        return
    possible = possible / possible.sum()
    assert found.sum() == 1
    assert (found >= 0).all()
    for count in range(1, len(law) + 1):
        for some in combinations(range(len(law)), count):
            chosen = list(some)
            assert found[chosen].sum() <= 1 - (1 - masses[chosen].sum()) ** K
    excess = np.maximum(-slack(possible, masses, K), RATIONAL.number(0))
    assert np.maximum(possible - found, RATIONAL.number(0)).sum() <= excess.sum()
    assert (found == possible).all() or excess.sum() > 0


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


@pytest.mark.parametrize("tiny", [1e-10, 1e-13, 1e-15, 1e-17, 1e-300, 1e-320])
def test_rounding_on_a_tiny_mass_does_not_touch_the_rest(tiny):
    masses = np.array([0.5, 0.3, 0.2, tiny])
    law = iid_law(np.array([1, 0, 2, 3]), masses, 3)
    law[3] = 1e-9  # what a solver leaves there: far more than can be drafted, or that the last path may have
    found = repaired(law, masses, 3)
    assert abs(found - iid_law(np.array([1, 0, 2, 3]), masses, 3)).max() < 3e-9
    assert slack(found, masses, 3).min() > -ROUNDING
    weights, orders = decompose(found, masses, 3)
    again = sum(weight * iid_law(order, masses, 3) for weight, order in zip(weights, orders, strict=True))
    assert abs(again - found).max() < 1e-11  # it stops at a total variation of 1e-12


@pytest.mark.parametrize("law", [[0.5, 0.5 + 1e-17, -1e-17], [0.75, 0.25, -1e-9], [0.75 + 1e-9, 0.25 + 1e-9, 0.0]])
def test_laws_off_by_rounding_are_decomposed(law):
    masses = np.array([0.5, 0.5, 0.0])
    weights, orders = decompose(np.array(law), masses, 2)
    again = sum(weight * iid_law(order, masses, 2) for weight, order in zip(weights, orders, strict=True))
    assert sum(weights) == pytest.approx(1, abs=1e-12)
    assert abs(again - law).max() < 3e-9  # no more than the law was off


def peaked(seed, V, depth, concentration, denominator):
    """Rows with most of their mass on one token, rounded to a power of two: many masses are near 1/denominator."""
    rng = np.random.default_rng(seed)

    def row():
        counts = np.rint(rng.dirichlet(np.full(V, concentration)) * denominator).astype(int)
        return [Fraction(int(count), int(counts.sum())) for count in counts]

    target, draft = (
        [RATIONAL.vector([row() for _ in range(V**d)]) for d in range(last + 1)] for last in (depth, depth - 1)
    )
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


#: Seed, V, K, L1, L2, concentration, denominator.
PEAKED = [
    (9, 3, 2, 0, 3, 0.05, 2**50),
    (6, 3, 2, 0, 3, 0.05, 2**50),
    (15, 2, 3, 1, 4, 0.05, 2**50),
    (1, 4, 4, 0, 3, 0.05, 2**50),
    (15, 4, 4, 0, 3, 0.1, 2**50),
    (18, 2, 3, 1, 4, 0.1, 2**30),
    (0, 4, 4, 0, 3, 0.3, 2**30),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", PEAKED, ids=str)
def test_peaked_drafts_reach_the_gap_and_have_a_certificate(case):
    seed, V, K, L1, L2, *how = case
    instance = peaked(seed, V, L1 + L2, *how)
    target, draft = instance.target, instance.draft
    found = optimum(target, draft, Delayed(K, L1, L2))
    assert 0 <= found.gap < GAP
    assert not found.timed_out
    assert check_certificate(certificate(target, draft, found), instance) == (found.lower, found.upper)


@pytest.mark.parametrize("digits", [17, 100, 320, 700])
@pytest.mark.parametrize("shape", [(2, 0, 3), (3, 1, 2)], ids=str)
def test_probabilities_below_what_floats_hold_are_bounded(digits, shape):
    rng = np.random.default_rng(digits)
    rows = [[Fraction(int(n), 10**digits) for n in rng.integers(1, 10, 2**d)] for d in range(3)]
    draft = [RATIONAL.vector([[1 - share, share] for share in level]) for level in rows]
    target = FAMILIES["perturbed"].instance(2, 3, rng).target.tables
    found = optimum(target, draft, Delayed(*shape))
    assert 0 <= found.gap < GAP


def uncapped(law, masses, K):
    """A repair that gives the law up."""
    return masses * 1


def test_column_generation_goes_on_where_the_exact_gap_is_wide(monkeypatch):
    instance = FAMILIES["perturbed"].instance(3, 2, np.random.default_rng(0))
    tables = instance.target.tables, instance.draft.tables
    assert optimum(*tables, Delayed(2, 0, 2)).method == "levels"
    monkeypatch.setattr(solve, "repaired", uncapped)
    left = optimum(*tables, Delayed(2, 0, 2), method="levels")
    assert left.gap > GAP
    assert not left.timed_out
    found = optimum(*tables, Delayed(2, 0, 2))
    assert found.gap < GAP
    assert found.method == "levels+columns"
