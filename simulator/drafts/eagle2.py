"""The trees of EAGLE-2 [li2024eagle]: beams of the most probable continuations, re-ranked at the end.

Nothing is random: the tree is a function of the draft's rows, so a node is drafted with probability 0 or 1, and the
most that a verifier can accept of it is the target probability of its path.

Verified in the paper's code with a token's own target probability, one child after the other, each rejected one taken
out of the target: in law that is naive sampling (`nss`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, largest
from draftproof.simulator.drafts._beams import Beam, expanded, tree_of
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Draws, TokenProcess


@dataclass(frozen=True)
class Eagle2(Adapting):
    """`depth` layers of `beam` children of the `beam` best nodes; the `nodes` best of all are the tree.

    Best is the largest product of draft probabilities, ties to the shallower node. Raises `InvalidInput` unless all
    three are whole numbers.
    """

    beam: int = 2
    depth: int = 2
    nodes: int = 4

    name: ClassVar[str] = "eagle2"
    verified_with: ClassVar[str] = "nss"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES
    positive: ClassVar[tuple[str, ...]] = ("beam",)
    shrunk: ClassVar[tuple[str, ...]] = ("depth", "nodes")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 3, 4)), (3, cls(2, 2, 4)), (4, cls(3, 2, 3))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """The tree; the coin is not asked."""
        layer: Beam = [((), 1)]
        candidates: Beam = []
        for _ in range(self.depth):
            best = [layer[place] for place in largest([value for _, value in layer], self.beam)] if layer else []
            layer = expanded(draft, best, self.beam)
            candidates += layer
        return tree_of(candidates, self.nodes)
