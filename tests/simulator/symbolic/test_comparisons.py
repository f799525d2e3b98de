"""Comparisons that two reflections hide: joint laws of several decisions about the same numbers, and corner coins."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpz

from draftproof.simulator.symbolic.numbers.exact import weighted_exponentials


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        # the integral over u of P(v w) in closed form: u w < 1/4 is w < 1/4u
        ("u < v", 1 / 32 + math.log(4) / 4),
        ("v > u", 1 / 32 + math.log(4) / 4),
        ("u < 2 * v", 9 / 64 + math.log(4) / 4),
        ("2 * u < v", 1 / 8 - 1 / 16 + math.log(2) / 4),
    ],
)
def test_a_uniform_seen_as_an_exponential_is_compared_with_a_loose_one(answers, test, expected):
    found = answers(["u * w < 0.25", test], "uuu")
    assert float(found[True, True]) == pytest.approx(expected, rel=1e-13)  # logarithms


def test_a_negative_product_at_its_threshold_is_not_below_it(law):
    def function():
        u = random.random()
        return -2 / u < -8.0, u == 0.25

    def weak():
        u = random.random()
        return -2 / u <= -8.0, u == 0.25

    assert law(function, boundary=True).keys() == {(True, False), (False, False), (False, True)}
    assert law(weak, boundary=True).keys() == {(True, False), (False, False), (True, True)}


def test_a_bound_that_is_known_already_asks_nothing(follow, q):
    def function():
        u = np.random.random()
        if not u < 0.5:
            return None
        smaller = np.minimum(u, 0.5)
        return smaller == u

    found = follow(function)
    assert found.law == {None: q(1, 2), True: q(1, 2)}
    assert found.reuse == set()


@pytest.mark.parametrize("factor", [1.0, 0.5, 3.0])
def test_a_coin_of_exactly_0_is_an_infinite_exponential(law, factor):
    def function():
        u, v = random.random(), random.random()
        larger = -factor * math.log(u) > 1 - math.log(v)
        return larger, u == 0, v == 0

    found = law(function, boundary=True)
    assert {key for key in found if key[1] and not key[2]} == {(True, True, False)}
    assert {key for key in found if key[2] and not key[1]} == {(False, False, True)}
    assert {key for key in found if not key[1] and not key[2]} == {(True, False, False), (False, False, False)}


@pytest.mark.parametrize(
    ("function", "thresholds", "below"),
    [
        (lambda u, v: u, [0.25, 0.5], [0.25, 0.5]),
        (lambda u, v: u, [0.5, math.inf], [0.5, 1]),
        (lambda u, v: u, [-math.inf, 0.5], [0, 0.5]),
        (lambda u, v: 1 - u, [0.25, math.inf], [0.25, 1]),
        (lambda u, v: u + v, [0.5, 1.0, 1.5], [1 / 8, 1 / 2, 7 / 8]),
        (lambda u, v: u - v, [-0.5, 0.0, 0.5], [1 / 8, 1 / 2, 7 / 8]),
        (lambda u, v: u * v, [0.25], [0.25 * (1 + math.log(4))]),
        (lambda u, v: u**2, [0.25, 1.0], [0.5, 1]),
        (np.minimum, [0.25, 0.5], [7 / 16, 3 / 4]),
        (lambda u, v: -np.log(u), [0.5, 1.0], [1 - math.exp(-0.5), 1 - math.exp(-1)]),
        (lambda u, v: np.log(u), [-1.0, -0.5], [math.exp(-1), math.exp(-0.5)]),
        (lambda u, v: np.log(u) + np.log(v), [-1.0], [2 * math.exp(-1)]),
        (lambda u, v: np.exp(u), [1.5, 2.0], [math.log(1.5), math.log(2)]),
    ],
)
def test_the_place_of_any_number_in_a_row(law, function, thresholds, below):
    edges = [0.0, *below, 1.0]
    wanted = {i: high - low for i, (low, high) in enumerate(pairwise(edges)) if high > low}
    for side in ("left", "right"):
        found = law(lambda side=side: int(np.searchsorted(thresholds, function(*np.random.random(2)), side=side)))
        assert {i: float(mass) for i, mass in found.items()} == pytest.approx(wanted, abs=1e-15)  # floats of the edges


def test_the_place_of_a_number_that_is_tied_to_another(law, q):
    def function():
        u, v = np.random.random(2)
        return bool(u < v), int(np.searchsorted([0.5], u))

    assert law(function) == {(True, 0): q(3, 8), (True, 1): q(1, 8), (False, 0): q(1, 8), (False, 1): q(3, 8)}


def test_a_loose_number_that_is_known_in_part_is_compared_on_the_side_of_the_others(answers):
    found = answers(["v < 0.5", "u * w < 0.25", "u < v"], "uuu")
    # the integral over v below 1/2 and u below v of P(w < 1 / 4u)
    assert float(found[True, True, True]) == pytest.approx(1 / 32 + math.log(2) / 8, rel=1e-13)  # logarithms


@pytest.mark.parametrize("product", ["u * v", "u ** 2 * v", "0.5 * u", "u * v * w"])
def test_products_of_uniforms_are_below_1_whatever_is_known(answers, q, product):
    assert answers(["u < v", f"{product} < 1", f"{product} >= 1"], "uuu") == {
        (True, True, False): q(1, 2),
        (False, True, False): q(1, 2),
    }


def test_at_most_two_coins_of_a_run_are_at_a_corner(law):
    found = law(lambda: [random.random() <= 0 for _ in range(3)], boundary=True)
    assert (True, True, False) in found
    assert (False, True, True) in found
    assert (True, True, True) not in found


def test_the_logarithm_of_an_extreme_above_0_is_not_decided_before_it_is_asked(follow):
    found = follow(lambda: bool(np.log(np.maximum(*(np.random.random(2) + 1))) > -1))
    assert (found.law, found.runs) == ({True: 1}, 1)


def test_sums_that_cancel_keep_their_digits():
    """`exp(-1) - exp(-1 - t)` for a tiny t, beside the same with four times as many bits."""
    t = fmpq(1, fmpz(2) ** 180)
    with ctx.workprec(1024):
        wanted = (-arb(1)).exp() * -(-arb(t)).expm1()
        error = abs(arb(weighted_exponentials(((fmpq(1), fmpq(1)), (1 + t, fmpq(-1))))) / wanted - 1)
        assert error < arb(2) ** -256
