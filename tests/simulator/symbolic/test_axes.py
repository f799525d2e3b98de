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


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("shape", "function"),
    [
        ((2, 1), lambda: np.argmax(array(), axis=1, keepdims=True)),
        ((1, 3), lambda: np.argmin(array(), axis=0, keepdims=True)),
        ((2,), lambda: np.argmax(array(), axis=1)),
        ((3,), lambda: np.argmax(array(), axis=0)),
        ((3,), lambda: np.argmax(array(), 0)),
        ((), lambda: np.argmax(array())),
        ((2, 1), lambda: np.max(array(), axis=1, keepdims=True) < 2),
        ((1, 1), lambda: np.max(array(), keepdims=True) < 2),
        ((3,), lambda: np.add.reduce(array(), 0) < 9),
        ((2,), lambda: np.add.reduce(array(), axis=1) < 9),
        ((2,), lambda: np.add.reduce(array(), axis=(1,)) < 9),
        ((2, 1), lambda: np.maximum.reduce(array(), axis=1, keepdims=True) < 9),
        ((2, 3), lambda: np.add.accumulate(array(), 1) < 9),
        ((2, 1), lambda: tensor().argmax(1, keepdim=True)),
        ((3,), lambda: tensor().argmax(0)),
        ((), lambda: tensor().argmax()),
        ((2, 1), lambda: tensor().amax(1, keepdim=True) < 2),
        ((2,), lambda: tensor().max(1).values < 2),
        ((1, 3), lambda: tensor().min(0, keepdim=True).values < 2),
        ((3,), lambda: tensor().sum(0) < 9),
        ((2,), lambda: tensor().mean(dim=1) < 2),
        ((1, 1), lambda: tensor().amax((), keepdim=True) < 2),
        ((), lambda: tensor().amin(()) < 2),
        ((1, 1), lambda: tensor().sum((0, 1), keepdim=True) < 9),
        ((1, 1), lambda: tensor().sum((), keepdim=True) < 9),
        ((), lambda: tensor().sum() < 9),
        ((1, 3), lambda: tensor().sum(0, True) < 9),
        ((2, 1), lambda: tensor().mean(-1, keepdim=True) < 9),
        ((1, 3), lambda: tensor().prod(0, keepdim=True) < 2),
        ((2,), lambda: tensor().prod(1) < 2),
        ((1, 3), lambda: tensor().argmin(0, keepdim=True)),
        ((2, 1), lambda: tensor().max(1, keepdim=True).indices),
        ((3,), lambda: tensor().min(0).indices),
        ((2, 3), lambda: tensor().cumsum(-1) < 9),
        ((2, 3), lambda: tensor().sort(0).indices),
        ((2, 2), lambda: tensor().topk(2).indices),
        ((1, 3), lambda: tensor().topk(1, dim=0, largest=False).values < 2),
        ((3,), lambda: (tensor() < 2).any(0)),
        ((2, 1), lambda: (tensor() < 2).all(1, keepdim=True)),
        ((3,), lambda: tensor().clamp(max=-1.0).any(0)),
        ((2, 1), lambda: np.min(array(), 1, keepdims=True) < 2),
        ((1, 3), lambda: np.sum(array(), axis=0, keepdims=True) < 9),
        ((1, 1), lambda: np.sum(array(), keepdims=True) < 9),
        ((1, 1), lambda: np.add.reduce(array(), axis=None, keepdims=True) < 9),
        ((), lambda: np.add.reduce(array(), axis=(0, 1)) < 9),
        ((), lambda: np.sum(array()) < 9),
        ((2,), lambda: np.prod(array(), axis=1) < 2),
        ((3,), lambda: np.mean(array(), 0) < 2),
        ((6,), lambda: np.cumsum(array()) < 9),
        ((2, 3), lambda: np.cumprod(array(), axis=0) < 9),
        ((2, 3), lambda: np.argsort(array(), axis=0)),
        ((3,), lambda: np.argsort(np.random.random((1, 3)), axis=None)),
        ((2, 3), lambda: np.sort(array(), 0) < 2),
        ((3,), lambda: np.any(array(), axis=0)),
        ((2,), lambda: np.all(array(), 1)),
        ((3,), lambda: np.count_nonzero(array(), axis=0)),
        ((1, 3), lambda: np.argmax(array(), 0, keepdims=True)),
        ((3, 2), lambda: array().T < 2),
        ((2, 3), lambda: np.clip(array(), 0.25, 0.5) < 2),
    ],
)
def test_shapes_are_those_of_real_numbers(law, shape, function):
    assert set(law(lambda: np.shape(function()))) == {shape}


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


weights = st.lists(st.integers(1, 9), min_size=2, max_size=4)
RACES = {
    "w / e": lambda w: np.argmax(np.array(w) / np.random.exponential(size=len(w))),
    "e / w": lambda w: np.argmin(np.random.exponential(size=len(w)) / np.array(w)),
    "-log u / w": lambda w: np.argmin(-np.log(np.random.random(len(w))) / np.array(w)),
    "torch w / e": lambda w: (
        (torch.tensor(w) / torch.empty(len(w), dtype=torch.float64).exponential_()).argmax().item()
    ),
    "torch -log u": lambda w: (-torch.rand(len(w), dtype=torch.float64).log() / torch.tensor(w)).argmin().item(),
}


@pytest.mark.heavy
@settings(max_examples=30)
@given(weights, st.sampled_from(list(RACES)))
def test_random_races_are_won_in_proportion(law, w, way):
    found = law(lambda: int(RACES[way](w)))
    # 1 / w and w / e are exact in the race; quotients of whole numbers by torch and numpy are taken as they are
    assert [float(found[i]) for i in range(len(w))] == pytest.approx([x / sum(w) for x in w], rel=1e-14)
    assert sum(found.values()) == 1


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
