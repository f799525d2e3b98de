"""K-SEQ: try the children in order, each accepted a little less readily, so that all of them count.

[sun2023spectr], algorithm 3 (K-SEQ). At each node with drafts `X1..Xk`:
1. With `beta(rho) = sum min(p/rho, q)` choose `rho` in `[1, k]` with `1 - (1 - beta)^k <= rho beta`.
2. Try `X1..Xk` in order; accept with probability `min(1, p/(rho q))`.
3. When all are rejected draw from normalised `p - min(p/rho, q) (1 - (1 - beta)^k)/beta` (from `p` where `beta = 0`).

The smallest such `rho` accepts most. Any larger one up to `k` is just as lossless, so `rho = 1` is kept where it is
allowed; otherwise bisection keeps its upper end, a fraction with denominator 2^24.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import acceptances, minimum, normalised, one_hot, positive_part, sums
from verifiers._memo import memoised
from verifiers._top_down import walk

#: Bisection halves an interval of length `k - 1` this often.
HALVINGS = 24


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

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """`a + (1 - a) sum res (1 - (1 - r)^k)` with `a = 1 - (1 - beta)^k`. p, q: shape `(n.., V)`.

        `res` is the residual that is drawn from, `r = (q - p/rho)+ / (1 - beta)` the law of a rejected draft.
        """
        scaled, rest, missed = pieces(p, q, k)
        share = 1 - sums(scaled)
        rejected = (q - scaled) / (share + (share <= 0))
        return (1 - missed + missed * sums(rest * (1 - (1 - rejected) ** k))).sum(-1)

    def branch(self, p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
        """Law of the next token given the drafts, shape `(n.., V)`."""
        scaled, rest, _ = pieces(p, q, len(drafted))
        law: Any = 0
        left: Any = 1
        for token in drafted:
            accepted = acceptances(scaled, q, token)
            law = law + left * accepted * one_hot(p, token)
            left = left * (1 - accepted)
        return law + left * rest


def pieces(p: Vector, q: Vector, k: int) -> tuple[Vector, Vector, Any]:
    """What a node with `k` drafts needs. p, q: shape `(n.., V)`.

    Returns `min(p/rho, q)`, the normalised residual (both of that shape), and the probability that every draft is
    rejected, shape `(n.., 1)`.
    """
    scaled = minimum(p / _division(p, q, k), q)
    beta = sums(scaled)
    missed = (1 - beta) ** k
    excess = positive_part(p - scaled * (1 - missed) / (beta + (beta <= 0)))
    return scaled, normalised(excess, p), missed


#: One node's pieces, remembered: a run asks for the same node again and again.
_node = memoised(pieces)


def _division(p: Vector, q: Vector, k: int) -> Any:
    """`rho`, a dyadic number in [1, k], shape `(n.., 1)`."""
    low = sums(p * 0) + 1
    high = low * k
    plain = _allowed(p, q, k, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = _allowed(p, q, k, middle)
        low, high = low * fits + middle * (1 - fits), middle * fits + high * (1 - fits)
    return plain + high * (1 - plain)


def _allowed(p: Vector, q: Vector, k: int, rho: Any) -> Any:
    """1 where `1 - (1 - beta)^k <= rho beta`, else 0."""
    beta = sums(minimum(p / rho, q))
    return (1 - (1 - beta) ** k <= rho * beta) * 1


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    scaled, rest, _ = _node(p, q, len(drafted))
    for token in drafted:
        if coin.flip(scaled[token] / q[token]):
            return token
    return coin.choose(rest)
