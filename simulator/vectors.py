"""Small pure functions on vectors, written with operations that numpy, exact rationals and torch share.

`V` is the vocabulary size; vectors have shape `(V,)`, or `(n.., V)` where many instances are meant at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.protocol import Vector


def positive_part(x: Vector) -> Vector:
    """`max(x, 0)` entry by entry (a product, so that zeros stay in the arithmetic of `x`)."""
    return x * (x > 0)


def residual(p: Vector, q: Vector, otherwise: Vector | None = None) -> Vector:
    """Normalised `(p - q)+`: what is left of `p` once drafts from `q` had their chance.

    Where `(p - q)+` is zero nothing is ever rejected and the result is never drawn from; it is
    `otherwise` (by default `p`) then, so that no division by zero happens.
    """
    excess = positive_part(p - q)
    total = excess.sum()
    if total > 0:
        return excess / total
    return p if otherwise is None else otherwise


def sums(x: Vector) -> Any:
    """The sum over the vocabulary, kept as a column: shape `(n.., 1)`."""
    return x.sum(-1, keepdims=True)


def normalised(x: Vector, otherwise: Vector) -> Vector:
    """`x` divided by its sum, `otherwise` where that is zero; shape `(n.., V)`."""
    total = sums(x)
    nothing = (total <= 0) * 1
    return x / (total + nothing) + otherwise * nothing


def residuals(p: Vector, q: Vector) -> Vector:
    """`residual` for many instances at once, shape `(n.., V)`."""
    return normalised(positive_part(p - q), p)


def one_hot(like: Vector, token: int) -> Vector:
    """The point mass at `token`, in the shape and arithmetic of `like`."""
    point = like * 0
    point[..., token] = point[..., token] + 1
    return point


def acceptances(p: Vector, q: Vector, token: int) -> Any:
    """`acceptance` for many instances at once, as a column: shape `(n.., 1)`."""
    return (minimum(p, q) / (q + (q <= 0)))[..., token : token + 1]


def stacked(function: Callable[..., Any], *vectors: Vector) -> Any:
    """`function` of `(V,)` vectors applied to every instance of `(n.., V)` ones, one after the other."""
    if vectors[0].ndim == 1:
        return function(*vectors)
    rows = [stacked(function, *parts) for parts in zip(*vectors, strict=True)]
    if hasattr(vectors[0], "new_tensor"):
        import torch  # noqa: PLC0415 - only where a tensor came in

        return torch.stack([torch.as_tensor(row) for row in rows])
    return np.array(rows, dtype=vectors[0].dtype)


def without(q: Vector, token: int) -> Vector:
    """`q` without `token`, renormalised; `q` unchanged if nothing else is left."""
    rest = q * 1
    rest[token] = q[token] * 0
    total = rest.sum()
    return rest / total if total > 0 else q


def acceptance(p: Vector, q: Vector, token: int) -> Any:
    """`min(1, p/q)` at a drafted token, where `q > 0`."""
    return p[token] / q[token] if p[token] < q[token] else 1


def minimum(a: Vector, b: Vector) -> Vector:
    """`min(a, b)` entry by entry."""
    return a - positive_part(a - b)


def ascending_ratio(p: Vector, q: Vector) -> list[int]:
    """The tokens by `p/q`, smallest first, ties by token number; tokens with `q = 0` count as if `q` were 1."""
    ratio = p / (q + (q == 0))
    return [int(token) for token in ratio.argsort(stable=True).tolist()]


def top_tokens(q: Vector, count: int) -> tuple[int, ...]:
    """The `count` most probable tokens, the most probable first, ties to the smaller number."""
    return tuple(int(token) for token in (-q).argsort(stable=True).tolist()[:count])
