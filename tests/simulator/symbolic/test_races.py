"""Exponential races and Gumbel noise: exact laws, alone and with shared noise."""

# ruff: noqa: F401 - expressions name modules

import bisect
import math
import random

import numpy as np
import pytest
from scipy import integrate

from draftproof.simulator.arithmetic import FLOAT64

P = [0.5, 0.125, 0.375]
#: Ways to draw from p; those with logarithms and reciprocals of p have their roundings.
WAYS = (
    "np.argmax(p / np.random.exponential(size=3))", "(np.random.standard_exponential(3) / p).argmin()",
    "np.argmin(-np.log(np.random.rand(3)) / p)", "np.argmin(-np.log1p(-np.random.rand(3)) / p)",
    "max(range(3), key=[math.log(random.random()) / x for x in p].__getitem__)",
    "min(range(3), key=[random.expovariate(x) for x in p].__getitem__)",
    "np.argmax(np.log(p) + np.random.default_rng().gumbel(size=3))",
    "np.argmax(np.log(p) - np.log(-np.log(np.random.uniform(size=3))))",
    "np.argmin(np.log(np.random.exponential(size=3)) - np.log(p))",
    "np.argmin(np.log(np.random.exponential(size=3) / p))", "np.argmax(np.random.rand(3) ** (1 / p))",
    "np.argmax((np.log(p) + np.random.gumbel(size=3)) * 0.5)",
    # Cumulative sums, inverted.
    "(lambda u: next(i for i, c in enumerate(np.cumsum(p)) if u < c))(np.random.rand())",
    "bisect.bisect(np.cumsum(p).tolist(), random.random())",
    "np.searchsorted(np.cumsum(p), np.random.random_sample(), side='right')",
    "np.cumsum(p).searchsorted(np.random.default_rng().random())", "(np.cumsum(p) < np.random.uniform()).sum()",
    "np.digitize(np.random.rand(1), np.cumsum(p))[0]", "np.searchsorted(8 * np.cumsum(p), 8 * random.random())",
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_race_is_a_draw_with_its_weights(follow, q, way):
    found = follow(lambda: int(eval(way, globals() | {"p": np.array(P)})))
    assert found.reuse == set()
    if "np.log(p)" in way or "1 / p" in way or "/ p))" in way:
        assert [float(found.law[i]) for i in range(3)] == pytest.approx(P, rel=1e-14)
        assert sum(found.law.values()) == 1
    else:
        assert found.law == {0: q(1, 2), 1: q(1, 8), 2: q(3, 8)}


def test_constant_that_guards_against_zero_is_left_out_and_noted(follow):
    def function():
        noise = -np.log(-np.log(np.random.rand(3) + 1e-10) + 1e-10)
        return int(np.argmax(np.log(P) + noise))

    found = follow(function)
    assert [float(found.law[i]) for i in range(3)] == pytest.approx(P, rel=1e-14)
    assert any("left out at test_races.py" in note for note in found.notes)
    assert found.runs == 3


def test_weights_that_never_win_cost_nothing(follow, q):
    w = np.array([0.0, 0.5, 0.25, 0.0, 0.25])
    with np.errstate(divide="ignore"):
        ways = [
            lambda: int(np.argmax(w / np.random.exponential(size=5))),
            lambda: int(np.argmin(np.random.exponential(size=5) / w)),
            lambda: int(np.argmax(np.log(w) + np.random.gumbel(size=5))),
        ]
        for function in ways:
            found = follow(function)
            assert found.runs == 3
            assert {i: float(mass) for i, mass in found.law.items()} == {1: 0.5, 2: 0.25, 4: 0.25}


#: Probability that the first of two wins -> expressions of exponential noise e, uniform numbers u and w = (1, 3).
FIRST = {
    # The largest of e_0 and w e_1: e_0 is smaller with probability w / (1 + w).
    "1 / 4": (
        "np.argmax(e * w)", "np.argmin(-e * w)", "np.argmin(1 / (e * w))", "np.argmax(np.log(e) + np.log(w))",
        "np.argmin(np.exp(-e * w))",
    ),
    "3 / 4": (
        "np.argmin(e * w)", "np.argmax(-e * w)", "np.argmax(1 / (e * w))", "np.argmin(np.log(e) + np.log(w))",
        "np.argmax(np.exp(-e * w))",
    ),
    # Shifted: P(e_0 < e_1 + c) = 1 - exp(-c) / 2 for c >= 0.
    "1 - math.exp(-1) / 2": (
        "np.argmin(e + [0.0, 1.0])", "np.argmin(e - [2.0, 1.0])", "np.argmax(-e + [1.0, 0.0])",
    ),
    "math.exp(-1) / 2": ("np.argmin(e - [0.0, 1.0])", "np.argmax(e + [0.0, 1.0])"),
    # Powers: e_0 < e_1 / 2, and u_0 above the root of u_1.
    "2 / 3": (
        "np.argmin(e**2 / [1.0, 0.25])", "np.argmax([-1.0, -4.0] / e**2)", "np.argmin(u ** [0.5, 0.25])",
        "np.argmax(u ** [-0.5, -0.25])", "np.argmax(u ** [2.0, 4.0])",
    ),
    "1 / 3": (
        "np.argmin(e**2 / [1.0, 4.0])", "np.argmax(e**-2 * [1.0, 4.0])",
        "np.argmin(3 * np.log(e) - np.log([1.0, 8.0]))", "np.argmax(u ** [0.5, 0.25])", "np.argmin(u ** [-0.5, -0.25])",
        "np.argmin(u ** [2.0, 4.0])",
    ),
    "0.2": ("np.argmin([-1.0, -4.0] / e)",),
    "0.8": ("np.argmax([-1.0, -4.0] / e)",),
    # Against a constant, and of different kinds: below 0 or 1, and above.
    "1 - math.exp(-1)": (
        "np.argmin(np.array([e[0], 1.0], dtype=object))", "np.argmax(np.array([1 / e[0], 1.0], dtype=object))",
    ),
    "1": ("np.argmax([e[0], -1.0])", "np.argmin(u ** [1.0, -0.5])", "np.argmin([-1.0, 1.0] * e ** [1.0, -1.0])"),
    "0": ("np.argmax(u ** [1.0, -0.5])", "np.argmax([-1.0, 1.0] * e ** [1.0, -1.0])", "np.argmax([-e[0], 1 / e[1]])"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "text"), [(first, text) for first in FIRST for text in FIRST[first]])
def test_what_wins_is_decided_by_the_numbers_whether_it_is_a_race_or_not(law, first, text):
    def function():
        noise = {"e": np.random.exponential(size=2), "u": np.random.random(size=2), "w": np.array([1.0, 3.0])}
        return int(eval(text, globals() | noise))

    found = law(function)
    assert float(found.get(0, 0)) == pytest.approx(eval(first), rel=1e-14)  # exponentials and logarithms of floats
    assert sum(found.values()) == 1


def test_a_number_does_not_race_against_itself(law, q):
    def function():
        e, other = np.random.exponential(size=2)
        return int(np.argmin([e, 2 * e])), int(np.argmax([e, 2 * e])), int(np.argmin([2 * e, other, e]))

    assert law(function) == {(0, 1, 1): q(1, 2), (0, 1, 2): q(1, 2)}


def test_order_of_a_race_is_a_draw_without_replacement(law, q):
    def function():
        return np.argsort(np.random.exponential(size=3) / np.array(P)).tolist()

    found = law(function)
    assert found[0, 1, 2] == q(1, 2) * q(1, 4)
    assert found[1, 2, 0] == q(1, 8) * q(3, 7)
    assert sum(found.values()) == 1


def test_two_races_that_share_noise_with_three_tokens_against_an_integral(law):
    p, other = [0.5, 0.25, 0.25], [0.125, 0.5, 0.375]

    def function():
        e = np.random.exponential(size=3)
        return int(np.argmin(e / np.array(p))), int(np.argmin(e / np.array(other)))

    found = law(function)

    def joint(a, b):
        """P(a wins with p, b with the other): integral over e_a and e_b of what is left for the third."""
        if a == b:
            return 1 / sum(max(x / p[a], y / other[a]) for x, y in zip(p, other, strict=True))
        c = 3 - a - b

        def inside(y, x):
            if x / p[a] > y / p[b] or y / other[b] > x / other[a]:
                return 0.0
            return math.exp(-x - y - max(x * p[c] / p[a], y * other[c] / other[b]))

        # e_b between e_a p_b / p_a and e_a other_b / other_a
        low, high = p[b] / p[a], other[b] / other[a]
        if low >= high:
            return 0.0
        return integrate.dblquad(inside, 0, 40, lambda x: low * x, lambda x: high * x, epsabs=1e-11)[0]

    for a in range(3):
        for b in range(3):
            assert float(found.get((a, b), 0)) == pytest.approx(joint(a, b), abs=1e-8)  # accuracy of the quadrature
    assert sum(found.values()) == 1


def test_shared_noise_is_reported_once_it_decides_on_two_lines(follow):
    def function():
        e = np.random.exponential(size=2)
        a = int(np.argmin(e))
        b = int(np.argmin(e * np.array([1.0, 2.0])))
        return a, b

    reuse = follow(function).reuse
    assert len(reuse) == 2
    assert all("drawn at test_races.py" in each and "and again" in each for each in reuse)


@pytest.mark.parametrize("generator", [np.random.default_rng, np.random.RandomState, lambda: np.random])
def test_noise_has_the_scale_and_the_place_it_is_given(law, q, generator):
    scale = np.array([2.0, 4.0, 4.0])
    assert law(lambda: int(np.argmin(generator().exponential(scale)))) == {0: q(1, 2), 1: q(1, 4), 2: q(1, 4)}
    below = law(lambda: bool(generator().exponential(4.0) < 1), arithmetic=FLOAT64)
    assert below[True] == pytest.approx(1 - math.exp(-1 / 4), rel=1e-14)  # an exponential of a float
    standard = law(lambda: bool(generator().standard_exponential() < 1), arithmetic=FLOAT64)
    assert standard[True] == pytest.approx(1 - math.exp(-1), rel=1e-14)
    for gumbel in (lambda: generator().gumbel() < 0, lambda: generator().gumbel(1.0, 2.0) < 1):
        assert law(lambda gumbel=gumbel: bool(gumbel()), arithmetic=FLOAT64)[True] == pytest.approx(
            math.exp(-1), rel=1e-14
        )
