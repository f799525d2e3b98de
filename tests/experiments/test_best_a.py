"""The best `a` of `mixed_order` against a grid, exactly, and where it is known."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.experiments.studies.share_of_optimum import GRID, best_mixture
from draftproof.simulator import FAMILIES, Delayed, check
from draftproof.verifiers import make
from tests.quick import quick

SHAPES = [(2, 2, 1, 1), (3, 2, 0, 2), (2, 3, 0, 2), (2, 4, 0, 1)]


def efficiency(a, instance, scheme):
    return check(make("mixed_order", a=a), instance.target, instance.draft, scheme).block_efficiency


@pytest.mark.parametrize("family", ["dirichlet", "perturbed", "temperature", "zeros", "equal"])
@pytest.mark.parametrize("shape", quick(SHAPES, SHAPES[:1]), ids=str)
def test_no_multiple_of_the_grid_is_better(family, shape):
    size, K, L1, L2 = shape
    scheme = Delayed(K, L1, L2)
    for seed in range(2):
        instance = FAMILIES[family].instance(size, L1 + L2, np.random.default_rng(seed), 20)
        a, best = best_mixture(instance.target, instance.draft, scheme)
        assert GRID % a.denominator == 0
        assert best == efficiency(a, instance, scheme)
        grid = [efficiency(Fraction(unit, 64), instance, scheme) for unit in range(65)]
        assert best >= max(grid)
        around = [a + Fraction(step, GRID) for step in (-1, 1)]
        assert all(best >= efficiency(b, instance, scheme) for b in around if 0 <= b <= 1)


def test_where_the_draft_is_the_target_the_first_path_is_best():
    instance = FAMILIES["equal"].instance(3, 2, np.random.default_rng(0), 20)
    assert best_mixture(instance.target, instance.draft, Delayed(2, 0, 2)) == (0, 3)


def test_a_true_mixture_is_better_than_both_orders_somewhere():
    instance = FAMILIES["perturbed"].instance(3, 2, np.random.default_rng(0), 20)
    a, best = best_mixture(instance.target, instance.draft, Delayed(2, 0, 2))
    assert 0 < a < 1
    assert best > max(efficiency(end, instance, Delayed(2, 0, 2)) for end in (Fraction(0), Fraction(1)))
