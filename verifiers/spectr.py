"""K-SEQ: try the children in order, each with its acceptance ratio divided by one number `rho`.

[sun2023spectr], algorithm 3 (K-SEQ). At each node with drafts `X1..Xk`:
1. With `beta(rho) = sum min(p/rho, q)` choose `rho` in `[1, k]` with `1 - (1 - beta)^k <= rho beta`.
2. Try `X1..Xk` in order; accept with probability `min(1, p/(rho q))`.
3. When all are rejected draw from normalised `p - min(p/rho, q) (1 - (1 - beta)^k)/beta` (from `p` where `beta = 0`).

The smallest such `rho` accepts most. Any larger one up to `k` is lossless, too, so the smallest allowed one of a grid
is taken: that which divides [1, k] into 2^24 equal parts. It is estimated in floats, and decided in the arithmetic of
the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import log2
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, is_tensor, positive_part
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import (
    acceptances,
    dots,
    layers,
    minimum,
    normalised,
    one_hot,
    power,
    sums,
    times,
    token_by_token,
)
from draftproof.verifiers._programs import memoised
from draftproof.verifiers._top_down import walk

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
    guess = (_root(_floats(p), _floats(q), k) - 1) * (points / (k - 1))
    guess = _like(guess.round().clip(1, points - 1), one)  # the grid point to find is this one or the next
    fits = _allowed(p, q, k, _point(guess, one, k))
    beside = guess + (1 - 2 * fits)
    sure = fits + _allowed(p, q, k, _point(beside, one, k)) == 1
    rho = _point(guess + (1 - fits), one, k)
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


@dataclass(frozen=True)
class SpecTr:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="spectr",
        title="K-SEQ (SpecTr)",
        source=Source("sun2023spectr", "algorithm 3, K-SEQ"),
        needs=Draws.INDEPENDENT_SIBLINGS,
        departs="rho is rounded up to a fraction, which keeps the output exact and costs next to nothing.",
    )

    #: Computes `rho`.
    solver: Callable[[Vector, Vector, int], Any] = field(default=smallest_rho, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, partial(_next_token, self._quantities))

    @property
    def _quantities(self) -> Callable[[Vector, Vector, int], Any]:
        """`acceptance_and_residual` with this solver; for the default one its results are kept."""
        return _node if self.solver is smallest_rho else partial(acceptance_and_residual, solver=self.solver)

    @property
    def structure(self) -> TopDown | None:
        """See `TopDown`; none for another solver."""
        if self.solver is not smallest_rho:
            return None
        return TopDown(branch=branch, child_law=child_law, last_step=last_step)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`."""
    scaled, rest, _ = acceptance_and_residual(p, q, len(drafted))
    law: Any = 0
    left: Any = 1
    for token in drafted:
        accepted = acceptances(scaled + p * (q <= 0), q, token)
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
    scaled, rest, _ = acceptance_and_residual(p, q, k)
    rejected = q - scaled
    missed, others = sums(rejected) - rejected, 1 - q
    law, later = [rest], [scaled]
    for left in range(k - 1, -1, -1):  # the last draft first
        law = times(law, missed, rejected)
        law = [law[0], *(before + accepted for before, accepted in zip(law[1:], later, strict=True))]
        if left:
            later = times(later, others, q)
    return layers(law)


def last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`: what `child_law` says at `z = 0`, and the difference to that at `z = 1`.

    There `F = sum (q - s)` and `G = 1`.
    """
    p, q = token_by_token(p), token_by_token(q)
    stopped: Any = 0
    taken: Any = 0
    for k, mass in masses.items():
        scaled, rest, _ = acceptance_and_residual(p, q, k)
        rejected = q - scaled
        total = sums(rejected)
        stops = power(total - rejected, k) * rest
        tried: Any = 1  # the mean number of drafts tried
        for _ in range(k - 1):
            tried = tried * total + 1
        stopped = stopped + mass * stops
        taken = taken + mass * (tried * scaled + (power(total, k) * rest - stops))
    return stopped, taken


def acceptance_and_residual(
    p: Vector, q: Vector, k: int, solver: Callable[[Vector, Vector, int], Any] = smallest_rho
) -> tuple[Vector, Vector, Any]:
    """Acceptance and residual of a node with `k` drafts. p, q: shape `(n.., V)`.

    Returns `min(p/rho, q)`, the normalised residual (both of that shape), and the probability that every draft is
    rejected, shape `(n.., 1)`.
    """
    scaled = minimum(p if k == 1 else p / solver(p, q, k), q)
    beta = sums(scaled)
    missed = power(1 - beta, k)
    excess = positive_part(p - scaled * ((1 - missed) / (beta + (beta <= 0))))
    return scaled, normalised(excess, p), missed


_node = memoised(acceptance_and_residual)


def _next_token(
    node: Callable[[Vector, Vector, int], Any], p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin
) -> int:
    scaled, rest, _ = node(p, q, len(drafted))
    for token in drafted:
        if coin.flip(acceptance(scaled if q[token] > 0 else p, q, token)):
            return token
    return coin.choose(rest)
