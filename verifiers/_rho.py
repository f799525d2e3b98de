"""The number `rho` of K-SEQ, which divides acceptance: estimated in floats, decided in the arithmetic of the rows."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import dots, is_tensor, minimum, power, sums, token_by_token

#: Bisection would halve an interval of length `k - 1` this often, less often where the numbers are no finer.
HALVINGS = 24
#: Newton's method looks at the vectors this often, with so many steps for each look: enough for all but some in a
#: thousand of the hardest rows.
STEPS = (2, 1, 1, 1)


def smallest_rho(p: Vector, q: Vector, k: int) -> Any:
    """`rho`, shape `(n.., 1)`: the smallest allowed of the `2^HALVINGS + 1` (or fewer) evenly spaced numbers in [1, k].

    Where one `rho` is allowed so is every larger one: the result is the grid point that is allowed while the point
    before it is not. A root in floats gives the first guess; where that is wrong, bisection decides.
    """
    one = p[..., :1] * 0 + 1
    if k == 1:
        return one
    p, q = token_by_token(p), token_by_token(q)
    plain = _suffices(sums(minimum(p, q)), k, one)
    if plain.all():
        return one
    points = 2 ** _halvings(one)
    near = (_root(_floats(p), _floats(q), k) - 1) * (points / (k - 1))
    near = _like(near.round().clip(1, points - 1), one)  # the grid point to find is this one or the next
    fits = _allowed(p, q, k, _point(near, one, k))
    beside = near + (1 - 2 * fits)
    sure = fits + _allowed(p, q, k, _point(beside, one, k)) == 1
    rho = _point(near + (1 - fits), one, k)
    if plain.any():
        rho = rho * (1 - plain) + plain
    missed = ((plain == 0) & ~sure)[..., 0]
    if missed.any():
        rho[missed] = _bisected(p[missed], q[missed], k)
    return rho


def _bisected(p: Vector, q: Vector, k: int) -> Any:
    """The upper end of the bisections of [1, k], shape `(n.., 1)`."""
    low = sums(p * 0) + 1
    high = low * k
    for _ in range(_halvings(low)):
        middle = (low + high) / 2
        fits = _allowed(p, q, k, middle)
        low, high = low * fits + middle * (1 - fits), middle * fits + high * (1 - fits)
    return high


def _allowed(p: Vector, q: Vector, k: int, rho: Any) -> Any:
    """1 where `1 - (1 - beta)^k <= rho beta`, else 0."""
    return _suffices(sums(minimum(p / rho, q)), k, rho)


def _suffices(beta: Any, k: int, rho: Any) -> Any:
    return (1 - power(1 - beta, k) <= rho * beta) + beta * 0  # a whole number would widen a low precision


def _point(index: Any, one: Any, k: int) -> Any:
    """The grid point of this number, in the arithmetic of `one`."""
    return one + one * index / 2 ** _halvings(one) * (k - 1)


def _halvings(one: Any) -> int:
    """`HALVINGS`, or the bits that a low precision has after the leading one."""
    if one.dtype == object:
        return HALVINGS
    if is_tensor(one):
        return min(HALVINGS, round(-log2(torch.finfo(one.dtype).eps)))
    return min(HALVINGS, round(-log2(np.finfo(one.dtype).eps)))


def _floats(x: Vector) -> Vector:
    """The same numbers in float64."""
    return x.detach().double() if is_tensor(x) else x.astype(np.float64, copy=False)


def _single(x: Vector) -> Vector:
    """The same numbers in single precision: half as many bytes to read."""
    return x.float() if is_tensor(x) else x.astype(np.float32)


def _like(index: Any, one: Any) -> Any:
    """Whole numbers held as floats, as something that combines with `one`."""
    if is_tensor(one):
        return index.to(one.dtype)
    return index.astype(np.int64).astype(object) if one.dtype == object else index.astype(one.dtype, copy=False)


def _root(p: Vector, q: Vector, k: int) -> Any:
    """About the `rho` in [1, k] with `1 - (1 - beta)^k = rho beta`, by Newton's method, shape `(n.., 1)`.

    Between two ratios `p/q` it is `rho beta = a + b rho`, so that steps on columns are made for each look at `p, q`. It
    starts between 1, the root where `q = p`, and `k`, that of disjoint rows. Only the last step needs all digits.
    """
    near_p, near_q = _single(p), _single(q)
    rho = k - (k - 1) * sums(minimum(near_p, near_q))
    for steps in STEPS:
        below = _single(near_p < near_q * rho)
        a, b = dots(near_p, below), 1 - dots(near_q, below)
        for _ in range(steps):
            rho = _step(rho, a + b * rho, b, k)
    rho = _floats(rho)
    return _step(rho, sums(minimum(p, q * rho)), _floats(b), k)


def _step(rho: Any, total: Any, b: Any, k: int) -> Any:
    """One step of Newton's method, where `total` is `rho beta` and `b` is its slope."""
    beta = total / rho
    missed = 1 - beta
    most = power(missed, k - 1)
    slope = b + k * most * (beta - b) / rho
    return (rho - (total - 1 + most * missed) / slope.clip(1e-9)).clip(1, k)  # a slope of 0 leads to 1 or k
