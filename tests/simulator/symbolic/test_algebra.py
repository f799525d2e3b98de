"""The algebra of random numbers: closed forms, areas and integrals that share no code with it, in all three libraries.

Expressions are Python text, so one line is followed exactly in plain Python, numpy and torch, and computed on a grid of
real numbers. Constants are dyadic: floats hold them exactly.
"""

# ruff: noqa: PLW0108 - the functions of the libraries are looked up when they are called

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simulator.errors import InvalidVerifier

torch = pytest.importorskip("torch")

NAMES = ("u", "v", "w", "x")


def _torch_extreme(name: str, pick: Any) -> Any:
    def function(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return getattr(torch, name)(a, b)
        return a.clamp(**{pick: b}) if isinstance(a, torch.Tensor) else b.clamp(**{pick: a})

    return function


LIBRARIES: dict[str, dict[str, Any]] = {
    "python": {
        "uniform": lambda: random.random(),
        "exponential": lambda: random.expovariate(1.0),
        "log": lambda t: math.log(t), "exp": lambda t: math.exp(t), "sqrt": lambda t: math.sqrt(t),
        "minimum": min, "maximum": max,
    },
    "numpy": {
        "uniform": lambda: np.random.random(),
        "exponential": lambda: np.random.exponential(),
        "log": np.log, "exp": np.exp, "sqrt": np.sqrt, "minimum": np.minimum, "maximum": np.maximum,
    },
    "torch": {
        "uniform": lambda: torch.rand((), dtype=torch.float64),
        "exponential": lambda: torch.empty((), dtype=torch.float64).exponential_(),
        "log": torch.log, "exp": torch.exp, "sqrt": torch.sqrt,
        "minimum": _torch_extreme("minimum", "max"), "maximum": _torch_extreme("maximum", "min"),
    },
}  # fmt: skip


def followed(library: str, tests: list[str], kinds: str) -> Any:
    """The function that draws a number for every letter of kinds ("u" or "e") and makes the tests."""
    names = LIBRARIES[library]

    def function() -> Any:
        given = {n: names["uniform" if kind == "u" else "exponential"]() for n, kind in zip(NAMES, kinds, strict=False)}
        return [bool(eval(test, names | given)) for test in tests]

    return function


def chance(law: Any, test: str, kinds: str, library: str = "python") -> Any:
    """The probability that one test is true."""
    return law(followed(library, [test], kinds)).get((True,), 0)


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value else Fraction(0)


# Independent probabilities.
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


# One comparison each.
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("test", "kinds", "expected"),
    [
        ("u ** 2 < v", "uu", Fraction(2, 3)),
        ("v > u ** 2", "uu", Fraction(2, 3)),
        ("u ** 2 < v ** 3", "uu", Fraction(2, 5)),
        ("u * v < w", "uuu", Fraction(3, 4)),
        ("u * v < w * x", "uuuu", Fraction(1, 2)),
        ("u * u < v", "uu", Fraction(2, 3)),
        ("u / v < w", "uuu", Fraction(1, 4)),
        ("1 / u < 2 / v", "uu", Fraction(3, 4)),
        ("sqrt(u) < v", "uu", Fraction(1, 3)),
        ("-(u ** 2) < -v", "uu", Fraction(1, 3)),
        ("-(u * v) < -0.5 * u", "uu", Fraction(1, 2)),
        ("u * v > -w", "uuu", Fraction(1)),
        ("-(u * v) < w", "uuu", Fraction(1)),
        ("(1 - u) * v < (1 - u) * w", "uuu", Fraction(1, 2)),
        ("(1 - u) ** 2 < v", "uu", Fraction(2, 3)),
        ("2 - 2 * u < v", "uu", Fraction(1, 4)),
        ("u * 2 + v * 2 - w * 2 < 1", "uuu", Fraction(1, 2)),
        ("exp(u) < exp(v)", "uu", Fraction(1, 2)),
        ("2 * exp(u) + 1 < 2 * exp(v) + 1", "uu", Fraction(1, 2)),
        ("-exp(u + 1) < -exp(v + 1)", "uu", Fraction(1, 2)),
        ("u < 2 * v", "ee", Fraction(2, 3)),
        ("u + v < 3 * w", "eee", Fraction(9, 16)),
        ("u - v < 0", "ee", Fraction(1, 2)),
        ("u / v < 3", "ee", Fraction(3, 4)),
        ("2 / u > 1 / v", "ee", Fraction(2, 3)),
        ("u ** 2 < 4 * v ** 2", "ee", Fraction(2, 3)),
        ("log(u) < log(v)", "uu", Fraction(1, 2)),
        ("log(u) < 2 * log(v)", "uu", Fraction(1, 3)),
        ("exp(-u) < exp(-2 * v)", "ee", Fraction(1, 3)),
        ("minimum(u, v) < w", "uuu", Fraction(2, 3)),
        ("maximum(u, v) < w", "uuu", Fraction(1, 3)),
        ("w < maximum(u, v)", "uuu", Fraction(2, 3)),
        ("minimum(u, v) < maximum(w, x)", "uuuu", Fraction(5, 6)),
        ("2 * minimum(u, v) < 1", "uu", Fraction(3, 4)),
        ("-2 * minimum(u, v) < -1", "uu", Fraction(1, 4)),
        ("minimum(u, v) + w < 1", "uuu", Fraction(2, 3)),
        ("abs(u - v) < 0.5", "uu", Fraction(3, 4)),
        ("abs(2 * u - 1) < 0.25", "u", Fraction(1, 4)),
        ("u - u == 0", "u", Fraction(1)),
        ("u + 1 == u + 1", "u", Fraction(1)),
        ("u + 1 == u + 2", "u", Fraction(0)),
        ("u + 1 != u + 1", "u", Fraction(0)),
        ("u + v == v + u", "uu", Fraction(1)),
        ("u + v == u - v", "uu", Fraction(0)),
        ("2 * u == u * 2", "u", Fraction(1)),
        ("2 * u == 3 * u", "u", Fraction(0)),
        ("u * v == v * u", "uu", Fraction(1)),
        ("u * v == v * u * 2", "uu", Fraction(0)),
        ("u * v == u * w", "uuu", Fraction(0)),
        ("u * v == w", "uuu", Fraction(0)),
        ("exp(u) == exp(u)", "u", Fraction(1)),
        ("exp(u) == exp(v)", "uu", Fraction(0)),
        ("exp(u) == exp(u) * 2", "u", Fraction(0)),
        ("minimum(u, 2) == u", "u", Fraction(1)),
        ("maximum(u, 0.25) == 0.25", "u", Fraction(1, 4)),
        ("u * v <= u * v", "uu", Fraction(1)),
        ("u * v < u * v", "uu", Fraction(0)),
        ("u + v <= v + u", "uu", Fraction(1)),
        ("u + v < v + u", "uu", Fraction(0)),
        ("u + v < v + u + 1", "uu", Fraction(1)),
        ("u * v < v * u * 2", "uu", Fraction(1)),
        ("u * v > v * u * 2", "uu", Fraction(0)),
    ],
)  # fmt: skip
def test_probabilities_known_exactly(law, library, test, kinds, expected):
    assert fraction(chance(law, test, kinds, library)) == expected


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("test", "kinds", "expected"),
    [
        ("u < 1.5", "e", 1 - math.exp(-1.5)),
        ("u + v < 1", "ee", 1 - 2 * math.exp(-1)),
        ("u - v > 1", "ee", math.exp(-1) / 2),
        ("u * v < 0.25", "uu", 0.25 * (1 + math.log(4))),
        ("u / v < 0.5", "uu", 0.25),
        ("u ** 2 * v < 0.25", "uu", 0.5 * 2 - 0.25),
        ("exp(u) < 2", "u", math.log(2)),
        ("exp(-u) < 0.25", "e", 0.25),
        ("log(u) > 0.5", "e", math.exp(-math.exp(0.5))),
        ("log(u) < log(v) + 1", "ee", math.e / (1 + math.e)),
        ("log(u) - log(v) < 1", "ee", math.e / (1 + math.e)),
        ("-log(-log(u)) < 1", "u", math.exp(-math.exp(-1))),
        ("(1 + exp(u)) ** 2 < 9", "u", math.log(2)),
        ("1 / (1 + exp(u)) < 0.3", "u", 1 - math.log(7 / 3)),
        ("log(1 + exp(u)) < 1", "u", math.log(math.e - 1)),
        ("2 ** u < 1.5", "u", math.log2(1.5)),
        ("sqrt(u) > 0.7", "e", math.exp(-0.49)),
        ("u ** 3 > 0.7 ** 3", "e", math.exp(-0.7)),
        ("u ** -1 > 4", "e", 1 - math.exp(-0.25)),
        ("minimum(u, v) < 0.5", "ee", 1 - math.exp(-1)),
        ("maximum(u, v) < 0.5", "ee", (1 - math.exp(-0.5)) ** 2),
        ("minimum(u, v) + w < 1", "eee", 1 - 2 * math.exp(-1) + math.exp(-2)),
    ],
)
def test_probabilities_known_in_closed_form(law, library, test, kinds, expected):
    # thresholds are floats and so are the closed forms: some roundings
    assert float(chance(law, test, kinds, library)) == pytest.approx(expected, rel=1e-13)


# Random sums, sets of sums, products and chains.
quarters = st.integers(-8, 8).map(lambda i: Fraction(i, 4))
factors = quarters.filter(bool)


def written(a: list[Fraction], c: Fraction = Fraction(0)) -> str:
    return " + ".join([*(f"{float(x)} * {name}" for x, name in zip(a, NAMES, strict=False)), str(float(c))])


@given(st.lists(factors, min_size=1, max_size=4), quarters, st.sampled_from(["<", "<=", ">", ">="]), st.integers(0, 4))
def test_random_sum_of_uniforms_has_the_volume_of_its_half_space(law, a, b, operation, cut):
    """A part of the sum stands on the right."""
    left = [x if i < cut else Fraction(0) for i, x in enumerate(a)]
    right = [x - y for x, y in zip(left, a, strict=True)]
    found = fraction(chance(law, f"{written(left)} {operation} {written(right, b)}", "u" * len(a)))
    below = half_space(a, b)
    assert found == (below if operation[0] == "<" else 1 - below)


@given(st.lists(st.tuples(quarters, quarters, quarters), min_size=1, max_size=4))
def test_random_sums_that_share_two_uniforms_have_the_areas_of_their_polygons(law, rows):
    rows = [row for row in rows if row[0] or row[1]]
    assume(rows)
    found = law(followed("python", [f"{written([a, b], c)} < 0" for a, b, c in rows], "uu"))
    for answers in itertools.product((True, False), repeat=len(rows)):
        polygon = [(Fraction(x), Fraction(y)) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for (a, b, c), answer in zip(rows, answers, strict=True):
            polygon = clipped(polygon, a, b, c) if answer else clipped(polygon, -a, -b, -c)
        assert fraction(found.get(answers, 0)) == area(polygon), answers


exponents = st.lists(st.sampled_from([-3.0, -2.0, -1.5, -1.0, 0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=3, unique=True)


@given(
    exponents, st.sampled_from([0.125, 0.5, 1.0, 2.0, 8.0]), st.sampled_from([0.25, 1.0, 3.0]), st.sampled_from("<>")
)
def test_random_product_of_powers_against_partial_fractions(law, a, factor, t, operation):
    product = " * ".join([str(factor), *(f"{name} ** {x}" for x, name in zip(a, NAMES, strict=False))])
    found = float(chance(law, f"{product} {operation} {t}", "u" * len(a)))
    below = weighted_sum_above(a, math.log(factor / t))  # -log of the product is the sum
    # logarithms of floats, and differences of terms up to 50 times larger
    assert found == pytest.approx(below if operation == "<" else 1 - below, abs=1e-12)


@given(exponents, st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0]), st.sampled_from("<>"))
def test_random_sum_of_exponentials_against_partial_fractions(law, a, t, operation):
    total = " + ".join(f"{x} * {name}" for x, name in zip(a, NAMES, strict=False))
    found = float(chance(law, f"{total} {operation} {t}", "e" * len(a)))
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


def on_grid(tests: list[str], kinds: str) -> dict[Any, float]:
    """The shares of the answers on the midpoints of a grid over both uniforms."""
    axis = (np.arange(SIDE) + 0.5) / SIDE
    numbers = dict(zip(NAMES, np.meshgrid(axis, axis), strict=False))
    for name, kind in zip(NAMES, kinds, strict=False):
        numbers[name] = -np.log(numbers[name]) if kind == "e" else numbers[name]
    with np.errstate(all="ignore"):
        truths = [np.broadcast_to(eval(test, LIBRARIES["numpy"] | numbers), (SIDE, SIDE)) for test in tests]
    codes = sum(truth.ravel() * 2**i for i, truth in enumerate(truths))
    counts = np.bincount(codes, minlength=2 ** len(tests)) / SIDE**2
    return {tuple(bool(code >> i & 1) for i in range(len(tests))): share for code, share in enumerate(counts)}


sides = trees(["u", "v"], 3)
comparisons = st.builds("{} {} {}".format, sides, st.sampled_from(["<", "<=", ">", ">="]), sides | signed)


def agrees_with_the_grid(law: Any, tests: list[str], kinds: str, library: str) -> None:
    try:
        found = law(followed(library, tests, kinds))
    except InvalidVerifier:
        assume(False)
    shares = on_grid(tests, kinds)
    assert float(sum(found.values())) == pytest.approx(1, abs=1e-12)
    for answers in found.keys() | shares.keys():
        assert float(found.get(answers, 0)) == pytest.approx(shares.get(answers, 0), abs=OFF), answers


@settings(max_examples=120)
@given(
    st.lists(comparisons, min_size=1, max_size=2), st.sampled_from(["uu", "ue", "ee"]), st.sampled_from([*LIBRARIES])
)
def test_random_expressions_agree_with_a_grid(law, tests, kinds, library):
    agrees_with_the_grid(law, tests, kinds, library)


@pytest.mark.heavy
@settings(max_examples=4000)
@given(
    st.lists(comparisons, min_size=1, max_size=3), st.sampled_from(["uu", "ue", "ee"]), st.sampled_from([*LIBRARIES])
)
def test_many_random_expressions_agree_with_a_grid(law, tests, kinds, library):
    agrees_with_the_grid(law, tests, kinds, library)
