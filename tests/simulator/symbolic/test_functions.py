"""Functions of numpy and torch against themselves: their law on a uniform number is what they give on midpoints.

Each expression changes at multiples of 1/64 of the uniform number only, so that the shares of its values on the 64
midpoints are its law, exactly.
"""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

SIDE = 64
#: x lies in (-2, 2), h is zero with probability 1/2, u is the uniform number itself; each has one element.
NUMPY = [
    "np.sign(x)", "np.signbit(x)", "np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.rint(x)", "np.round(x)",
    "np.around(x)", "np.abs(x) < 1", "abs(x) < 1", "np.fabs(x) < 1", "np.negative(x) < 1", "np.positive(x) < 1",
    "np.isfinite(x)", "np.isnan(x)", "np.isinf(x)", "np.logical_not(h)", "np.any(h)", "np.all(h)", "h.any()", "h.all()",
    "np.count_nonzero(h)", "np.nonzero(h)[0]", "np.where(h)[0]", "np.where(h, 3.0, 4.0)", "np.where(h > 0, x, -1) < 1",
    "h.astype(bool)", "x.astype(int)", "x.astype(np.int8)", "x.astype(np.float32) < 1", "x % 1 < 0.5", "x // 0.5",
    "np.remainder(x, 0.5) < 0.25", "np.mod(x, 1) < 0.25", "np.floor_divide(x, 1)",
    "np.clip(x, -1, 1) == 1", "np.clip(x, -1, 1) == -1", "x.clip(-0.5, 0.5) < 0.25", "x.clip(max=0.5) == 0.5",
    "x.clip(min=0.5) == 0.5", "np.clip(x, None, 1) == 1", "np.array([0.75, -3.0]).clip(x[0], 1) < 0.875",
    "np.array([0.75, -3.0]).clip(-1, x[0]) < 0.5", "np.minimum(x, 1) == 1", "np.maximum(x, 1) == 1",
    "np.fmin(x, 1) < 0.5", "np.fmax(x, 1) < 1.5", "np.max(x) < 1", "np.min(np.append(x, 1.0)) < 1",
    "np.argmax(np.append(x, 1.0))", "np.argmin(np.append(x, 1.0))", "np.argsort(np.append(x, 1.0))",
    "np.sort(np.append(x, [1.0, -1.0]))[1] == 1", "np.searchsorted([-1.0, 0.0, 1.0], x)",
    "np.searchsorted([-1.0, 0.0, 1.0], x, side='right')", "np.digitize(x, [-1.0, 0.0, 1.0])",
    "np.digitize(x, [-1.0, 0.0, 1.0], right=True)", "np.cumsum(np.append(x, 1.0)) < 1",
    "np.mean(np.append(x, 1.0)) < 1",
    "1 / h < 2", "np.reciprocal(h) == np.inf", "np.sqrt(h) < 0.5", "h ** -0.5 > 2", "np.isnan(0.0 / h)", "-1 / h < -1",
    "np.divide(3.0, h) == np.inf", "np.log(h) == -np.inf", "1 / np.minimum(u, 0.5) == 2",
    "np.reciprocal(u) < 4", "np.square(u) < 0.25", "np.sqrt(u) < 0.5", "np.power(u, 2) < 0.25", "np.power(u, -2) < 16",
    "np.float_power(u, 2) < 0.25", "np.log2(u) < -2", "np.expm1(np.log1p(u)) < 0.25", "1 / u < 4", "u ** 0.5 < 0.25",
    "np.equal(x, 0)", "np.not_equal(x, 0)", "np.less(x, 1)", "np.greater(x, 1)", "np.less_equal(x, 1)",
    "np.greater_equal(x, 1)", "x == 0", "x != 0", "np.subtract(1, x) < 0.5", "np.dot(x, [2.0]) < 1", "(x @ [2.0]) < 1",
    "np.concatenate([x, -x]) < 1", "np.flip(np.append(x, 1.0)) < 0.5", "np.outer(x, [1.0, -1.0]) < 1", "x[::-1] < 1",
    "np.ptp(np.append(x, 1.0)) < 1", "np.diff(np.append(x, 1.0)) < 1",
]  # fmt: skip
TORCH = [
    "torch.sign(x)", "torch.signbit(x)", "x.floor()", "x.ceil()", "x.trunc()", "x.round()", "x.abs() < 1",
    "x.neg() < 1",
    "torch.positive(x) < 1", "x.isfinite()", "x.isnan()", "x.isinf()", "torch.logical_not(h)", "h.any()", "h.all()",
    "h.bool()", "h.to(torch.bool)", "x.long()", "x.int()", "x.to(torch.int64)", "x.float() < 1", "x.remainder(1) < 0.5",
    "x % 0.5 < 0.25", "x // 0.5", "torch.div(x, 0.5, rounding_mode='floor')",
    "torch.div(x, 0.5, rounding_mode='trunc')",
    "x.clamp(-1, 1) == 1", "x.clamp(-1, 1) == -1", "x.clamp(max=0.5) == 0.5", "x.clamp(min=0.5) == 0.5",
    "x.clamp_min(0.5) < 1", "x.clamp_max(0.5) < 0.25", "torch.where(h > 0, x, -1.0) < 1",
    "torch.where(h > 0, 3.0, 4.0)",
    "torch.cat([x, -x]).max(0).values < 1", "torch.cat([x, -x]).min(0).values < -1", "torch.cat([x, -x]).amax() < 1",
    "torch.cat([x, -x]).amin(0) < -1", "torch.cat([x, one]).argmax()", "torch.cat([x, one]).argmin()",
    "torch.cat([x, one]).sort().indices", "torch.cat([x, one]).sort(descending=True).indices",
    "torch.cat([x, one]).topk(1).indices", "torch.cat([x, one]).topk(1, largest=False).indices",
    "torch.cat([x, one]).cumsum(0) < 1", "torch.cat([x, one]).sum(0) < 1", "torch.cat([x, one]).mean(0) < 1",
    "torch.searchsorted(torch.tensor([-1.0, 0, 1], dtype=torch.float64), x)",
    "torch.searchsorted(torch.tensor([-1.0, 0, 1], dtype=torch.float64), x, right=True)",
    "torch.bucketize(x, torch.tensor([-1.0, 0, 1], dtype=torch.float64))", "1 / h < 2",
    "h.reciprocal() == torch.inf", "h.sqrt() < 0.5", "h ** -0.5 > 2", "(0.0 / h).isnan()", "-1 / h < -1",
    "torch.div(3.0, h).isinf()", "h.log() == -torch.inf", "1 / u.clamp(max=0.5) == 2",
    "u.reciprocal() < 4", "u.square() < 0.25",
    "u.sqrt() < 0.5", "u.pow(2) < 0.25", "u.pow(-2) < 16", "u.log2() < -2", "u.log1p().expm1() < 0.25", "1 / u < 4",
    "u.rsqrt() < 2", "x == 0", "x != 0", "x.lt(1)", "x.le(1)", "x.gt(1)", "x.ge(1)", "torch.rsub(x, 1) < 0.5",
    "torch.rsub(x, 1, alpha=2) < 0.5", "torch.sub(one, x, alpha=2) < 0.5", "torch.add(one, x, alpha=2) < 0.5",
    "x.mul(2).add(1) < 1", "x.sum() < 1", "x.sum(0, keepdim=True) < 1", "x.dot(2 * one) < 1", "x.flip(0) < 1",
    "torch.full((2,), x.item(), dtype=torch.float64) < 1", "torch.full(size=(1, 2), fill_value=x.item()) < 1",
    "torch.tensor([x.item(), 1.0]).argmax()", "torch.as_tensor(x.tolist()) < 1", "x.new_tensor([x.item()]) < 1",
    "x[None] @ one[:, None] < 1", "x.repeat_interleave(2) < 1", "x.masked_fill(torch.tensor([True]), 3.0) < 1",
    "x.expand(2)[1:] < 1",
]  # fmt: skip


def midpoints(expression: str, names: dict[str, Any], make: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for i in range(SIDE):
        u = make([(i + 0.5) / SIDE])
        with np.errstate(all="ignore"):
            found[listed(eval(expression, names | given(u)))] += 1
    return found


def given(u: Any) -> dict[str, Any]:
    x = 4 * u - 2
    return {"u": u, "x": x, "h": np.maximum(x, 0) if isinstance(x, np.ndarray) else x.clamp(min=0)}


def listed(value: Any) -> Any:
    """Nested tuples of Python numbers."""
    if isinstance(value, (list, tuple)):
        return tuple(listed(each) for each in value)
    return listed(value.tolist()) if hasattr(value, "tolist") else value


def assert_agrees(law: Any, expression: str, names: dict[str, Any], make: Any, draw: Any) -> None:
    def function() -> Any:
        with np.errstate(all="ignore"):  # a division by zero is as loud as on numbers
            return listed(eval(expression, names | given(draw())))

    found = law(function)
    wanted = midpoints(expression, names, make)
    # square roots and logarithms of thresholds are kept to 256 bits
    assert {key: float(mass) for key, mass in found.items()} == {
        key: float(Fraction(count, SIDE)) for key, count in wanted.items()
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize("expression", NUMPY)
def test_numpy(law, expression):
    assert_agrees(law, expression, {"np": np}, np.array, lambda: np.random.random(1))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("expression", TORCH)
def test_torch(law, expression):
    one = torch.ones(1, dtype=torch.float64)

    def make(values):
        return torch.tensor(values, dtype=torch.float64)

    assert_agrees(law, expression, {"torch": torch, "one": one}, make, lambda: torch.rand(1, dtype=torch.float64))
