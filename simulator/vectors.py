"""Small pure functions on vectors, written with operations that numpy, exact rationals and torch share.

`V` is the vocabulary size; every vector has shape `(V,)`.
"""

from __future__ import annotations

from typing import Any

from simulator.protocol import Vector


def positive_part(x: Vector) -> Vector:
    """`max(x, 0)` entry by entry (a product, so that zeros stay in the arithmetic of `x`)."""
    return x * (x > 0)


def residual(p: Vector, q: Vector) -> Vector:
    """Normalised `(p - q)+`: what is left of `p` once drafts from `q` had their chance.

    Where `(p - q)+` is zero nothing is ever rejected and the result is never drawn from; it is
    `p` then, so that no division by zero happens.
    """
    excess = positive_part(p - q)
    total = excess.sum()
    return excess / total if total > 0 else p


def without(q: Vector, token: int) -> Vector:
    """`q` without `token`, renormalised; `q` unchanged if nothing else is left."""
    rest = q * 1
    rest[token] = q[token] * 0
    total = rest.sum()
    return rest / total if total > 0 else q


def acceptance(p: Vector, q: Vector, token: int) -> Any:
    """`min(1, p/q)` at a drafted token, where `q > 0`."""
    return p[token] / q[token] if p[token] < q[token] else 1
