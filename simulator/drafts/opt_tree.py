"""OPT-Tree [wang2024opt]: the `nodes` nodes of the largest draft probability, found layer by layer.

The sum of these probabilities is the number of tokens that would be accepted if the target were the draft. A layer is
added as long as that sum grows by more than `gain`: each costs one pass of the draft. Verified in the paper's code by
drawing from the target and looking whether that was drafted (`nss`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from draftproof.simulator.drafts._adapting import BestFirst, exceeds, largest
from draftproof.simulator.drafts._beams import Beam, expanded, tree_of
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Draws, TokenProcess


@dataclass(frozen=True)
class OptTree(BestFirst):
    """At most `nodes` nodes: those of the largest product of draft probabilities, ties to the shallower node.

    gain: a layer that adds no more than this to the sum is the last. Raises `InvalidInput` unless it lies in [0, 1].
    """

    gain: Fraction = Fraction(0)

    name: ClassVar[str] = "opt_tree"
    verified_with: ClassVar[str] = "nss"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(4)), (3, cls(4)), (3, cls(4, Fraction(1, 2)))

    def longest(self, draft: TokenProcess, most: int) -> int:
        drafted = replace(self, depth=most).draw(draft)
        return max((len(context) + 1 for context in drafted.children), default=0)

    def draw(self, draft: TokenProcess, coin: Coin | None = None) -> DraftTree:
        """The tree; the coin is not asked."""
        layer: Beam = [((), 1)]
        candidates: Beam = []
        total, least = 0, 0  # of the best nodes: the sum, and the smallest, which deeper nodes must exceed
        for _ in range(self.depth):
            layer = expanded(draft, layer, self.nodes, above=least)
            if not layer:
                break
            layer = [layer[place] for place in largest([value for _, value in layer], self.nodes)]
            candidates += layer
            best = [candidates[place][1] for place in largest([value for _, value in candidates], self.nodes)]
            grown = sum(best) - total
            total, least = total + grown, best[-1] if len(best) == self.nodes else 0
            if not exceeds(grown, self.gain):
                break
        return tree_of(candidates, self.nodes)
