"""Dynamic depth decoding [brown2024dynamic]: a beam that stops when the sum of its draft probabilities is small.

After every layer the probabilities of the nodes in the beam are summed; below the threshold the tree ends. The paper
compares the logarithm of that sum, at chosen depths. It is verified as EAGLE-2's trees are (`nss`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, largest, reaches
from draftproof.simulator.drafts._beams import Beam, expanded, tree_of
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Draws, TokenProcess


@dataclass(frozen=True)
class DynamicDepth(Adapting):
    """A beam of `beam` nodes, at most `depth` layers; the last one is where their probabilities sum below `threshold`.

    The tree holds the beams of all layers. Raises `InvalidInput` unless the threshold lies in [0, 1].
    """

    beam: int = 2
    depth: int = 3
    threshold: Fraction = Fraction(1, 2)

    name: ClassVar[str] = "ddd"
    verified_with: ClassVar[str] = "nss"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES
    positive: ClassVar[tuple[str, ...]] = ("beam",)
    shrunk: ClassVar[tuple[str, ...]] = ("depth", "beam")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 3)), (3, cls(2, 3, Fraction(1, 3))), (3, cls(1, 2))

    @property
    def nodes(self) -> int:
        """Drafted tokens at most."""
        return self.beam * self.depth

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """The tree; the coin is not asked."""
        layer: Beam = [((), 1)]
        candidates: Beam = []
        for _ in range(self.depth):
            layer = expanded(draft, layer, self.beam)
            layer = [layer[place] for place in largest([value for _, value in layer], self.beam)] if layer else []
            candidates += layer
            if not reaches(sum(value for _, value in layer), self.threshold):
                break
        return tree_of(candidates, len(candidates))
