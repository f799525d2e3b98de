"""One step: the form by one sort, the minimum over all sets, and the canonical decomposition are one number."""

from itertools import combinations

import numpy as np
import pytest

from draftproof.lp_analysis import optimum
from draftproof.lp_analysis.hitting import ListedTrees
from draftproof.lp_analysis.single_step import best_set, selection_law
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.vectors import minimum
from tests.lp_analysis.cases import best_acceptance


def rows(family, V, seed=0):
    instance = FAMILIES[family].instance(V, 1, np.random.default_rng(seed))
    return instance.target.tables[0][0], instance.draft.tables[0][0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("V", "k"), [(2, 2), (4, 1), (4, 3), (6, 2)])
def test_the_form_is_the_minimum_over_all_sets_and_the_canonical_law_attains_it(family, V, k):
    for seed in range(2):
        instance, scheme = FAMILIES[family].instance(V, 1, np.random.default_rng(seed)), Delayed(k, 0, 1)
        (p,), (q,) = instance.target.tables[0], instance.draft.tables[0]
        trees = ListedTrees.of(instance.draft, scheme).trees
        law, best = selection_law(p, q, k), best_acceptance(p, q, k)
        assert law.sum() == 1
        assert (law >= 0).all()
        assert minimum(p, law).sum() == best
        values = []
        for tokens in (set(some) for size in range(V + 1) for some in combinations(range(V), size)):
            met = sum((mass for tree, mass in trees if any((y,) in tree for y in tokens)), start=p[0] * 0)
            assert sum(law[y] for y in tokens) <= met
            values.append(sum((p[y] for y in range(V) if y not in tokens), start=met))
        assert min(values) == best
        found = optimum(instance.target, instance.draft, scheme)
        assert found.upper == 1 + as_python(best)
        assert 0 <= found.gap <= 1e-11  # weights of orders are multiples of 2^-40


def test_a_value_by_hand():
    p, q = RATIONAL.vector(["3/4", "1/4"]), RATIONAL.vector(["1/4", "3/4"])
    assert best_acceptance(p, q, 2) == RATIONAL.number("11/16")  # S = {0}: 1/4 + 1 - (3/4)^2


def test_floats_follow_the_exact_form_and_take_a_few_passes_over_the_rows(calls):
    p, q = rows("dirichlet", 6)
    exact = float(as_python(best_acceptance(p, q, 3)))
    assert best_acceptance(p.astype(float), q.astype(float), 3) == pytest.approx(exact, abs=1e-14)
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(128_000)), rng.dirichlet(np.ones(128_000))
    assert 0 < best_acceptance(p, q, 4) < 1
    assert calls(lambda: best_set(p, q, 4)) < 500  # calls of numpy on whole rows, none for a token
