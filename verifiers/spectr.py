"""K-SEQ: try the children in order, each with its acceptance ratio divided by one number `rho`.

[sun2023spectr], algorithm 3 (K-SEQ). At each node with drafts `X1..Xk`:
1. With `beta(rho) = sum min(p/rho, q)` choose `rho` in `[1, k]` with `1 - (1 - beta)^k <= rho beta`.
2. Try `X1..Xk` in order; accept with probability `min(1, p/(rho q))`.
3. When all are rejected draw from normalised `p - min(p/rho, q) (1 - (1 - beta)^k)/beta` (from `p` where `beta = 0`).

The smallest such `rho` accepts most. Any larger one up to `k` is lossless, too, so the smallest allowed one of a grid
is taken: that which divides [1, k] into 2^24 equal parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import (
    acceptance,
    acceptances,
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
from draftproof.verifiers._programs import memoised
from draftproof.verifiers._rho import smallest_rho
from draftproof.verifiers._top_down import acceptance_rate, walk


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

    acceptance_rate = acceptance_rate

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
