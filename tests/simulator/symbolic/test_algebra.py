"""Probabilities of single expressions of random numbers that are known exactly or in closed form, in all libraries."""

import math
from fractions import Fraction

import pytest

from tests.simulator.symbolic.values import fraction

LIBRARIES = ("python", "numpy", "torch")


@pytest.mark.one_in(8)
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
        ("exp(log(u)) + v < 1", "uu", Fraction(1, 2)),
        ("exp(log(u)) + v < 0.5", "uu", Fraction(1, 8)),
        ("u * v / v + w < 0.5", "uuu", Fraction(1, 8)),
        ("(1 - u) * v / v - w < 0.5", "uuu", Fraction(7, 8)),
        ("(1 - u) * v / v + u == 1", "uu", Fraction(1)),
        ("exp(log(u)) == u", "u", Fraction(1)),
        ("exp(-u) + exp(-v) < 1", "ee", Fraction(1, 2)),
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
        ("2 * exp(u) == exp(u)", "u", Fraction(0)),
        ("minimum(u / v, 2) < 0.5", "uu", Fraction(1, 4)),
        ("maximum(-u / v, -2) < -0.5", "uu", Fraction(3, 4)),
        ("minimum(u, 2) == u", "u", Fraction(1)),
        ("maximum(u, 0.25) == 0.25", "u", Fraction(1, 4)),
        ("u * v <= u * v", "uu", Fraction(1)),
        ("u * v < u * v", "uu", Fraction(0)),
        ("u + v <= v + u", "uu", Fraction(1)),
        ("u + v < v + u", "uu", Fraction(0)),
        ("u + v < v + u + 1", "uu", Fraction(1)),
        ("u * v < v * u * 2", "uu", Fraction(1)),
        ("u * v > v * u * 2", "uu", Fraction(0)),
        ("exp(u) < exp(2 * v)", "uu", Fraction(3, 4)),
        ("-exp(u + 1) < -exp(2 * v + 1)", "uu", Fraction(1, 4)),
        ("1 / (1 + exp(u)) < 1 / (1 + exp(2 * v))", "uu", Fraction(1, 4)),
        ("(1 + exp(u)) ** 2 <= (1 + exp(2 * v)) ** 2", "uu", Fraction(3, 4)),
        ("log(1 + exp(u)) > log(1 + exp(2 * v))", "uu", Fraction(1, 4)),
        ("minimum(u, 0.5) <= 0.5", "u", Fraction(1)),
        ("minimum(u, 0.5) < 0.5", "u", Fraction(1, 2)),
        ("minimum(u, 0.5) >= 0.5", "u", Fraction(1, 2)),
        ("minimum(u, 0.5) > 0.5", "u", Fraction(0)),
        ("maximum(u, 0.5) <= 0.5", "u", Fraction(1, 2)),
        ("maximum(u, 0.5) < 0.5", "u", Fraction(0)),
        ("maximum(u, 0.5) >= 0.5", "u", Fraction(1)),
        ("maximum(u, 0.5) > 0.5", "u", Fraction(1, 2)),
        ("u + v < 2.0 ** -80", "uu", Fraction(1, 2**161)),
        ("maximum(u, 0.5) ** -1 >= 2", "u", Fraction(1, 2)),
        ("1 / minimum(u, 0.5) <= 2", "u", Fraction(1, 2)),
        ("inf / minimum(u, 0.5) == inf", "u", Fraction(1)),
        ("3 * maximum(u, 0.25) + 1 <= 1.75", "u", Fraction(1, 4)),
        ("-maximum(u, 0.25) >= -0.25", "u", Fraction(1, 4)),
        ("1 - minimum(u, 0.25) <= 0.75", "u", Fraction(3, 4)),
        ("minimum(u, 0.5) - minimum(u, 0.5) == 0", "u", Fraction(1)),
        ("maximum(minimum(u, 0.75), 0.25) <= 0.5", "u", Fraction(1, 2)),
        ("minimum(u, 0.5) * v < 0.25 * v", "uu", Fraction(1, 4)),
        ("minimum(u, v) * 2 < 1", "uu", Fraction(3, 4)),
        ("minimum(u, v) < 0.5 * minimum(w, x)", "uuuu", Fraction(7, 24)),
        ("3 * log(u + 1e-10) < log(v + 1e-10)", "uu", Fraction(3, 4)),
        ("log(u + 1e-10) / 3 < log(v + 1e-10)", "uu", Fraction(1, 4)),
        ("-2 * log(u + 1e-10) - log(v) < -log(w) - log(v)", "uuu", Fraction(1, 3)),
        ("log(1 - u + 1e-10) < 2 * log(v)", "uu", Fraction(1, 3)),
    ],
)  # fmt: skip
def test_probabilities_known_exactly(chance, library, test, kinds, expected):
    assert fraction(chance(test, kinds, library)) == expected


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("test", "kinds", "expected"),
    [
        ("u < 1.5", "e", 1 - math.exp(-1.5)),
        ("u + v < 1", "ee", 1 - 2 * math.exp(-1)),
        ("u - v > 1", "ee", math.exp(-1) / 2),
        ("u * v < 0.25", "uu", 0.25 * (1 + math.log(4))),
        ("u / v < 0.5", "uu", 0.25),
        ("minimum(u * v, 0.5) < 0.25", "uu", 0.25 * (1 + math.log(4))),
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
        ("log(maximum(u - 0.5, 0.125)) < -1.25", "u", 0.5 + math.exp(-1.25)),
        ("log(maximum(u - 0.5, 0.125)) <= -2.0", "u", 0.5 + math.exp(-2)),
        ("log(maximum(u, 0.25)) - log(v) < 0", "uu", 0.46875),
        ("minimum(u, 0.5) ** 2 >= 0.25", "u", 0.5),
        ("minimum(u, 0.5) ** 2 == 0.25", "u", 0.5),
        ("maximum(u, 0.5) ** 2 <= 0.25", "u", 0.5),
        ("sqrt(maximum(u, 0.25)) <= 0.5", "u", 0.25),
        ("(2 * u) ** 2 < 1", "u", 0.5),
        ("sqrt(4 * u) < 1", "u", 0.25),
        ("sqrt(4 * u) < v", "uu", 1 / 12),
        ("(8 * u) ** -0.5 < 1", "u", 7 / 8),
        ("sqrt(u) > 0.7", "e", math.exp(-0.49)),
        ("u ** 3 > 0.7 ** 3", "e", math.exp(-0.7)),
        ("u ** -1 > 4", "e", 1 - math.exp(-0.25)),
        ("minimum(u, v) < 0.5", "ee", 1 - math.exp(-1)),
        ("maximum(u, v) < 0.5", "ee", (1 - math.exp(-0.5)) ** 2),
        ("minimum(u, v) + w < 1", "eee", 1 - 2 * math.exp(-1) + math.exp(-2)),
    ],
)
def test_probabilities_known_in_closed_form(chance, library, test, kinds, expected):
    # thresholds are floats and so are the closed forms: some roundings
    assert float(chance(test, kinds, library)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("u * v < 0.25", "sqrt(u) * sqrt(v) < 0.5"),
        ("u * v < 0.25", "sqrt(sqrt(u)) * sqrt(sqrt(v)) * sqrt(2) < 1"),
        ("u ** 2 * v ** 2 < 0.0625", "u * v <= 0.25"),
        ("3 * u * v < 0.75", "u * v < 0.25"),
    ],
)
def test_a_question_that_another_answers_is_not_asked_again_whatever_was_rounded(answers, one, other):
    """Logarithms are kept to 256 bits, so the thresholds differ, by less than any float could tell."""
    found = answers([one, other], "uu")
    between = sum((mass for (first, second), mass in found.items() if first != second), start=0)
    assert float(between) < 1e-15 if "sqrt(2)" in other else between == 0  # the square root of 2 is a float
