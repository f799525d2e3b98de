"""Comparisons that two reflections hide: joint laws of several decisions about the same numbers, and corner coins."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpz

from draftproof.simulator.symbolic.numbers.exact import weighted_exponentials

#: Questions about uniform numbers, each of which may be at a boundary -> all their answers.
CORNERS = {
    # Exactly 0, and exactly the threshold.
    "u < 0; u <= 0; u < 0.5; u <= 0.5": "FTTT FFTT FFFT FFFF",
    "-2 / u < -8.0; u == 0.25": "TF FF FT",
    "-2 / u <= -8.0; u == 0.25": "TF FF TT",
    "-log(u) > 10.0 ** 6": "T F",
    # At most two of three.
    "u <= 0; v <= 0; w <= 0": "FFF TFF FTF FFT TTF TFT FTT",
    # A coin of exactly 0 is an infinite exponential; where both are, Python itself raises.
    "-log(u) > 1 - log(v); u == 0; v == 0": "TFF FFF TTF FFT TTT",
    "-3 * log(u) > 1 - log(v); u == 0; v == 0": "TFF FFF TTF FFT TTT",
}


@pytest.mark.parametrize("text", CORNERS)
def test_answers_where_coins_may_be_at_a_boundary(answers, text):
    law = answers(text.split("; "), "uuu", boundary=True)
    assert {"".join("FT"[answer] for answer in key) for key in law} == set(CORNERS[text].split())
    assert sum(law.values()) == 1


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
