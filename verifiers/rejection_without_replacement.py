"""Recursive rejection sampling for drafts without replacement: both distributions shrink at every rejection.

[jeon2024recursive], recursive rejection sampling without replacement. At each node with different drafts `X1..Xk`:
1. Try them in order; accept with probability `min(1, p/q)`.
2. On rejection `p` becomes normalised `(p - q)+`, and `q` loses the token and is renormalised: that is the law from
   which the next draft was drawn.
3. When none is left draw from `p`.

Also lossless for i.i.d. drafts when a token that comes again is skipped: the different tokens among them, in order, are
drawn without replacement.
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

#: An acceptance rate is computed from at most so many numbers, some ten seconds; each row counts as so many more.
MOST_STEPS, OVERHEAD = 1e9, 1_000


@dataclass(frozen=True)
class RejectionWithoutReplacement:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="rejection_without_replacement",
        title="Recursive rejection sampling without replacement",
        source=Source("jeon2024recursive", "recursive rejection sampling without replacement"),
        needs=Draws.SIBLINGS_IN_TURN,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts in their order, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    for token in drafted:
        if not q[token] > 0:
            continue  # a token drafted twice: without replacement it could not come again
        if coin.flip(acceptance(p, q, token)):
            return token
        p, q = residual(p, q), without(q, token)
    return coin.choose(p)


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    law, left = p * 0, 1
    for token in drafted:
        if q[token] > 0:
            accepted = acceptance(p, q, token)
            law = law + left * accepted * one_hot(law, token)
            left = left * (1 - accepted)
            p, q = residual(p, q), without(q, token)
    return law + left * p
