"""Greedy multi-draft verification: try the random draft; a residual draw may equal one of the deterministic ones.

[hu2025towards], the greedy draft and its verification. The scheme `greedy` drafts the `k - 1` most probable tokens and
one more from `q'`, which is `q` without them, renormalised. At each node:
1. Accept the last draft with probability `min(1, p/q')`.
2. Else draw from normalised `(p - q')+`, where `q' = 0` on the other drafts; a draw that equals one continues there.

The acceptance rate `p(others) + sum min(p, q')` over the rest is the optimum for these drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import without
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.rejection_without_replacement import branch_in_turn, next_in_turn


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
        return walk(root, coin, partial(next_in_turn, tries))

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=partial(branch_in_turn, tries))


def tries(p: Vector, q: Vector, drafted: tuple[int, ...]) -> Iterator[tuple[int | None, Any]]:
    """See `Tries`: the last draft is the random one."""
    *sure, last = drafted
    for token in sure:
        q = without(q, token)
    if q[last] > 0:
        yield last, acceptance(p, q, last)
    yield None, residual(p, q)
