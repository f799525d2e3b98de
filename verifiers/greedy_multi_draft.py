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
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import acceptance, minimum, one_hot, residual, stacked, top_tokens, without
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
        return walk(root, coin, _next_token)

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """`p(others) + sum min(p, q')` over the rest, on greedy drafts. p, q: shape `(n.., V)`, one by one."""
        return stacked(lambda target, draft: _accepted(target, draft, k), p, q)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts in their order, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    *sure, last = drafted
    q = _without_all(q, sure)
    if q[last] > 0 and coin.flip(acceptance(p, q, last)):
        return last
    return coin.choose(residual(p, q))


def _without_all(q: Vector, tokens: Sequence[int]) -> Vector:
    for token in tokens:
        q = without(q, token)
    return q


def _accepted(p: Vector, q: Vector, k: int) -> Any:
    count = min(k, int((q > 0).sum()))
    sure = top_tokens(q, count - 1)
    overlap = minimum(p, _without_all(q, sure))
    return overlap.sum() + sum(p[token] - overlap[token] for token in sure)


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    *sure, last = drafted
    q = _without_all(q, sure)
    accepted = acceptance(p, q, last) if q[last] > 0 else 0
    return accepted * one_hot(p, last) + (1 - accepted) * residual(p, q)
