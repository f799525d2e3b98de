"""Multi-step speculative sampling: try the children in random order, shrinking the target each time.

[miao2024specinfer], algorithm 2. At each node with drafts `X1..Xk`:
1. Pick one of the remaining drafts uniformly; accept it with probability `min(1, p/q)`.
2. On rejection set `p` to normalised `(p - q)+` and drop that one occurrence.
3. When none is left draw from `p`.

The token has law `p` when the drafts are i.i.d. from `q`: each round splits off `min(p, q)` from what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import acceptance, residual
from verifiers._top_down import walk


@dataclass(frozen=True)
class SpecInfer:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="specinfer",
        title="Multi-step speculative sampling (SpecInfer)",
        source=Source("miao2024specinfer", "algorithm 2"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    remaining = list(drafted)
    while remaining:
        token = remaining.pop(coin.choose([1] * len(remaining)))
        if coin.flip(acceptance(p, q, token)):
            return token
        p = residual(p, q)
    return coin.choose(p)
