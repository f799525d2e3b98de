"""The trees of SpecBlock [shi2026specblock]: blocks of levels, at every node as many children as its row makes likely.

A drafter that gives the rows of all levels of a block in one pass grows the tree in one pass a block. Nothing is
random: the tree is a function of the draft's rows, as that of EAGLE-2, so that naive sampling (`nss`) is optimal on it.

Departures: the paper's drafter has a head, trained with it, that says between which of the likeliest tokens the next
one is: 1, 4, 10, or none. Here a rule on the row says so, since a tree must be a function of rows. Blocks follow one
another, where the paper may start one at any level of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, largest, number, reaches
from draftproof.simulator.drafts._beams import Beam, tree_of
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Draws, TokenProcess, Vector
from draftproof.simulator.vectors import top_tokens

#: How many children a node may have.
WIDTHS = (1, 4, 10)


@dataclass(frozen=True)
class SpecBlock(Adapting):
    """`blocks` blocks of `places` levels; the `nodes` best of all nodes are the tree.

    No more than so many nodes of a level have children. A node has the fewest of 1, 4 or 10 children, its likeliest
    tokens, that have the mass `cover` together; where not even 10 have it, the likeliest token alone. Best is the
    largest product of draft probabilities, ties to the shallower node. Raises `InvalidInput` unless three are whole
    numbers and `cover` a share.
    """

    places: int = 2
    blocks: int = 1
    nodes: int = 4
    cover: Fraction = Fraction(3, 4)

    name: ClassVar[str] = "specblock"
    verified_with: ClassVar[str] = "nss"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES
    positive: ClassVar[tuple[str, ...]] = ("places",)
    shrunk: ClassVar[tuple[str, ...]] = ("blocks", "nodes")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 2, 4)), (3, cls(2, 1, 4)), (4, cls(1, 2, 3, Fraction(1, 4)))

    @property
    def depth(self) -> int:
        """`L`, the levels of all blocks."""
        return self.places * self.blocks

    @property
    def passes(self) -> int:
        """How many passes a drafter of `places` levels a pass takes for a tree."""
        return self.blocks

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """The tree; the coin is not asked."""
        layer: Beam = [((), 1)]
        candidates: Beam = []
        for _ in range(self.depth):
            prefetch(draft, [context for context, _ in layer])
            grown: Beam = []
            for context, value in layer:
                row = draft.row(context)
                children = ((token, value * number(row[token])) for token in self.children(row))
                grown += [((*context, token), mass) for token, mass in children if mass > 0]
            candidates += grown
            layer = [grown[place] for place in largest([value for _, value in grown], self.nodes)] if grown else []
        return tree_of(candidates, self.nodes)

    def children(self, row: Vector) -> list[int]:
        """The likeliest tokens that a node with this row has as children."""
        tokens = [int(token) for token in top_tokens(row, WIDTHS[-1])]
        for width in WIDTHS:
            mass: Any = sum(number(row[token]) for token in tokens[:width])
            if reaches(mass, self.cover):
                return tokens[:width]
        return tokens[:1]
