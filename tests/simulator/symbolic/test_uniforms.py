"""What code does with uniform numbers, in plain Python and numpy: exact laws, equal to those computed by hand."""

# ruff: noqa: PLW0108 - a draw must wait until it is called

import bisect
import copy
import math
import random

import numpy as np
import pytest

from draftproof.simulator.errors import InvalidVerifier


def test_one_uniform_compared_with_two_thresholds(law, q):
    def function():
        u = random.random()
        return u < 0.25, u < 0.5, u * 2 - 1 > 0.5

    assert law(function) == {
        (True, True, False): q(1, 4),
        (False, True, False): q(1, 4),
        (False, False, False): q(1, 4),
        (False, False, True): q(1, 4),
    }


@pytest.mark.parametrize("kind", ["loop", "bisect", "searchsorted", "method", "sum", "digitize", "unnormalised"])
def test_inverse_cumulative_sum(follow, q, kind):
    p = [0.5, 0.125, 0.375]
    cumulative = np.cumsum(p)

    def loop():
        u = np.random.rand()
        for i, c in enumerate(cumulative):
            if u < c:
                return i
        return None

    ways = {
        "loop": loop,
        "bisect": lambda: bisect.bisect(cumulative.tolist(), random.random()),
        "searchsorted": lambda: np.searchsorted(cumulative, np.random.random_sample(), side="right"),
        "method": lambda: cumulative.searchsorted(np.random.default_rng().random()),
        "sum": lambda: (cumulative < np.random.uniform()).sum(),
        "digitize": lambda: np.digitize(np.random.rand(1), cumulative)[0],
        "unnormalised": lambda: np.searchsorted(8 * cumulative, 8 * random.random()),
    }
    found = follow(ways[kind])
    assert found.law == {0: q(1, 2), 1: q(1, 8), 2: q(3, 8)}
    assert found.reuse == set()


def test_real_numbers_and_arrays_on_either_side(law, q):
    def function():
        u = random.random()
        return np.float64(0.25) > u, (np.array([0.25, 0.5]) > u).tolist(), (u <= np.array([0.5])).tolist(), u == 0.3

    assert law(function) == {
        (True, (True, True), (True,), False): q(1, 4),
        (False, (False, True), (True,), False): q(1, 4),
        (False, (False, False), (False,), False): q(1, 2),
    }


def test_whole_part_of_a_scaled_uniform(law, q):
    third = q(1, 3)
    assert law(lambda: int(random.random() * 3)) == {0: third, 1: third, 2: third}
    assert law(lambda: math.floor(2 - random.random() * 2)) == {0: q(1, 2), 1: q(1, 2)}
    assert law(lambda: round(random.random())) == {0: q(1, 2), 1: q(1, 2)}
    assert law(lambda: (np.random.rand(1) * 4).astype(int).item()) == {i: q(1, 4) for i in range(4)}
    assert law(lambda: random.random() * 4 // 2) == {0: q(1, 2), 1: q(1, 2)}
    assert law(lambda: random.random() * 4 % 1 < 0.25) == {True: q(1, 4), False: q(3, 4)}
    assert law(lambda: random.random() % 0.25 < 0.0625) == {True: q(1, 4), False: q(3, 4)}
    assert law(lambda: random.random() * 6 % 4 < 2) == {True: q(2, 3), False: q(1, 3)}


def test_product_of_three_uniforms_and_its_factors(law):
    def function():
        u = np.cumprod(np.random.rand(3))
        return u[2] < 0.2, u[1] < 0.2

    x = -math.log(0.2)
    found = law(function)
    assert float(found[True, True]) == pytest.approx(0.2 * (1 + x), rel=1e-14)
    assert float(found[True, False]) == pytest.approx(0.2 * x * x / 2, rel=1e-14)
    assert (False, True) not in found


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 1.0, 1.5, math.inf])
def test_a_threshold_outside_is_no_decision(follow, q, threshold):
    def function():
        u, e = random.random(), -math.log(random.random())
        outside = u < threshold, u >= threshold, e > -1
        return *outside, u < 0.25

    below = threshold > 0.5
    found = follow(function)
    assert found.law == {(below, not below, True, True): q(1, 4), (below, not below, True, False): q(3, 4)}
    assert found.reuse == set()


def test_copies_are_the_same_number(law, q):
    def function():
        u = random.random()
        return copy.deepcopy([u])[0] < 0.5, copy.copy(u) < 0.5

    assert law(function) == {(True, True): q(1, 2), (False, False): q(1, 2)}


def test_a_random_result_is_refused(law):
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(lambda: random.random())
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(lambda: [1, np.random.rand(2)])
