"""One step: transport, subsets, sorted prefixes, canonical decomposition and the resolved rule are one number."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis import single_step_optimum
from draftproof.lp_analysis.single_step import (
    iid_acceptance,
    iid_sets,
    meeting,
    resolve,
    selection_law,
    subset_acceptance,
    transport_acceptance,
)
from draftproof.lp_analysis.single_step.resolution import Rule
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.vectors import minimum

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


@pytest.mark.parametrize(("family", "V", "k"), CASES)
def test_the_resolved_rule_has_the_canonical_law(family, V, k):
    p, q = rows(family, V)
    law, sets = selection_law(p, q, k), iid_sets(q, k)
    rule = resolve(law, q, sets)
    assert all(rule.potentials[block[0]] == 0 for block in rule.blocks)
    found = rule.law(sets, V)
    assert abs(found - law.astype(float)).max() < 1e-8  # Newton to 1e-13, sets tight to 1e-9
    accepted = np.minimum(found, p.astype(float)).sum()
    assert accepted == pytest.approx(float(as_python(iid_acceptance(p, q, k))), abs=1e-8)
    for drafts, _ in sets:
        chances = rule.chances(drafts)
        assert set(chances) <= drafts
        assert sum(chances.values()) == pytest.approx(1, abs=1e-12)


def test_a_law_beyond_the_drafts_cannot_be_resolved():
    q = RATIONAL.vector(["1/2", "1/2"])
    with pytest.raises(InvalidInput, match="that often"):
        resolve(RATIONAL.vector(["4/5", "1/5"]), q, iid_sets(q, 2))
    with pytest.raises(InvalidInput, match="can be drafted"):
        Rule(((0,),), (0.0, 0.0)).chances(frozenset({1}))


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
    with pytest.raises(TooLarge, match="draft sets"):
        iid_sets(np.full(500, 1 / 500), 4)
    with pytest.raises(TooLarge, match="subsets"):
        subset_acceptance(np.full(30, 1 / 30), lambda some: 0.0)
