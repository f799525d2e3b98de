"""One step: transport, subsets, sorted prefixes and the canonical decomposition are one number."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis.single_step import iid_acceptance, selection_law, single_step_optimum
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.vectors import minimum
from tests.lp_analysis.one_step import iid_sets, meeting, subset_acceptance, transport_acceptance

CASES = [(family, V, k) for family in FAMILIES for V, k in ((2, 2), (4, 1), (4, 3), (6, 2))]


def rows(family, V, seed=0):
    instance = FAMILIES[family].instance(V, 1, np.random.default_rng(seed))
    return instance.target.tables[0][0], instance.draft.tables[0][0]


@pytest.mark.parametrize(("family", "V", "k"), CASES)
def test_the_form_is_the_minimum_over_all_subsets_exactly(family, V, k):
    for seed in range(3):
        p, q = rows(family, V, seed)
        sets = iid_sets(q, k)
        assert sum(mass for _, mass in sets) == 1
        assert iid_acceptance(p, q, k) == subset_acceptance(p, meeting(sets))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("family", "V", "k"), CASES)
def test_the_form_is_the_transport_program(family, V, k):
    p, q = rows(family, V)
    sets = [(drafts, mass) for drafts, mass in iid_sets(q, k) if mass != 0]
    assert transport_acceptance(p, sets) == pytest.approx(float(as_python(iid_acceptance(p, q, k))), abs=1e-9, rel=0)


@pytest.mark.parametrize(("family", "V", "k"), CASES)
def test_the_canonical_law_reaches_the_optimum_and_is_reachable(family, V, k):
    p, q = rows(family, V)
    law = selection_law(p, q, k)
    assert law.sum() == 1
    assert (law >= 0).all()
    assert minimum(p, law).sum() == iid_acceptance(p, q, k)
    meets = meeting(iid_sets(q, k))
    for bits in range(1 << V):
        some = [y for y in range(V) if bits >> y & 1]
        assert sum(law[y] for y in some) <= meets(some)


def test_a_value_by_hand():
    p, q = RATIONAL.vector(["3/4", "1/4"]), RATIONAL.vector(["1/4", "3/4"])
    assert iid_acceptance(p, q, 2) == RATIONAL.number("11/16")  # S = {0}: 1/4 + 1 - (3/4)^2
    assert single_step_optimum(p, q, 2) == Fraction(27, 16)


def test_floats_follow_the_exact_form():
    p, q = rows("dirichlet", 6)
    exact = float(as_python(iid_acceptance(p, q, 3)))
    assert iid_acceptance(p.astype(float), q.astype(float), 3) == pytest.approx(exact, abs=1e-14)


def test_real_vocabularies_take_a_few_passes_over_the_rows(calls):
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(128_000)), rng.dirichlet(np.ones(128_000))
    assert 1 < single_step_optimum(p, q, 4) < 2
    assert calls(lambda: single_step_optimum(p, q, 4)) < 500  # calls of numpy on whole rows, none for a token


def test_bad_input_is_named():
    p, q = rows("perturbed", 4)
    with pytest.raises(InvalidInput, match="k = 0"):
        iid_acceptance(p, q, 0)
    with pytest.raises(InvalidInput, match="shapes"):
        iid_acceptance(p, q[:2], 2)
    with pytest.raises(InvalidInput, match="one arithmetic"):
        iid_acceptance(p, q.astype(float), 2)
