"""DySpec layer by layer, with a threshold instead of a heap [xiong2024dyspec], algorithm 2.

At a node of value `v` tokens are drawn without replacement while `v` reaches the threshold: a child `y` gets the value
`v R[y]`, the next draw has `v (1 - R[y])`, where `R` is the row without the tokens drawn, renormalised. It takes one
draft pass a layer, the heap one a token. The paper prints the loop condition the other way round, which would fill the
slots of the smallest values. Verified as in `dyspec`, with `rejection_without_replacement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, number, reaches
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess
from draftproof.simulator.vectors import without


@dataclass(frozen=True)
class DySpecThreshold(Adapting):
    """Fills the slots of value `value` or more, down to `depth`, with at most `nodes` tokens.

    Without the two limits, which the paper does not have, the tree of a deterministic draft would be infinite.
    Raises `InvalidInput` unless `value` lies in (0, 1].
    """

    value: Fraction = Fraction(1, 4)
    depth: int = 3
    nodes: int = 64

    name: ClassVar[str] = "dyspec_threshold"
    verified_with: ClassVar[str] = "rejection_without_replacement"
    draws: ClassVar[Draws] = Draws.SIBLINGS_FROM_Q
    positive: ClassVar[tuple[str, ...]] = ("value",)

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(Fraction(1, 4), 2)), (3, cls(Fraction(1, 3), 2)), (4, cls(Fraction(1, 3), 2, 3))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, layer by layer."""
        drafted: dict[Context, tuple[int, ...]] = {}
        room = self.nodes
        layer: list[tuple[Context, Any]] = [((), 1)]
        for _ in range(self.depth):
            layer = [(context, entered) for context, entered in layer if reaches(entered, self.value)][:room]
            prefetch(draft, [context for context, _ in layer])
            below: list[tuple[Context, Any]] = []
            for context, entered in layer:
                if not room:
                    break
                row, value = draft.row(context), entered
                while room and reaches(value, self.value):
                    token = coin.choose(row)
                    part = number(row[token])
                    drafted[context] = (*drafted.get(context, ()), token)
                    below.append(((*context, token), value * part))
                    row, value, room = without(row, token), value * (1 - part), room - 1
            layer = below
        return DraftTree(drafted)

    def reductions(self) -> list[Self]:
        """Shallower trees, and those with larger thresholds, each halving the distance to 1."""
        closer = [self.value, *((1 + self.value) / 2,) * (self.value < 1)]
        return [type(self)(value, depth, self.nodes) for depth in range(self.depth + 1) for value in reversed(closer)]
