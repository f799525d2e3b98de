"""What code does with uniform numbers, in plain Python and numpy: exact laws, equal to those computed by hand."""

# ruff: noqa: PLW0108 - a draw must wait until it is called

import bisect
import copy
import math
import random

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidVerifier

NAN = math.inf - math.inf


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


def test_comparison_element_by_element_with_broadcasting(law, q):
    def function():
        u = np.random.random((2, 1))
        return (u < np.array([0.25, 0.5])).tolist()

    found = law(function)
    assert found[(True, True), (True, True)] == q(1, 16)
    assert found[(False, True), (False, False)] == q(1, 8)
    assert sum(found.values()) == 1
    assert ((True, False), (True, True)) not in found


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


def test_two_uniforms_against_each_other(law, q):
    def function():
        u, v = random.random(), random.random()
        return u < v, u + v < 0.5, u - v > 0.5

    found = law(function)
    assert found[True, True, False] == found[False, True, False] == q(1, 16)
    assert found[False, False, True] == q(1, 8)
    assert sum(found.values()) == 1


def test_ratio_of_two_uniforms(law, q):
    assert law(lambda: random.random() / random.random() < 0.5) == {True: q(1, 4), False: q(3, 4)}


def test_largest_and_smallest(law, q):
    def builtin():
        u, v = random.random(), random.random()
        return max(u, v) < 0.5, min(u, v) < 0.25

    def lazily():
        u = np.random.rand(2)
        return u.max() < 0.5, np.minimum(*u) < 0.25

    expected = {(True, True): q(3, 16), (True, False): q(1, 16), (False, True): q(1, 4), (False, False): q(1, 2)}
    assert law(builtin) == law(lazily) == expected


def test_clipped_uniform_keeps_its_atoms(law, q):
    def function():
        u = np.clip(np.random.rand(), 0.25, 0.5)
        return u == 0.25, u == 0.5

    assert law(function) == {(True, False): q(1, 4), (False, False): q(1, 4), (False, True): q(1, 2)}


@pytest.mark.parametrize("t", [0.01, 0.25, 0.9])
def test_product_of_two_uniforms_against_a_threshold(law, t):
    expected = t * (1 - math.log(t))
    for function in (
        lambda: random.random() * random.random() < t,
        lambda: np.cumprod(np.random.rand(2))[1] < t,
        lambda: np.prod(np.random.rand(2)) < t,
        lambda: math.log(random.random()) + math.log(random.random()) < math.log(t),
    ):
        assert float(law(function)[True]) == pytest.approx(expected, rel=1e-14)  # a logarithm of floats


def test_product_of_three_uniforms_and_its_factors(law):
    def function():
        u = np.cumprod(np.random.rand(3))
        return u[2] < 0.2, u[1] < 0.2

    x = -math.log(0.2)
    found = law(function)
    assert float(found[True, True]) == pytest.approx(0.2 * (1 + x), rel=1e-14)
    assert float(found[True, False]) == pytest.approx(0.2 * x * x / 2, rel=1e-14)
    assert (False, True) not in found


def test_one_uniform_through_functions(law, q):
    def function():
        u = random.random()
        return u**2 < 0.25, math.sqrt(u) < 0.5, 1 / u > 4, np.exp(np.log(u)) < 0.25

    found = law(function, arithmetic=FLOAT64)
    assert found == {
        (True, True, True, True): 0.25,
        (True, False, False, False): 0.25,
        (False, False, False, False): 0.5,
    }
    assert float(law(lambda: math.exp(-random.random()) < 0.5)[True]) == pytest.approx(1 - math.log(2), rel=1e-14)


def test_antithetic_uniforms_are_one_variable(law, q):
    def function():
        u = random.random()
        return u < 0.5, 1 - u < 0.5

    assert law(function) == {(True, False): q(1, 2), (False, True): q(1, 2)}


def test_infinite_and_undefined_thresholds(law):
    def function():
        u = random.random()
        return u < math.inf, u < NAN, u > -math.inf, u * math.inf == math.inf, u * 0.0, 0.0 / u, math.isfinite(u)

    assert law(function) == {(True, False, True, True, 0.0, 0.0, True): 1}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("u + inf", math.inf), ("inf + u", math.inf), ("u - inf", -math.inf), ("inf - u", math.inf),
        ("-inf - u", -math.inf), ("u - -inf", math.inf), ("u * inf", math.inf), ("u * -inf", -math.inf),
        ("-u * inf", -math.inf), ("inf * u", math.inf), ("u / inf", 0.0), ("-u / inf", 0.0), ("inf / u", math.inf),
        ("-inf / u", -math.inf), ("u / zero", math.inf), ("-u / zero", -math.inf),
        ("(u - 2) / zero", -math.inf), ("u / -zero", -math.inf),
        ("0.0 * u", 0.0), ("u ** 0", 1.0), ("1 ** u", 1.0), ("u < inf", True), ("inf <= u", False), ("u > -inf", True),
        ("u == inf", False), ("u != -inf", True), ("u < nan", False), ("u >= nan", False), ("nan <= u", False),
        ("nan > u", False), ("u == nan", False), ("u != nan", True),
    ],
)  # fmt: skip
def test_infinities_and_nan_as_floats_have_them(law, expression, value):
    names = {"inf": math.inf, "nan": NAN, "zero": np.float64(0)}  # a zero of Python would raise
    assert law(lambda: eval(expression, {"u": random.random()} | names)) == {value: 1}


@pytest.mark.parametrize("expression", ["u + nan", "nan + u", "u - nan", "nan - u", "u * nan", "nan * u", "u / nan"])
def test_nan_spreads_as_floats_have_it(law, expression):
    assert law(lambda: math.isnan(eval(expression, {"u": random.random(), "nan": NAN}))) == {True: 1}


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


def test_sorting(law, q):
    six = {q(1, 6)}
    assert set(law(lambda: np.argsort(np.random.rand(3)).tolist()).values()) == six
    assert set(law(lambda: sorted(range(3), key=[random.random() for _ in range(3)].__getitem__)).values()) == six
    assert law(lambda: (np.sort(np.random.rand(2)) < 0.5).tolist()) == {
        (True, True): q(1, 4),
        (True, False): q(1, 2),
        (False, False): q(1, 4),
    }


def test_functions_that_numpy_builds_from_others(law, q):
    half = {True: q(1, 2), False: q(1, 2)}
    assert law(lambda: np.dot(np.random.rand(2), np.ones(2)) < 1) == half
    assert law(lambda: np.random.rand(2) @ np.ones(2) < 1) == half
    assert law(lambda: np.diff(np.random.rand(2))[0] < 0) == half
    assert law(lambda: np.mean(np.random.rand(2)) < 0.5) == half
    assert law(lambda: np.concatenate([np.random.rand(1), np.ones(1)]).min() < 0.5) == half
    assert law(lambda: np.argmax([random.random(), random.random()])) == {0: q(1, 2), 1: q(1, 2)}


def test_copies_are_the_same_number(law, q):
    def function():
        u = random.random()
        return copy.deepcopy([u])[0] < 0.5, copy.copy(u) < 0.5

    assert law(function) == {(True, True): q(1, 2), (False, False): q(1, 2)}


def test_both_arithmetics_agree(law):
    def function():
        u, v = random.random(), random.random()
        return u < v, u < 0.25

    exact, floats = law(function), law(function, arithmetic=FLOAT64)
    assert {key: float(mass) for key, mass in exact.items()} == floats


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        ("math.sin", lambda: math.sin(random.random()) < 0.5),
        ("numpy.sin", lambda: np.sin(np.random.rand(2)) < 0.5),
        ("numpy.sin", lambda: np.sin(random.random()) < 0.5),
        ("numpy.fft", lambda: np.fft.fft(np.random.rand(2))),
        ("sum of products", lambda: np.random.rand(2) @ np.random.rand(2) < 1),
        ("turned into a float", lambda: float(random.random()) < 0.5),
        ("turned into a float", lambda: np.zeros(1).__setitem__(0, random.random())),
        ("hash", lambda: {random.random()}),
        ("use as an index", lambda: [1, 2][random.random()]),
        ("product of sums", lambda: (random.random() + 1) * random.random() < 1),
        ("product of sums", lambda: (random.random() - 2) * random.random() < -1),
        ("product of sums", lambda: (0.5 - random.random()) * random.random() < 0),
        ("several exponential", lambda: random.expovariate(1.0) * random.expovariate(1.0) < 1),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(law, operation, function):
    with pytest.raises(InvalidVerifier, match=rf"{operation}.*\(test_uniforms\.py:\d+\)"):
        law(function)


def test_a_mixture_of_sums_and_products_is_refused(law):
    def function():
        u, v, w = np.random.rand(3)
        return u + v < 1, u * w < 0.25

    with pytest.raises(InvalidVerifier, match="both as uniforms and as exponentials"):
        law(function)


def test_a_random_result_is_refused(law):
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(lambda: random.random())
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(lambda: [1, np.random.rand(2)])
