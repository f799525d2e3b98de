"""Probabilities of single expressions of random numbers that are known exactly or in closed form, in all libraries."""

import math
from fractions import Fraction

import pytest

from tests.simulator.symbolic.values import fraction

LIBRARIES = ("python", "numpy", "torch")
#: Probability -> expressions of uniform ("u") and exponential ("e") numbers u, v, w and x that have it.
EXACT = {
    "2/3": (
        "uu: u ** 2 < v", "uu: (1 - u) ** 2 < v", "ee: u < 2 * v", "ee: 2 / u > 1 / v", "ee: u ** 2 < 4 * v ** 2",
        "uuu: minimum(u, v) < w", "uuu: minimum(u, v) + w < 1",
    ),
    "2/5": ("uu: u ** 2 < v ** 3",),
    "3/4": (
        "uuu: u * v < w", "uu: 1 / u < 2 / v", "ee: u / v < 3", "uu: 2 * minimum(u, v) < 1", "uu: abs(u - v) < 0.5",
        "uu: maximum(-u / v, -2) < -0.5", "uu: exp(u) < exp(2 * v)", "uu: (1 + exp(u)) ** 2 <= (1 + exp(2 * v)) ** 2",
        "u: 1 - minimum(u, 0.25) <= 0.75", "uu: 3 * log(u + 1e-10) < log(v + 1e-10)",
    ),
    "1/2": (
        "uuuu: u * v < w * x", "uu: -(u * v) < -0.5 * u", "uu: exp(u) < exp(v)", "uu: 2 * exp(u) + 1 < 2 * exp(v) + 1",
        "uu: -exp(u + 1) < -exp(v + 1)", "ee: exp(-u) + exp(-v) < 1", "u: minimum(u, 0.5) < 0.5",
        "u: minimum(u, 0.5) >= 0.5", "u: maximum(u, 0.5) <= 0.5", "u: maximum(u, 0.5) > 0.5",
        "u: maximum(u, 0.5) ** -1 >= 2", "u: 1 / minimum(u, 0.5) <= 2", "u: maximum(minimum(u, 0.75), 0.25) <= 0.5",
    ),
    "1/4": (
        "uuu: u / v < w", "u: abs(2 * u - 1) < 0.25", "uu: minimum(u / v, 2) < 0.5", "u: maximum(u, 0.25) == 0.25",
        "uu: -exp(u + 1) < -exp(2 * v + 1)", "uu: 1 / (1 + exp(u)) < 1 / (1 + exp(2 * v))",
        "uu: log(1 + exp(u)) > log(1 + exp(2 * v))", "u: 3 * maximum(u, 0.25) + 1 <= 1.75",
        "u: -maximum(u, 0.25) >= -0.25", "uu: minimum(u, 0.5) * v < 0.25 * v",
        "uu: log(u + 1e-10) / 3 < log(v + 1e-10)",
    ),
    "1/3": (
        "uu: sqrt(u) < v", "uu: -(u ** 2) < -v", "uu: log(u) < 2 * log(v)", "ee: exp(-u) < exp(-2 * v)",
        "uuu: maximum(u, v) < w", "uuu: -2 * log(u + 1e-10) - log(v) < -log(w) - log(v)",
        "uu: log(1 - u + 1e-10) < 2 * log(v)",
    ),
    "1": (
        "uuu: u * v > -w", "uuu: -(u * v) < w", "uu: (1 - u) * v / v + u == 1", "u: exp(log(u)) == u", "u: u - u == 0",
        "u: u + 1 == u + 1", "uu: u + v == v + u", "u: 2 * u == u * 2", "uu: u * v == v * u", "u: exp(u) == exp(u)",
        "u: minimum(u, 2) == u", "uu: u * v <= u * v", "uu: u + v <= v + u", "uu: u + v < v + u + 1",
        "uu: u * v < v * u * 2", "u: minimum(u, 0.5) <= 0.5", "u: inf / minimum(u, 0.5) == inf",
        "u: minimum(u, 0.5) - minimum(u, 0.5) == 0",
    ),
    "9/16": ("eee: u + v < 3 * w",),
    "5/6": ("uuuu: minimum(u, v) < maximum(w, x)",),
    "1/8": ("uu: exp(log(u)) + v < 0.5", "uuu: u * v / v + w < 0.5"),
    "7/8": ("uuu: (1 - u) * v / v - w < 0.5",),
    "0": (
        "u: u + 1 == u + 2", "u: 2 * u == 3 * u", "uuu: u * v == u * w", "uuu: u * v == w", "uu: exp(u) == exp(v)",
        "u: exp(u) == exp(u) * 2", "uu: u * v < u * v", "uu: u + v < v + u", "uu: u * v > v * u * 2",
        "u: minimum(u, 0.5) > 0.5",
    ),
    f"1/{2**161}": ("uu: u + v < 2.0 ** -80",),
    "7/24": ("uuuu: minimum(u, v) < 0.5 * minimum(w, x)",),
}  # fmt: skip
CLOSED = {
    "1 - exp(-1.5)": ("e: u < 1.5",),
    "1 - 2 * exp(-1)": ("ee: u + v < 1",),
    "exp(-1) / 2": ("ee: u - v > 1",),
    "0.25 * (1 + log(4))": ("uu: u * v < 0.25", "uu: minimum(u * v, 0.5) < 0.25"),
    "0.25": ("uu: u / v < 0.5", "u: sqrt(maximum(u, 0.25)) <= 0.5", "u: sqrt(4 * u) < 1"),
    "0.5 * 2 - 0.25": ("uu: u ** 2 * v < 0.25",),
    "log(2)": ("u: exp(u) < 2", "u: (1 + exp(u)) ** 2 < 9"),
    "exp(-exp(0.5))": ("e: log(u) > 0.5",),
    "e / (1 + e)": ("ee: log(u) - log(v) < 1",),
    "exp(-exp(-1))": ("u: -log(-log(u)) < 1",),
    "1 - log(7 / 3)": ("u: 1 / (1 + exp(u)) < 0.3",),
    "log(e - 1)": ("u: log(1 + exp(u)) < 1",),
    "log2(1.5)": ("u: 2 ** u < 1.5",),
    "0.5 + exp(-1.25)": ("u: log(maximum(u - 0.5, 0.125)) < -1.25",),
    "0.5 + exp(-2)": ("u: log(maximum(u - 0.5, 0.125)) <= -2.0",),
    "0.46875": ("uu: log(maximum(u, 0.25)) - log(v) < 0",),
    "0.5": ("u: minimum(u, 0.5) ** 2 == 0.25", "u: maximum(u, 0.5) ** 2 <= 0.25", "u: (2 * u) ** 2 < 1"),
    "1 / 12": ("uu: sqrt(4 * u) < v",),
    "7 / 8": ("u: (8 * u) ** -0.5 < 1",),
    "exp(-0.49)": ("e: sqrt(u) > 0.7",),
    "exp(-0.7)": ("e: u ** 3 > 0.7 ** 3",),
    "1 - exp(-0.25)": ("e: u ** -1 > 4",),
    "1 - exp(-1)": ("ee: minimum(u, v) < 0.5",),
    "(1 - exp(-0.5)) ** 2": ("ee: maximum(u, v) < 0.5",),
    "1 - 2 * exp(-1) + exp(-2)": ("eee: minimum(u, v) + w < 1",),
}  # fmt: skip
ROWS = [pytest.param(chance, text, id=text) for table in (EXACT, CLOSED) for chance in table for text in table[chance]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("expected", "text"), ROWS)
def test_probabilities_known_exactly_or_in_closed_form(chance, library, expected, text):
    kinds, test = text.split(": ")
    found = chance(test, kinds, library)
    if expected in EXACT:
        assert fraction(found) == Fraction(expected)
    else:  # thresholds are floats and so are the closed forms: some roundings
        assert float(found) == pytest.approx(eval(expected, vars(math).copy()), rel=1e-13)


#: Several questions about the same numbers -> probabilities of some of their answers, T and F.
JOINT = {
    "u: u < 0.25; u < 0.5; u * 2 - 1 > 0.5": {"TTF": "1/4", "FTF": "1/4", "FFF": "1/4", "FFT": "1/4"},
    "u: u < 0.5; 1 - u < 0.5": {"TF": "1/2", "FT": "1/2"},
    "u: 0.25 > u; 0.5 > u; u <= 0.5; u == 0.3": {"TTTF": "1/4", "FTTF": "1/4", "FFFF": "1/2"},
    "u: (1 - u) ** 2 < 1 / 16; u < 0.25": {"TF": "1/4", "FT": "1/4", "FF": "1/2"},
    "uu: u < v; u + v < 0.5; u - v > 0.5": {"TTF": "1/16", "FTF": "1/16", "FFT": "1/8"},
    "uu: maximum(u, v) < 0.5; minimum(u, v) < 0.25": {"TT": "3/16", "TF": "1/16", "FT": "1/4", "FF": "1/2"},
    # Uniforms seen as exponentials, and loose ones: the integral over u of P(v w), where u w < 1/4 is w < 1/4u.
    "uuu: u * w < 0.25; u < v": {"TT": "1 / 32 + log(4) / 4"},
    "uuu: u * w < 0.25; v > u": {"TT": "1 / 32 + log(4) / 4"},
    "uuu: u * w < 0.25; u < 2 * v": {"TT": "9 / 64 + log(4) / 4"},
    "uuu: u * w < 0.25; 2 * u < v": {"TT": "1 / 8 - 1 / 16 + log(2) / 4"},
    "uuu: v < 0.5; u * w < 0.25; u < v": {"TTT": "1 / 32 + log(2) / 8"},
    "uuu: u * v * w < 0.2; u * v < 0.2": {"TT": "0.2 * (1 - log(0.2))", "TF": "0.1 * log(0.2) ** 2", "FT": "0"},
    # A product of uniforms is below 1 whatever is known.
    **{
        f"uuu: u < v; {product} < 1; {product} >= 1": {"TTF": "1/2", "FTF": "1/2"}
        for product in ("u * v", "u ** 2 * v", "0.5 * u", "u * v * w")
    },
}


@pytest.mark.parametrize("text", JOINT)
def test_several_answers_about_the_same_numbers(answers, text):
    kinds, tests = text.split(": ")
    found = {"".join("FT"[each] for each in key): mass for key, mass in answers(tests.split("; "), kinds).items()}
    assert sum(found.values()) == 1
    for key, expected in JOINT[text].items():  # logarithms of floats, and roots of thresholds
        assert float(found.get(key, 0)) == pytest.approx(eval(expected, vars(math).copy()), rel=1e-13)


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
