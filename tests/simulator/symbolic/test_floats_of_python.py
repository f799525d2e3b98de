"""Numbers of Python beside those of arrays: where one raises the other is infinite, and each says what it has."""

import copy

import numpy as np
import pytest

from draftproof.simulator.symbolic.arrays.numpy_lists import replacements

TEXTS = (
    # Single draws are floats of Python, of all libraries; what stood in an array is none.
    "u / 0.0 > 1", "u / 0 > 1", "u / np.float64(0) > 1", "u / -np.float64(0) < -1", "(u - 0.5) / np.float64(0) > 1",
    "np.random.random() / 0.0 > 1", "np.random.exponential() / 0.0 > 1", "random.expovariate(0.0) > 1", "u % 0 > 0.5",
    "np.random.random(2)[0] / 0.0 > 1", "np.random.random(2).tolist()[0] / 0.0 > 1", "np.array([u])[0] / 0.0 > 1",
    "np.random.random(2).sum() / 0.0 > 1", "np.random.exponential(size=2) / [0.5, 0.0] > 1",
    "min(range(3), key=lambda i: random.expovariate(1) / [0.5, 0.0, 0.5][i])",
    "min(range(3), key=lambda i: random.expovariate(1) / np.array([0.5, 0.0, 0.5])[i])",
    # Errors of `math`, which are NaN elsewhere.
    "math.log(u - 0.5) < -1", "np.log(np.array([u - 0.5])) < -1", "math.log(u) < -1", "math.log(u * u, 2) < -1",
    # Weights that are none, and those that are not looked at.
    "random.choices([0, 1, 2], [0.5, -0.2, 0.7])[0]", "random.choices([0, 1, 2], [-0.5, 0.5, 0.5])[0]",
    "random.choices([0, 1], [0.0, 0.0])[0]", "random.choices([0, 1, 2], cum_weights=[0.5, 0.3, 1.0])[0]",
    "np.random.choice(3, p=np.float32([0.1, 0.2, 0.7000001]))",
    "np.random.choice(3, p=np.array([0.1, 0.2, 0.7000001]))",
    # What numbers of arrays have beside floats.
    "np.random.random(2)[0].astype(int)", "np.random.random(2)[0].round()", "np.random.random(2)[0].clip(0.25) < 0.5",
    "u.is_integer()", "np.isscalar(u)", "np.vdot(np.random.random(2), [1, 2]) < 0.7", "u // 0.3", "divmod(u, 0.3)[0]",
    # Whole parts, and copies.
    "int(u * 3)", "math.floor(2 - u * 2)", "round(u)", "(np.random.rand(1) * 4).astype(int).item()", "u * 4 // 2",
    "u * 4 % 1 < 0.25", "u % 0.25 < 0.0625", "u * 6 % 4 < 2", "[c([u])[0] < 0.5 == (u < 0.5) for c in copies]",
    # Infinite numbers and NaN.
    "u + inf", "inf + u", "u - inf", "inf - u", "-inf - u", "u - -inf", "u * inf", "u * -inf", "-u * inf", "inf * u",
    "u / inf", "-u / inf", "inf / u", "-inf / u", "u / np.float64(0)", "(u - 2) / np.float64(0)", "0.0 * u", "u ** 0",
    "1 ** u", "u < inf", "inf <= u", "u > -inf", "u == inf", "u != -inf", "u < nan", "u >= nan", "nan <= u", "nan > u",
    "u == nan", "u != nan", "u + nan", "nan + u", "u - nan", "nan - u", "u * nan", "nan * u", "u / nan", "0.0 / u",
    "np.isnan(np.maximum(np.maximum(u, nan), 0.5))", "np.isnan(np.maximum(np.maximum(u, 0.5), nan))",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_random_numbers_do_what_floats_do(agrees, text):
    agrees(text, copies=(copy.copy, copy.deepcopy))


def test_what_stands_in_for_numpy_says_of_itself_what_numpy_says() -> None:
    """Libraries that are imported inside a function, as numpy.ma, read it."""
    for _, name, found in replacements():
        if name != "isscalar":
            assert found.__doc__ == getattr(np, name).__doc__
            assert found.__doc__
