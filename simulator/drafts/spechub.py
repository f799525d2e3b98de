"""SpecHub [sun2024spechub]: two drafts, one of them always the most probable token of the draft, the hub.

With the hub `a = argmax q`, the pair `(x, a)` is drafted with probability `q(x)` and `(a, x)` with probability
`q(a) q(x)/(1 - q(a))`, for every other token `x`: the first draft has law `q`. The verifier `spechub` belongs to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from draftproof.simulator.drafts._adapting import Bounded
from draftproof.simulator.drafts._levels import ByLevels
from draftproof.simulator.protocol import Coin, Context, Draws, Vector
from draftproof.simulator.vectors import top_tokens, without


@dataclass(frozen=True)
class SpecHub(ByLevels, Bounded):
    """Two children at every node down to `depth`: the hub and another token, the first drawn from `q`.

    The hub alone where `q` has no other token. Raises `InvalidInput` unless `depth` is a whole number.
    """

    depth: int = 1

    name: ClassVar[str] = "spechub"
    verified_with: ClassVar[str] = "spechub"
    draws: ClassVar[Draws] = Draws.FIRST_CHILD_FROM_Q | Draws.ONE_RANDOM_SIBLING | Draws.HUB_PAIRS
    shrunk: ClassVar[tuple[str, ...]] = ("depth",)

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2)), (3, cls(1)), (3, cls(2)), (4, cls(1))

    @property
    def nodes(self) -> int:
        """Drafted tokens in a full tree."""
        return sum(2**level for level in range(1, self.depth + 1))

    def children_at(self, context: Context, q: Vector, coin: Coin) -> tuple[int, ...]:
        """See `ByLevels`."""
        hub = top_tokens(q, 1)[0]
        first = coin.choose(q)
        if first != hub:
            return (first, hub)
        return (hub, coin.choose(without(q, hub))) if q[hub] < q.sum() else (hub,)
