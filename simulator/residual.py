"""What a draft takes of the target, and what is left: in rationals, floats of numpy and tensors of torch alike.

`V` is the vocabulary size; rows have shape `(V,)`, or `(n.., V)` where many instances are meant at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.protocol import Vector

#: An exact zero: the number 0 would put a Python int among rationals.
_ZERO = np.array(fmpq(0), dtype=object)


def is_tensor(x: Any) -> bool:
    """Whether `x` is a torch tensor (torch itself is not imported)."""
    return hasattr(x, "new_tensor")


def positive_part(x: Vector) -> Vector:
    """`max(x, 0)` entry by entry, in the arithmetic of `x`."""
    if isinstance(x, np.ndarray):
        return np.maximum(x, _zero_like(x) if x.dtype == object else 0)
    return x.clamp(min=0)


def _zero_like(x: Vector) -> Any:
    """An exact zero of the kind that `x` holds."""
    first = x.item(0) if x.size else None
    return _ZERO if first is None or type(first) is fmpq else np.array(first * 0, dtype=object)


def excess(p: Vector, q: Vector, weight: Any = 1) -> Vector:
    """`(w p - q)+`, an array of its own."""
    if isinstance(weight, int) and weight == 1:
        rest = p - q
    else:
        rest = weight * p
        rest -= q
    if is_tensor(rest):
        return rest.clamp_(min=0)
    return positive_part(rest) if rest.dtype == object else np.maximum(rest, 0, out=rest)


def residual(p: Vector, q: Vector, otherwise: Vector | None = None) -> Vector:
    """Normalised `(p - q)+`: what is left of `p` once drafts from `q` had their chance.

    Where `(p - q)+` is zero nothing is ever rejected and the result is never drawn from; it is
    `otherwise` (by default `p`) then, so that no division by zero happens.
    """
    rest = excess(p, q)
    total = rest.sum()
    if total > 0:
        rest /= total
        return rest
    return p if otherwise is None else otherwise


def acceptance(p: Vector, q: Vector, token: int) -> Any:
    """`min(1, p/q)` at a drafted token; see `capped`."""
    return capped(p[token], q[token])


def capped(target: Any, mass: Any) -> Any:
    """`min(1, target / mass)` of a drafted token; where `mass = 0` it is 1 if `target > 0`, else 0.

    A drafted token has no mass only where a verifier is told another q. Engines that accept where `u < p/q`, as
    transformers, then accept it, too, except that `0/0` is no number and accepts nothing.
    """
    if target < mass:
        return target / mass
    return 1 if target > 0 else 0
