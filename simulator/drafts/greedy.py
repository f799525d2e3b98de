"""Greedy trees: the most probable tokens, then one drawn from the rest (Hu et al. 2025).

Verified there with `greedy_multi_draft`.
"""

from __future__ import annotations

from typing import ClassVar, Self

from draftproof.simulator.drafts._branching import Branching, possible
from draftproof.simulator.protocol import Coin, Draws, Vector
from draftproof.simulator.vectors import top_tokens, without


class Greedy(Branching):
    """The `K - 1` most probable tokens of `q`, then one token from `q` without them, renormalised."""

    name = "greedy"
    verified_with = "greedy_multi_draft"
    draws: ClassVar[Draws] = Draws.LEFT_OR_LIKELIEST | Draws.ONE_RANDOM_SIBLING

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 0, 2)), (3, cls(3, 0, 1)), (3, cls(2, 1, 1)), (3, cls(2, 0, 2))

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        top = top_tokens(q, possible(q, k) - 1)
        for token in top:
            q = without(q, token)
        return (*top, coin.choose(q))
