"""Axes, kept dimensions and sides of numpy and torch on random numbers, against closed forms of order statistics."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.symbolic.values import fraction

torch = pytest.importorskip("torch")


def array():
    return np.random.random((2, 3))


def tensor():
    return torch.rand((2, 3), dtype=torch.float64)


#: Of an array `a` and a tensor `t` of two rows and three columns.
SHAPES = (
    "np.argmax(a, axis=1, keepdims=True)", "np.argmin(a, axis=0, keepdims=True)", "np.argmax(a, 0)", "np.argmax(a)",
    "np.max(a, axis=1, keepdims=True) < 2", "np.max(a, keepdims=True) < 2", "np.add.reduce(a, 0) < 9",
    "np.add.reduce(a, axis=(1,)) < 9", "np.maximum.reduce(a, axis=1, keepdims=True) < 9", "np.add.accumulate(a, 1) < 9",
    "np.sum(a, axis=0, keepdims=True) < 9", "np.add.reduce(a, axis=None, keepdims=True) < 9",
    "np.add.reduce(a, axis=(0, 1)) < 9", "np.sum(a) < 9", "np.prod(a, axis=1) < 2", "np.mean(a, 0) < 2",
    "np.cumsum(a) < 9", "np.cumprod(a, axis=0) < 9", "np.argsort(a, axis=0)", "np.argsort(a[:1], axis=None)",
    "np.sort(a, 0) < 2", "np.any(a, axis=0)", "np.all(a, 1)", "np.count_nonzero(a, axis=0)", "a.T < 2",
    "np.max(a, 1, None, True) < 2", "a.min(0, None, True) < 2", "np.sum(a, 1, None, None, True) < 9",
    "np.nanmax(a, 1, None, True) < 2", "np.mean(a, 0, None, None, True) < 2", "a.argmax(1, None)", "np.ptp(a, 1, None)",
    "a.cumsum(0, None, None) < 9", "np.any(a, 0, None, True)", "np.round(a, 0, None) < 2",
    "np.clip(a, 0.25, 0.5, None) < 2", "np.clip(a, 0.25, 0.5) < 2",
    "t.argmax(1, keepdim=True)", "t.argmax(0)", "t.argmax()", "t.argmin(0, keepdim=True)",
    "t.amax(1, keepdim=True) < 2", "t.max(1).values < 2", "t.max(1, keepdim=True).indices", "t.min(0).indices",
    "t.min(0, keepdim=True).values < 2", "t.sum(0) < 9", "t.sum(0, True) < 9", "t.mean(dim=1) < 2",
    "t.mean(-1, keepdim=True) < 9", "t.amax((), keepdim=True) < 2", "t.amin(()) < 2", "t.sum((0, 1), keepdim=True) < 9",
    "t.sum((), keepdim=True) < 9", "t.sum() < 9", "t.prod(0, keepdim=True) < 2", "t.prod(1) < 2", "t.cumsum(-1) < 9",
    "t.sort(0).indices", "t.topk(2).indices", "t.topk(1, dim=0, largest=False).values < 2", "(t < 2).any(0)",
    "(t < 2).all(1, keepdim=True)", "t.clamp(max=-1.0).any(0)",
)  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", SHAPES)
def test_shapes_are_those_of_real_numbers(law, text):
    def shape(a, t):
        return np.shape(eval(text, {"np": np, "a": a, "t": t}))

    real = np.full((2, 3), 0.5)
    assert set(law(lambda: shape(array(), tensor()))) == {shape(real, torch.from_numpy(real))}


@pytest.mark.parametrize(
    ("expected", "function"),
    [
        (Fraction(1, 8), lambda: np.add.accumulate(np.random.random((1, 2)), 1)[0, 1] < 0.5),
        (Fraction(1, 2), lambda: np.add.accumulate(np.random.random((1, 2)), 0)[0, 1] < 0.5),
        (Fraction(1, 2), lambda: np.add.accumulate(np.random.random((1, 2)))[0, 1] < 0.5),
        (Fraction(1, 8), lambda: np.cumsum(np.random.random((1, 2)))[1] < 0.5),
        (Fraction(1, 4), lambda: np.max(np.random.random((1, 2)), axis=1)[0] < 0.5),
        (Fraction(1, 8), lambda: np.add.reduce(np.random.random((1, 2)), 1)[0] < 0.5),
        (Fraction(1, 8), lambda: torch.rand((1, 2), dtype=torch.float64).cumsum(1)[0, 1].item() < 0.5),
        (Fraction(1, 2), lambda: torch.rand((1, 2), dtype=torch.float64).cumsum(0)[0, 1].item() < 0.5),
        (Fraction(1, 2), lambda: torch.rand((1, 2), dtype=torch.float64).mean(1)[0].item() < 0.5),
        (Fraction(3, 4), lambda: torch.rand((2, 1), dtype=torch.float64).amin(0)[0].item() < 0.5),
        (Fraction(1, 4), lambda: np.searchsorted([0.25, 0.5], np.random.random(1))[0] == 1),
        (Fraction(1, 2), lambda: np.searchsorted(np.sort(np.random.random(2)), 0.5) == 1),
        (Fraction(1, 4), lambda: np.searchsorted([0.5, 0.25], np.random.random(1), sorter=[1, 0])[0] == 1),
        (Fraction(1, 2), lambda: np.sort(np.random.random((1, 2)), axis=None)[0] < 1 - 0.5**0.5),
    ],
)
def test_probabilities_along_axes(law, expected, function):
    found = float(law(lambda: bool(function()))[True])
    assert found == pytest.approx(float(expected), abs=1e-15)  # the last threshold is a float


@pytest.mark.heavy
@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.booleans())
def test_largest_of_scaled_uniforms_against_an_integral(law, scales, in_torch):
    def function():
        if in_torch:
            return (torch.rand(len(scales), dtype=torch.float64) * torch.tensor(scales)).argmax().item()
        return int(np.argmax(np.random.random(len(scales)) * np.array(scales)))

    found = law(function)
    top = min(scales)
    for i, a in enumerate(scales):
        # P(all others below x), a polynomial between the scales, integrated over the number i in [0, a]
        edges = sorted({0, top, *(s for s in scales if s < a), a} & set(range(a + 1)))
        total = Fraction(0)
        for low, high in pairwise(edges):
            smaller = [s for j, s in enumerate(scales) if j != i and s >= high]
            n = len(smaller)
            area = Fraction(high ** (n + 1) - low ** (n + 1), n + 1)
            total += area / int(np.prod(smaller)) if smaller else Fraction(high - low)
        assert fraction(found[i]) == total / a


@pytest.mark.parametrize(
    ("expected", "function"),
    [
        ([0.2, 0.8], lambda u: np.round(u, 1).tolist()),
        ([0.2, 0.8], lambda u: u.round(1).tolist()),
        (0.75, lambda u: np.sum(u, where=np.array([False, True])).item()),
        (0.75, lambda u: np.interp(u, [0.0, 1.0], [0.0, 1.0])[1].item()),
        (1.0, lambda u: abs(np.fft.fft(u)[0]).item()),
        (0.25, lambda u: np.std(u).item()),
        (1, lambda u: int(np.argmax(u))),
        ([0.25, 1.0], lambda u: np.cumsum(u).tolist()),
        ([True, False], lambda u: (u < 0.5).tolist()),
    ],
)
def test_an_array_in_which_every_random_number_was_replaced_is_one_of_floats(law, expected, function):
    def followed():
        u = np.random.random(2)
        u[0], u[1:] = 0.25, 0.75
        return function(u)

    assert law(followed) == {tuple(expected) if isinstance(expected, list) else expected: 1}
