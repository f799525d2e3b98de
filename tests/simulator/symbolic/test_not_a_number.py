"""Lists and arrays that mix random numbers with NaN, infinite numbers and zeros: as the libraries treat floats.

Every function is followed, and sampled with the true generators; the law and the frequencies agree.
"""

import math
import random

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.symbolic import NotFollowed

nan = math.nan

#: Of a list `x` of two uniform numbers u and v among constants.
LISTS = ("[u, v, nan]", "[nan, u, 0.5, v]", "[u, inf, v, -inf]", "[0.25, u, -0.0, v, nan, nan]", "[v, u]", "[u, -0.0]")
#: Functions of a list, as Python text; the same text is followed in what makes arrays of it and in what does not.
NUMPY = (
    "np.argmax(x)", "np.argmin(x)", "np.max(x) < 0.5", "np.min(x) < 0.5", "np.argsort(x, kind='stable')",
    "np.sort(x) < 0.5", "np.maximum(x, 0.5) < 0.75", "np.minimum(0.5, x) < 0.25", "np.fmax(x, 0.5) < 0.75",
    "np.fmin(x, nan) < 0.5", "np.maximum.reduce(x) < 0.5", "np.fmin.reduce(x) < 0.5", "np.searchsorted(x[:1], 0.5)",
    "np.searchsorted([0.25, 0.5, nan], x)", "np.searchsorted([0.5, 0.25, 0.75], x)", "np.where(x, 1, 0)",
    "np.where([True, False], x[:2], 0.5) < 0.5", "np.isnan(x)", "np.isfinite(x)", "np.isinf(x)", "np.signbit(x)",
    "np.sign(x)", "np.rint(x)", "np.cumsum(x) < 0.75", "np.nancumsum(x) < 0.75", "np.less(x, 0.5)", "np.equal(x, x)",
    "np.not_equal(x, nan)", "np.nanmax(x) < 0.5", "np.nanmin(x) < 0.25", "np.nanargmax(x)", "np.nanargmin(x)",
    "np.nansum(x) < 0.75", "np.sum(x) < 0.75", "np.mean(x) < 0.25", "np.clip(x, 0.25, 0.5) < 0.375", "np.any(x)",
    "np.max(x, initial=0.5) < 0.75", "np.sum(x, initial=0.25) < 0.75", "np.ptp(x) < 0.5", "np.count_nonzero(x)",
    "np.digitize(x, [0.25, 0.5])", "np.digitize(x, [0.5, 0.25])", "np.nonzero(x)", "np.diff(x) < 0.25",
    "np.flip(x) < 0.5", "np.concatenate([x, [u]]) < 0.5", "np.stack([x, x])[1] < 0.5", "np.stack([u, v]) < 0.5",
    "np.argmax(np.concatenate([x, [nan]]))", "np.argmax(np.add(x, 0))", "np.argmax(np.full(2, u))",
    "np.argmax(np.where(np.isnan(x), -1, x))", "np.remainder(x, 0.25) < 0.125", "np.remainder(x, -inf) < 0",
    "np.argpartition(x, 0)[0]", "np.sort(np.partition(x, 1)[:2]) < 0.5", "np.argmax(np.asarray(x, np.float32))",
    "np.array(x)[np.array(x) < 0.5].sum() < 0.25", "np.mean(np.array([x, x]), axis=(0, 1)) < 0.25",
    "np.add.reduce(np.array([[x], [x]]), axis=(0, 1)) < 0.5", "np.argmax(x, keepdims=True).shape",
    "parted(np.array(x)) < 0.5", "np.array(x, int)[:1]",
    "[max(x) < 0.5, min(x) < 0.5, [each < 0.5 for each in sorted(x)]]",
)  # fmt: skip
TORCH = (
    "x.argmax()", "x.argmin()", "x.max() < 0.5", "x.min() < 0.5", "x.max(0).indices", "x.amin() < 0.5", "x.isnan()",
    "torch.argsort(x, stable=True)", "torch.argsort(x, descending=True, stable=True)", "x.sort().values < 0.5",
    "x.topk(2).values < 0.5", "x.topk(2, largest=False).indices", "torch.maximum(x, x.new_tensor(0.5)) < 0.75",
    "torch.fmax(x, x.new_tensor(0.5)) < 0.75", "torch.fmin(x, x.new_tensor(nan)) < 0.5", "x.clamp(0.25, 0.5) < 0.375",
    "torch.searchsorted(torch.tensor([0.25, 0.5, nan], dtype=torch.float64), x)", "torch.where(x < 0.5, 1, 0)",
    "torch.searchsorted(torch.tensor([0.5, 0.25, 0.75], dtype=torch.float64), x, right=True)", "x.signbit()",
    "torch.bucketize(x, torch.tensor([0.25, 0.5], dtype=torch.float64))", "x.isinf()", "x.isfinite()", "x.sign()",
    "x.round()", "x.cumsum(0) < 0.75", "x.eq(x)", "x.ne(nan)", "x.nonzero()", "x.flip(0) < 0.5", "x.bool()",
    "(x % 0.25) < 0.125", "torch.remainder(x, -inf) < 0", "torch.where(x.isnan(), -1.0, x).argmax()",
    "x.new_full((2,), u) < 0.5", "torch.stack([x, x]).sum((0, 1)) < 0.75", "x.prod() < 0.25",
)  # fmt: skip


def parted(array):
    """The smallest number, brought to the front in place."""
    array.partition(0)
    return array[0]


@pytest.mark.one_in(48)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", NUMPY)
def test_numpy_on_lists_of_random_numbers(agrees, text):
    for numbers in LISTS:
        agrees(f"(lambda x: {text})({numbers})", parted=parted)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("text", TORCH)
def test_torch_on_lists_of_random_numbers(agrees, text):
    torch = pytest.importorskip("torch")
    for numbers in LISTS:
        agrees(f"(lambda x: {text})(torch.tensor({numbers}, dtype=torch.float64))", torch=torch)


def test_what_numpy_makes_an_array_of_by_itself_is_refused_with_its_line(law):
    """A list within an operation: numpy compares objects there, and says nothing."""
    ones = np.ones(2)
    for function in (
        lambda: np.argmax(ones * [random.random(), nan]),
        lambda: np.argmax(ones < [random.random(), nan]),
        lambda: ones.dot([random.random(), 0.5]) < 0.5,
        lambda: np.linalg.norm([random.random(), 0.5]) < 0.5,
        lambda: np.ones(2, dtype=object).__setitem__(slice(None), [random.random(), 0.5]),
    ):
        with pytest.raises(NotFollowed, match=r"becomes an array within an operation.*test_not_a_number.py:\d+.*array"):
            law(function)


def test_searching_by_the_method_of_an_array_is_exact_or_refused(law):
    cumulative = np.array([0.25, 0.75, 1.0])
    for side in ("left", "right"):
        found = law(lambda side=side: cumulative.searchsorted(random.random(), side))
        assert {key: str(mass) for key, mass in found.items()} == {0: "1/4", 1: "1/2", 2: "1/4"}
    with pytest.raises(NotFollowed, match="searchsorted among NaN"):
        law(lambda: np.array([0.25, nan]).searchsorted(random.random(), "right"))


@pytest.mark.parametrize("numbers", ["[nan, u, v]", "[u, nan, v]"])
def test_objects_stay_objects_where_the_author_says_so(agrees, numbers):
    """An array of objects is compared by Python's rules in the true run too: NaN wins only where it stands first."""
    agrees(f"np.argmax(np.array({numbers}, dtype=object))")


def test_a_wrong_call_raises_what_numpy_raises(law):
    """An error of the audited code, not a refusal: the audit reports it as the function's own."""
    for function, error in (
        (lambda: np.sum([random.random()], axis=3), ValueError),
        (lambda: np.stack([np.array([random.random()]), np.ones(2)]), ValueError),
        (lambda: np.argmax([random.random()], wrong=1), TypeError),
        (lambda: np.digitize([random.random()], [0.5, 0.25, 0.75]), ValueError),
    ):
        with pytest.raises(error) as raised:
            law(function)
        assert not isinstance(raised.value, NotFollowed)


def test_the_comparison_sees_a_wrong_law(agrees):
    with pytest.raises(AssertionError):
        agrees("np.argmax([u, v, nan])", {0: fmpq(1, 2), 1: fmpq(1, 2)})
