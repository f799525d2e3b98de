"""Trees of i.i.d. children, a number for every level: the expansion configurations of Miao et al. (2024).

Verified there with `specinfer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, Self

from draftproof.simulator.drafts._levels import ByLevels
from draftproof.simulator.drafts._shape import LARGEST
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Coin, Context, Draws, Vector

#: Sequences of drafts at one node are listed, at most so many.
MOST_SEQUENCES = 1_000_000
#: `reductions` extends at most so many configurations of each depth.
MOST_REDUCTIONS = 200


@dataclass(frozen=True)
class SpecInferConfig(ByLevels):
    """Every node at depth `i` has `widths[i]` i.i.d. children from `q`; equal ones are one node, drafted from once.

    `children` keeps the duplicates, so a node lists as many entries as were drawn there: on `(2, 2)` a token that was
    drawn twice at the root has two children below it, where two i.i.d. branches through it would have two of one each.
    With one level this is the delayed tree of that many branches. Raises `InvalidInput` for a width below 1.
    """

    widths: tuple[int, ...] = (2, 2)

    name: ClassVar[str] = "specinfer_config"
    verified_with: ClassVar[str] = "specinfer"
    draws: ClassVar[Draws] = Draws.INDEPENDENT_SIBLINGS

    def __post_init__(self) -> None:
        if any(type(width) is not int or not 1 <= width <= LARGEST for width in self.widths):
            raise InvalidInput(f"widths {self.widths}: give for each level a whole number of 1 to {LARGEST}")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls((2, 2))), (3, cls((2, 1))), (2, cls((1, 2, 1))), (3, cls((3,)))

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.widths)

    @property
    def nodes(self) -> int:
        """Drafted tokens where all are different."""
        return sum(prod(self.widths[: level + 1]) for level in range(self.depth))

    def children_at(self, context: Context, q: Vector, coin: Coin) -> tuple[int, ...]:
        """See `ByLevels`."""
        return tuple(coin.choose(q) for _ in range(self.widths[len(context)]))

    def check_row(self, context: Context, q: Vector) -> None:
        """See `ByLevels`."""
        if int((q > 0).sum()) ** self.widths[len(context)] > MOST_SEQUENCES:
            raise TooLarge(f"{self} has more than {MOST_SEQUENCES:,} drafts at one node; use fewer or a smaller V")

    def reductions(self) -> list[SpecInferConfig]:
        """All configurations that are no deeper and nowhere wider: shallowest first, then fewest drafted tokens."""
        smaller = [SpecInferConfig(())]
        for level in range(self.depth):
            longer = [scheme for scheme in smaller if scheme.depth == level]
            smaller += [
                SpecInferConfig((*scheme.widths, width))
                for scheme in longer[:MOST_REDUCTIONS]
                for width in range(1, self.widths[level] + 1)
            ]
        return sorted(smaller, key=lambda scheme: (scheme.depth, scheme.nodes, scheme.widths))

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.widths))})"
