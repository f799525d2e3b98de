"""Trees of the most probable tokens: nothing is random below the trunk."""

from __future__ import annotations

from typing import ClassVar, Self

from draftproof.simulator.drafts._branching import Branching, possible
from draftproof.simulator.protocol import Coin, Draws, Vector
from draftproof.simulator.vectors import top_tokens


class TopK(Branching):
    """The `K` most probable tokens of `q`, ties to the smaller number: nothing is random below the trunk."""

    name = "top_k"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 0, 2)), (3, cls(3, 0, 1)), (3, cls(2, 1, 1)), (3, cls(2, 0, 2))

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        return top_tokens(q, possible(q, k))
