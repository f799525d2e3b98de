"""Trees of the most probable tokens: nothing is random below the trunk."""

from __future__ import annotations

from simulator.drafts._branching import Branching
from simulator.protocol import Coin, Vector
from simulator.vectors import top_tokens


class TopK(Branching):
    """The `K` most probable tokens of `q`, ties to the smaller number: nothing is random below the trunk."""

    name = "top_k"

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        """See `Branching.children`."""
        return top_tokens(q, k)
