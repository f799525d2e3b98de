"""The algebra of random numbers against volumes, areas, partial fractions and grids that share no code with it.

Constants are dyadic: floats hold them exactly.
"""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from draftproof.simulator.errors import InvalidVerifier
from tests.simulator.symbolic.values import fraction

NAMES = ("u", "v", "w", "x")
LIBRARIES = ("python", "numpy", "torch")


def half_space(a: list[Fraction], b: Fraction) -> Fraction:
    """The volume of `a x < b` in the unit cube: the alternating sum over its corners; no a is 0."""
    total = Fraction(0)
    for corner in itertools.product((0, 1), repeat=len(a)):
        room = b - sum(x for x, taken in zip(a, corner, strict=True) if taken)
        total += (-1) ** sum(corner) * max(room, Fraction(0)) ** len(a)
    return total / math.factorial(len(a)) / math.prod(a)


def clipped(polygon: list[Any], a: Fraction, b: Fraction, c: Fraction) -> list[Any]:
    """The part of a convex polygon where `a x + b y + c < 0`."""
    found = []
    for (x, y), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = a * x + b * y + c, a * x2 + b * y2 + c
        if here <= 0:
            found.append((x, y))
        if here * there < 0:
            t = here / (here - there)
            found.append((x + t * (x2 - x), y + t * (y2 - y)))
    return found


def area(polygon: list[Any]) -> Fraction:
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum((x * y2 - x2 * y for (x, y), (x2, y2) in pairs), start=Fraction(0))) / 2


def weighted_sum_above(a: list[float], s: float) -> float:
    """P(sum of a_i E_i > s) for exponential E_i of rate 1 and distinct a_i: partial fractions."""
    if s < 0:
        return 1 - weighted_sum_above([-x for x in a], -s)
    return sum(
        math.prod(x / (x - y) for j, y in enumerate(a) if j != i) * math.exp(-s / x) for i, x in enumerate(a) if x > 0
    )


# Random sums, sets of sums, products and chains.
quarters = st.integers(-8, 8).map(lambda i: Fraction(i, 4))
factors = quarters.filter(bool)


def written(a: list[Fraction], c: Fraction = Fraction(0)) -> str:
    return " + ".join([*(f"{float(x)} * {name}" for x, name in zip(a, NAMES, strict=False)), str(float(c))])


@pytest.mark.heavy
@given(st.lists(factors, min_size=1, max_size=4), quarters, st.sampled_from(["<", "<=", ">", ">="]), st.integers(0, 4))
def test_random_sum_of_uniforms_has_the_volume_of_its_half_space(chance, a, b, operation, cut):
    """A part of the sum stands on the right."""
    left = [x if i < cut else Fraction(0) for i, x in enumerate(a)]
    right = [x - y for x, y in zip(left, a, strict=True)]
    found = fraction(chance(f"{written(left)} {operation} {written(right, b)}", "u" * len(a)))
    below = half_space(a, b)
    assert found == (below if operation[0] == "<" else 1 - below)


@pytest.mark.heavy
@given(st.lists(st.tuples(quarters, quarters, quarters), min_size=1, max_size=4))
def test_random_sums_that_share_two_uniforms_have_the_areas_of_their_polygons(answers, rows):
    rows = [row for row in rows if row[0] or row[1]]
    assume(rows)
    found = answers([f"{written([a, b], c)} < 0" for a, b, c in rows], "uu")
    for truths in itertools.product((True, False), repeat=len(rows)):
        polygon = [(Fraction(x), Fraction(y)) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for (a, b, c), answer in zip(rows, truths, strict=True):
            polygon = clipped(polygon, a, b, c) if answer else clipped(polygon, -a, -b, -c)
        assert fraction(found.get(truths, 0)) == area(polygon), truths


exponents = st.lists(st.sampled_from([-3.0, -2.0, -1.5, -1.0, 0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=3, unique=True)


@given(
    exponents, st.sampled_from([0.125, 0.5, 1.0, 2.0, 8.0]), st.sampled_from([0.25, 1.0, 3.0]), st.sampled_from("<>")
)
def test_random_product_of_powers_against_partial_fractions(chance, a, factor, t, operation):
    product = " * ".join([str(factor), *(f"{name} ** {x}" for x, name in zip(a, NAMES, strict=False))])
    found = float(chance(f"{product} {operation} {t}", "u" * len(a)))
    below = weighted_sum_above(a, math.log(factor / t))  # -log of the product is the sum
    # logarithms of floats, and differences of terms up to 50 times larger
    assert found == pytest.approx(below if operation == "<" else 1 - below, abs=1e-12)


@pytest.mark.heavy
@given(exponents, st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0]), st.sampled_from("<>"))
def test_random_sum_of_exponentials_against_partial_fractions(chance, a, t, operation):
    total = " + ".join(f"{x} * {name}" for x, name in zip(a, NAMES, strict=False))
    found = float(chance(f"{total} {operation} {t}", "e" * len(a)))
    above = weighted_sum_above(a, t)
    assert found == pytest.approx(above if operation == ">" else 1 - above, abs=1e-12)  # as above


constants = st.sampled_from(["0.25", "0.5", "1.0", "1.5", "2.0", "3.0"])
signed = constants | constants.map("-{}".format)


def trees(leaves: list[str], most: int) -> Any:
    """Expressions as text."""

    def larger(inner: Any) -> Any:
        one = [("({} + {})", signed), ("({} - {})", constants), ("({} * {})", signed), ("({} / {})", signed)]
        one += [("({} ** {})", st.sampled_from(["2", "0.5", "-1", "3"]))]
        one += [(f"{name}({{}}, {{}})", constants) for name in ("minimum", "maximum")]
        one += [("({1} - {0})", constants), ("({1} / {0})", constants)]
        two = [f"({{}} {sign} {{}})" for sign in "+-*/"] + ["minimum({}, {})", "maximum({}, {})"]
        same = ["log({})", "exp({})", "(-{})", "abs({})"]
        return st.one_of(
            *(st.builds(form.format, inner, numbers) for form, numbers in one),
            *(st.builds(form.format, inner) for form in same),
            *(st.builds(form.format, inner, inner) for form in two),
        )

    return st.recursive(st.sampled_from(leaves), larger, max_leaves=most)


SIDE = 400  # points along each axis of the grid
#: A test cuts a row of the grid in a few places, each of which may be off by one point.
OFF = 6 / SIDE


def on_grid(names: dict[str, Any], tests: list[str], kinds: str) -> dict[Any, float]:
    """The shares of the answers on the midpoints of a grid over both uniforms."""
    axis = (np.arange(SIDE) + 0.5) / SIDE
    numbers = dict(zip(NAMES, np.meshgrid(axis, axis), strict=False))
    for name, kind in zip(NAMES, kinds, strict=False):
        numbers[name] = -np.log(numbers[name]) if kind == "e" else numbers[name]
    with np.errstate(all="ignore"):
        truths = [np.broadcast_to(_holds(test, names | numbers), (SIDE, SIDE)) for test in tests]
    codes = sum(truth.ravel() * 2**i for i, truth in enumerate(truths))
    counts = np.bincount(codes, minlength=2 ** len(tests)) / SIDE**2
    return {tuple(bool(code >> i & 1) for i in range(len(tests))): share for code, share in enumerate(counts)}


def _holds(test: str, names: dict[str, Any]) -> Any:
    """Where a comparison holds; sides that differ by rounding are equal: (u + 0.25) - 0.25 is u."""
    left, sign, right = re.split(r" (<=|>=|<|>) ", test)
    left, right = (np.asarray(eval(side, names), dtype=float) for side in (left, right))
    same = np.isclose(left, right, rtol=1e-12, atol=1e-12)
    small = same & ~np.isclose(left, right, rtol=1e-12, atol=1e-15)  # not only rounding of numbers around 1: u ** 9
    assume(small.mean() < 1 / SIDE)
    return eval(f"x {sign} 0", {"x": np.where(same, 0.0, left - right)})


sides = trees(["u", "v"], 3)
comparisons = st.builds("{} {} {}".format, sides, st.sampled_from(["<", "<=", ">", ">="]), sides | signed)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow):RuntimeWarning")  # numpy's own, of log(0)
@settings(max_examples=1500)
@given(st.lists(comparisons, min_size=1, max_size=3), st.sampled_from(["uu", "ue", "ee"]), st.sampled_from(LIBRARIES))
def test_random_expressions_agree_with_a_grid(answers, libraries, tests, kinds, library):
    try:
        found = answers(tests, kinds, library)
    except (InvalidVerifier, ZeroDivisionError, ValueError):  # refused, or Python's own: 1 / (u - u), math.log(-u)
        assume(False)
    shares = on_grid(libraries["numpy"], tests, kinds)
    assert float(sum(found.values())) == pytest.approx(1, abs=1e-12)
    for truths in found.keys() | shares.keys():
        assert float(found.get(truths, 0)) == pytest.approx(shares.get(truths, 0), abs=OFF), truths
