"""Greedy multi-draft verification: the random draft is tried, the sure ones are met by the residual.

[hu2025towards], the greedy draft and its verification. The scheme `greedy` drafts the `k - 1` most probable tokens and
one more from `q'`, which is `q` without them, renormalised. At each node:
1. Accept the last draft with probability `min(1, p/q')`.
2. Else draw from normalised `(p - q')+`, where `q' = 0` on the other drafts; a draw that equals one continues there.

The acceptance rate `p(others) + sum min(p, q')` over the rest is the optimum for these drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import acceptance, residual, without
from verifiers._top_down import walk


@dataclass(frozen=True)
class GreedyMultiDraft:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="greedy_multi_draft",
        title="Greedy multi-draft verification",
        source=Source("hu2025towards", "greedy draft"),
        lossless_for=("without_replacement", "greedy", "topology", "adaptive"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    *sure, last = drafted
    for token in sure:
        q = without(q, token)
    if q[last] > 0 and coin.flip(acceptance(p, q, last)):
        return last
    return coin.choose(residual(p, q))
