"""Token-by-token verification on a tree: try the first child; a residual draw may equal one of the others.

[leviathan2023fast], algorithm 1, carried to trees. At each node:
1. Accept the first drafted token `x` with probability `min(1, p(x)/q(x))`.
2. Else draw from normalised `(p - q)+`; a draw that equals another drafted token continues there.

The token has law `p` as in `naive`, so it is lossless wherever the first draft has law `q`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import (
    acceptances,
    counted,
    layers,
    minimum,
    normalised,
    one_hot,
    polynomial,
    residuals,
    sums,
    times,
    token_by_token,
)
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class NaiveTree:
    """See the module.

    Dominates `naive`: both draw the same tokens from the same coin, and this one goes on where
    the other stops.
    """

    card: ClassVar[Card] = Card(
        name="naive_tree",
        title="Token-by-token speculative sampling on trees",
        source=Source("leviathan2023fast", "algorithm 1"),
        needs=Draws.FIRST_CHILD_FROM_Q,
        dominates=("naive",),
        departs="The paper has one path; a residual draw that equals another drafted token continues there.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law, last_step=last_step)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`; only the first draft matters."""
    accepted = acceptances(p, q, drafted[0])
    return accepted * one_hot(p, drafted[0]) + (1 - accepted) * residuals(p, q)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    The residual is 0 at a rejected first draft, so a residual draw can only equal one of the others.
    """
    p, q = token_by_token(p), token_by_token(q)
    accepted = minimum(p, q)
    correction = sums(q - accepted) * normalised(p - accepted, p)
    return layers(times(counted(q, k - 1), correction, accepted))


def last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`."""
    p, q = token_by_token(p), token_by_token(q)
    accepted = minimum(p, q)
    correction = sums(q - accepted) * normalised(p - accepted, p)
    stops = correction * polynomial(1 - q, {k - 1: mass for k, mass in masses.items()})
    return stops, (accepted + correction) * sum(masses.values()) - stops


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    if coin.flip(acceptance(p, q, drafted[0])):
        return drafted[0]
    return coin.choose(residual(p, q))
