"""K-SEQ: try the children in order, each accepted a little less readily, so that all of them count.

[sun2023spectr], algorithm 3 (K-SEQ). At each node with drafts `X1..Xk`:
1. With `beta(rho) = sum min(p/rho, q)` choose `rho` in `[1, k]` with `1 - (1 - beta)^k <= rho beta`.
2. Try `X1..Xk` in order; accept with probability `min(1, p/(rho q))`.
3. When all are rejected draw from normalised `p - min(p/rho, q) (1 - (1 - beta)^k)/beta` (from `p` where `beta = 0`).

The smallest such `rho` accepts most. Any larger one up to `k` is just as lossless, so the smallest one of a grid is
taken that is allowed: of the fractions that divide [1, k] into 2^24 equal parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, ClassVar

import numpy as np

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.structures import TopDown
from simulator.vectors import (
    acceptances,
    dots,
    is_tensor,
    layers,
    minimum,
    normalised,
    one_hot,
    positive_part,
    power,
    sums,
    times,
    token_by_token,
)
from verifiers._memo import memoised
from verifiers._top_down import acceptance_rate, walk

#: Bisection would halve an interval of length `k - 1` this often, less often where the numbers are no finer.
HALVINGS = 24
#: Newton's method looks at the vectors this often, with so many steps for each look: enough for all but some in a
#: thousand of the hardest rows.
STEPS = (2, 1, 1, 1)


@dataclass(frozen=True)
class SpecTr:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="spectr",
        title="K-SEQ (SpecTr)",
        source=Source("sun2023spectr", "algorithm 3, K-SEQ"),
        lossless_for=("delayed", "adaptive"),
        departs="rho is rounded up to a fraction, which keeps the output exact and costs next to nothing.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)

    acceptance_rate = acceptance_rate

    @property
    def structure(self) -> TopDown:
        """See `TopDown`."""
        return TopDown(branch=branch, child_law=child_law, last_child_law=last_child_law)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`."""
    scaled, rest, _ = pieces(p, q, len(drafted))
    law: Any = 0
    left: Any = 1
    for token in drafted:
        accepted = acceptances(scaled, q, token)
        law = law + left * accepted * one_hot(p, token)
        left = left * (1 - accepted)
    return law + left * rest


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    With `s = min(p/rho, q)` and `z` for every draft that equals `y`, a rejected draft has the factor
    `F = sum (q - s) - (q - s)(y) + (q - s)(y) z`, an accepted one `s(y) z`, a later one `G = 1 - q(y) + q(y) z`:
    `sum over j of F^j s z G^(k - 1 - j) + F^k res`.
    """
    p, q = token_by_token(p), token_by_token(q)
    scaled, rest, _ = pieces(p, q, k)
    hit = q - scaled
    missed, others = sums(hit) - hit, 1 - q
    law, later = [rest], [scaled]
    for left in range(k - 1, -1, -1):  # the last draft first
        law = times(law, missed, hit)
        law = [law[0], *(before + accepted for before, accepted in zip(law[1:], later, strict=True))]
        if left:
            later = times(later, others, q)
    return layers(law)


def last_child_law(p: Vector, q: Vector, k: int) -> tuple[Vector, Vector]:
    """`child_law` at `m = 0`, and its sum over all other `m`; see `TopDown`.

    It is what `child_law` says at `z = 0`, and the difference to that at `z = 1`, where `F = sum (q - s)`, `G = 1`.
    """
    p, q = token_by_token(p), token_by_token(q)
    scaled, rest, _ = pieces(p, q, k)
    hit = q - scaled
    rejected = sums(hit)
    stops = power(rejected - hit, k) * rest
    tried: Any = 1  # the mean number of drafts that are looked at
    for _ in range(k - 1):
        tried = tried * rejected + 1
    return stops, tried * scaled + (power(rejected, k) * rest - stops)


def pieces(p: Vector, q: Vector, k: int) -> tuple[Vector, Vector, Any]:
    """What a node with `k` drafts needs. p, q: shape `(n.., V)`.

    Returns `min(p/rho, q)`, the normalised residual (both of that shape), and the probability that every draft is
    rejected, shape `(n.., 1)`.
    """
    scaled = minimum(p if k == 1 else p / _division(p, q, k), q)
    beta = sums(scaled)
    missed = power(1 - beta, k)
    excess = positive_part(p - scaled * ((1 - missed) / (beta + (beta <= 0))))
    return scaled, normalised(excess, p), missed


#: One node's pieces, remembered: a run asks for the same node again and again.
_node = memoised(pieces)


def _division(p: Vector, q: Vector, k: int) -> Any:
    """`rho`, shape `(n.., 1)`: the smallest allowed of the `2^HALVINGS + 1` (or fewer) evenly spaced numbers in [1, k].

    What is allowed once stays so for larger `rho`: a grid point is the one if it is allowed and the point before it is
    not. A root found in floats says where to look, and bisection finds what it misses.
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
        import torch  # noqa: PLC0415 - only where a tensor came in

        return min(HALVINGS, round(-log2(torch.finfo(one.dtype).eps)))
    return min(HALVINGS, round(-log2(np.finfo(one.dtype).eps)))


def _floats(x: Vector) -> Vector:
    """The same numbers in float64."""
    return x.detach().double() if is_tensor(x) else x.astype(np.float64, copy=False)


def _single(x: Vector) -> Vector:
    """The same numbers in single precision: half as many bytes to go through."""
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


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    scaled, rest, _ = _node(p, q, len(drafted))
    for token in drafted:
        if coin.flip(scaled[token] / q[token]):
            return token
    return coin.choose(rest)
