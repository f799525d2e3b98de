"""Trees of i.i.d. children, a number for every level: the expansion configurations of Miao et al. (2024).

Verified there with `specinfer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._levels import grown
from draftproof.simulator.drafts._shape import LARGEST
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector

#: Sequences of drafts at one node are listed, at most so many.
MOST_SEQUENCES = 1_000_000
#: `reductions` extends at most so many configurations of each depth.
MOST_REDUCTIONS = 200


@dataclass(frozen=True)
class SpecInferConfig:
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

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, node by node, parents before children."""
        return grown(self.depth, draft, lambda context: _children(draft.row(context), coin, self.widths[len(context)]))

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability."""

        def below(context: Context) -> int:
            if len(context) == self.depth:
                return 1
            q = draft.row(context)
            k = self.widths[len(context)]
            if int((q > 0).sum()) ** k > MOST_SEQUENCES:
                raise TooLarge(f"{self} has more than {MOST_SEQUENCES:,} drafts at one node; use fewer or a smaller V")
            known = {token: below((*context, token)) for token, mass in enumerate(q) if mass > 0}
            drawn = outcomes(lambda coin: _children(q, coin, k), arithmetic_of(q))
            return sum(prod(known[token] for token in set(tokens)) for tokens, _ in drawn)

        return below(())

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

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"name": self.name, "widths": list(self.widths)}

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.widths))})"


def _children(q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
    return tuple(coin.choose(q) for _ in range(k))
