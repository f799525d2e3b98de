"""Greedy multi-draft verification: try the random draft; a residual draw may equal one of the deterministic ones.

[hu2025towards], the greedy draft and its verification. The scheme `greedy` drafts the `k - 1` most probable tokens and
one more from `q'`, which is `q` without them, renormalised. At each node:
1. Accept the last draft with probability `min(1, p/q')`.
2. Else draw from normalised `(p - q')+`, where `q' = 0` on the other drafts; a draw that equals one continues there.

The acceptance rate `p(others) + sum min(p, q')` over the rest is the optimum for these drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import one_hot, stacked, without
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class GreedyMultiDraft:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="greedy_multi_draft",
        title="Greedy multi-draft verification",
        source=Source("hu2025towards", "greedy draft"),
        needs=Draws.LEFT_OR_LIKELIEST,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts in their order, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    """The next token of one node; the last draft is the random one."""
    *sure, last = drafted
    q = _without_all(q, sure)
    if q[last] > 0 and coin.flip(acceptance(p, q, last)):
        return last
    return coin.choose(residual(p, q))


def _without_all(q: Vector, tokens: Sequence[int]) -> Vector:
    for token in tokens:
        q = without(q, token)
    return q


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    *sure, last = drafted
    q = _without_all(q, sure)
    accepted = acceptance(p, q, last) if q[last] > 0 else 0
    return accepted * one_hot(p, last) + (1 - accepted) * residual(p, q)
