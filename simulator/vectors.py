"""Small pure functions on vectors, written with operations that numpy, exact rationals and torch share.

`V` is the vocabulary size; vectors have shape `(V,)`, or `(n.., V)` where many instances are meant at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise, repeat
from math import comb
from operator import mul
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Vector
from draftproof.simulator.residual import is_tensor, positive_part

#: Up to this vocabulary size comparing all pairs of tokens is faster than sorting, where there are many instances.
IN_PAIRS = 16

#: Rows on the host of so many tokens are sorted by digits: those of the upper half of a float64, from 1/256 to 256.
LONG, _LEAST_KEY = 4096, (1023 - 8) << 20

#: float64 quotients are ranked by their first 34 binary digits: two that are equal as rationals rarely share all 53.
_FIRST_DIGITS = 2.0**19 + 1
#: Quotients that differ by more than this share rank alike before and after they are rounded.
CLOSE = 2.0**-30

#: Larger quotients are ranked as equal, so that nothing overflows.
_LARGEST_QUOTIENT = 2.0**900

#: The type of torch's device whose memory numpy can read.
HOST = "cpu"


def on_host(x: Any) -> bool:
    """Whether it is a tensor of floats without gradient that numpy reads where it is, several times faster."""
    if not is_tensor(x) or x.device.type != HOST or x.requires_grad:
        return False
    return x.dtype in (torch.float32, torch.float64)


def sums(x: Vector) -> Any:
    """The sum over the vocabulary, kept as a column: shape `(n.., 1)`."""
    return x.sum(-1, keepdims=True)


def dots(x: Vector, y: Vector) -> Any:
    """`sums(x * y)`, for floats without the products in between."""
    if isinstance(x, np.ndarray) and x.dtype != object:
        return np.einsum("...v,...v->...", x, y)[..., None]
    return sums(x * y)


def normalised(x: Vector, otherwise: Vector) -> Vector:
    """`x` divided by its sum, `otherwise` where that is zero; shape `(n.., V)`."""
    total = sums(x)
    if (total > 0).all():
        return x / total
    nothing = total <= 0  # kept as truth values: whole numbers would widen a low precision
    return x / (total + nothing) + otherwise * nothing


def residuals(p: Vector, q: Vector) -> Vector:
    """`residual` for many instances at once, shape `(n.., V)`."""
    return normalised(positive_part(p - q), p)


def entries(x: Vector) -> list[Any]:
    """The numbers of a vector one by one, in its arithmetic: Python's floats stand for float64 only."""
    return x.tolist() if str(x.dtype).removeprefix("torch.") in ("float64", "object") else list(x)


def scalar(value: Any) -> Any:
    """One number of a vector, in its arithmetic; float64 of torch as Python's, which are quicker to compute with."""
    return value.item() if is_tensor(value) and _is_float64(value) else value


def one_hot(like: Vector, token: int) -> Vector:
    """The point mass at `token`, in the shape and arithmetic of `like`."""
    point = like * 0
    point[..., token] = point[..., token] + 1
    return point


def acceptances(p: Vector, q: Vector, token: int) -> Any:
    """`acceptance` for many instances at once, as a column: shape `(n.., 1)`."""
    p, q = p[..., token : token + 1], q[..., token : token + 1]
    nothing = q <= 0
    return (minimum(p, q) + nothing * (p > 0)) / (q + nothing)


def stacked(function: Callable[..., Any], *vectors: Vector) -> Any:
    """`function` of `(V,)` vectors applied to every instance of `(n.., V)` ones, one after the other."""
    if vectors[0].ndim == 1:
        return function(*vectors)
    rows = [stacked(function, *parts) for parts in zip(*vectors, strict=True)]
    if is_tensor(vectors[0]):
        return torch.stack([torch.as_tensor(row) for row in rows])
    return np.array(rows, dtype=vectors[0].dtype)


def stacked_layers(function: Callable[..., Any], *vectors: Vector) -> Any:
    """`stacked` for results of shape `(m, V)`: theirs is the first axis, shape `(m, n.., V)`."""
    results = stacked(function, *vectors)
    return results.movedim(-2, 0) if is_tensor(results) else np.moveaxis(results, -2, 0)


def without(q: Vector, token: int) -> Vector:
    """`q` without `token`, renormalised; `q` unchanged if nothing else is left."""
    rest = q * 1
    rest[token] = q[token] * 0
    total = rest.sum()
    return rest / total if total > 0 else q


def minimum(a: Vector, b: Vector) -> Vector:
    """`min(a, b)` entry by entry."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) else a.minimum(b)


def power(x: Any, k: int) -> Any:
    """`x` to a whole number `k >= 0`, by products: several times faster than `**` on floats."""
    result = x if k else x * 0 + 1
    for _ in range(k - 1):
        result = result * x
    return result


def polynomial(x: Vector, coefficients: Mapping[int, Any]) -> Any:
    """The sum over `k` of `coefficients[k] x^k`, entry by entry, by Horner's rule; exponents are not negative."""
    highest = max(coefficients)
    result = coefficients[highest]
    for k in range(highest - 1, -1, -1):
        result = result * x
        if k in coefficients:
            result = result + coefficients[k]
    return result


def counted(q: Vector, k: int) -> list[Vector]:
    """The law of the number of `k` i.i.d. drafts from `q` that equal each token: `k + 1` arrays of the shape of `q`."""
    if k == 0:
        return [q * 0 + 1]
    hits, misses = (list(accumulate(repeat(share, k), mul)) for share in (q, 1 - q))
    some = [comb(k, m) * hits[m - 1] * misses[k - m - 1] for m in range(1, k)]
    return [misses[-1], *some, hits[-1]]


def times(polynomial: Sequence[Any], constant: Any, linear: Any) -> list[Any]:
    """The coefficients of `polynomial (constant + linear z)`, lowest first, entry by entry."""
    product = [constant * polynomial[0]]
    for low, high in pairwise(polynomial):
        product.append(constant * high + linear * low)
    return [*product, linear * polynomial[-1]]


def layers(parts: Sequence[Vector]) -> Any:
    """Arrays of one shape as one array, with a new first axis."""
    if is_tensor(parts[0]):
        return torch.stack(list(parts))
    return np.stack(parts)


def joined(rows: Sequence[Vector]) -> Vector:
    """Vectors one after the other, as one."""
    if len(rows) == 1:
        return rows[0]
    return torch.cat(list(rows)) if is_tensor(rows[0]) else np.concatenate(rows)


def token_by_token(x: Vector) -> Vector:
    """`x`, stored one token after the other if there are more instances than tokens.

    The numbers are the same. Sums over the vocabulary and products with a column then run along the instances, which
    numpy does several times faster.
    """
    return np.asfortranarray(x) if many_floats(x) else x


def many_floats(x: Vector) -> bool:
    """Whether it is a numpy array of floats with more instances than tokens."""
    return isinstance(x, np.ndarray) and x.dtype != object and x.size > x.shape[-1] ** 2


def one_draft_law(q: Vector, accepted: Vector, correction: Vector, k: int) -> Any:
    """The child law of a verifier that looks at the first draft only, shape `(2, n.., V)`.

    accepted: the probability that a token is drafted and accepted; correction: the law of what replaces a rejected one;
    both of shape `(n.., V)`. Raises `InvalidInput` unless `k = 1`.
    """
    if k != 1:
        raise InvalidInput(f"a single-path verifier looks at the first draft only: its child law needs k = 1, not {k}")
    return layers([sums(q - accepted) * correction, accepted])


def ascending_ratio(p: Vector, q: Vector) -> list[int]:
    """The tokens by `ranked_ratio`, smallest first, ties by token number."""
    return [int(token) for token in ranked_ratio(p, q).argsort(stable=True).tolist()]


def ranked_ratio(p: Vector, q: Vector) -> Vector:
    """`p/q` as tokens are ranked by it, shape `(n.., V)`; tokens with `q = 0` count as if `q` were 1.

    In float64 it is rounded to 34 binary digits, so that quotients which are equal as rationals are equal here. For
    rows in multiples of `1/D`, `D <= 2^16`, floats then rank as rationals do: two different quotients differ by at
    least `1/D^2` of their size, and none lies close enough to where rounding turns.
    """
    ratio = p / (q + (q == 0))
    if not _is_float64(ratio):
        return ratio
    ratio = ratio.clip(max=_LARGEST_QUOTIENT)
    above = ratio * _FIRST_DIGITS
    rest = above - ratio
    return np.subtract(above, rest, out=rest) if isinstance(rest, np.ndarray) else above - rest


def _is_float64(x: Vector) -> bool:
    return bool(x.dtype == (torch.float64 if is_tensor(x) else np.float64))


def top_tokens(q: Vector, count: int) -> tuple[int, ...]:
    """The `count` most probable tokens, the most probable first, ties to the smaller number."""
    if not 0 < count < len(q) // 16 or q.dtype == object:
        return tuple((-q).argsort(stable=True)[:count].tolist())
    if on_host(q):
        return top_tokens(q.numpy(), count)
    if is_tensor(q):
        largest = (q >= q.topk(count).values[-1]).nonzero()[:, 0]
    else:
        parts = np.maximum.reduceat(q, np.arange(0, len(q), min(len(q) // count, 256)))
        largest = np.flatnonzero(q >= np.partition(parts, -count)[-count])  # so many parts have a token that large
    return tuple(largest[(-q[largest]).argsort(stable=True)[:count]].tolist())


def mass_below(p: Vector, q: Vector) -> Vector:
    """For each token the `q`-mass of the tokens that `ascending_ratio` puts before it, shape `(n.., V)`."""
    if on_host(p) and on_host(q):
        return torch.from_numpy(mass_below(p.numpy(), q.numpy()))
    ratio = ranked_ratio(p, q)
    if q.shape[-1] <= IN_PAIRS and many_floats(q):
        return _mass_below_in_pairs(ratio, q)
    if is_tensor(q):
        order = ratio.argsort(stable=True)
        ranked = q.gather(-1, order)
        return (q * 0).scatter(-1, order, ranked.cumsum(-1) - ranked)
    order = ascending(ratio)
    below = np.empty_like(q)
    if q.ndim == 1:
        ranked = q[order]
        below[order] = ranked.cumsum() - ranked
        return below
    ranked = np.take_along_axis(q, order, axis=-1)
    np.put_along_axis(below, order, ranked.cumsum(axis=-1) - ranked, axis=-1)
    return below


def ascending(ratio: Any) -> Any:
    """`argsort`, ties by number; a long row of floats is sorted by digits, in a fraction of the time."""
    if ratio.ndim > 1 or len(ratio) < LONG or ratio.dtype == object:
        return ratio.argsort(stable=True)
    return _ascending_by_digits(ratio)


def _ascending_by_digits(ratio: Any) -> Any:
    """`ascending` of floats that are not negative: by 24 binary digits, and where those are equal by the floats."""
    keys = (ratio.astype(np.float64, copy=False).view(np.int64) >> 32).astype(np.int32)
    keys -= _LEAST_KEY
    np.minimum(np.maximum(keys, 0, out=keys), 2**24 - 1, out=keys)
    order = keys.astype(np.uint8).argsort(kind="stable")
    order = order[(keys >> 8).astype(np.uint16)[order].argsort(kind="stable")]
    same = np.diff(keys[order]) == 0
    places = np.flatnonzero(np.append(same, False) | np.append(False, same))
    tokens = order[places]
    order[places] = tokens[ratio[tokens].argsort(kind="stable")]
    return order


def mass_before(p: Vector, q: Vector, token: int) -> Any:
    """`mass_below` of one token, without sorting; p, q: shape `(V,)`."""
    if on_host(p) and on_host(q):
        return q.new_tensor(mass_before(p.numpy(), q.numpy(), token))
    if not is_tensor(q) and len(q) >= LONG and _is_float64(q):
        return _mass_before_in_long(p, q, token)
    ratio = ranked_ratio(p, q)
    one = ratio[token]
    return (q * (ratio < one)).sum() + q[:token][ratio[:token] == one].sum()


def _mass_before_in_long(p: Any, q: Any, token: int) -> Any:
    """`mass_before` in float64, where only quotients close to that of the token are rounded to rank them."""
    one = ranked_ratio(p[token : token + 1], q[token : token + 1])[0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # tokens with q = 0 have no mass
        ratio = p / q
    below = ratio < one * (1 - CLOSE)
    close = np.flatnonzero(below != (ratio <= one * (1 + CLOSE)))
    ranked = ranked_ratio(p[close], q[close])
    before = (ranked < one) | ((ranked == one) & (close < token))
    return (q * below).sum() + q[close][before].sum()


def _mass_below_in_pairs(ratio: Vector, q: Vector) -> Vector:
    """`mass_below` token by token: each adds its mass to those that come after it."""
    ratio, q = token_by_token(ratio), token_by_token(q)
    below = q * 0
    for token in range(q.shape[-1]):
        one, mass = ratio[..., token : token + 1], q[..., token : token + 1]
        below[..., :token] += mass * (one < ratio[..., :token])
        below[..., token + 1 :] += mass * (one <= ratio[..., token + 1 :])
    return below
