"""Trees that grow where the draft expects most acceptance: the greedy heap of DySpec [xiong2024dyspec], algorithm 1.

A slot is a place for one more drafted token: a node, its draft row without the tokens already drawn, and a value, the
probability that verification reaches the slot if the target equals the draft. The slot of the largest value is filled
first. Its value is fixed before its token is drawn, so no token decides whether it is itself part of the tree; the
control `DySpecPruned` draws one token more and drops the drafted leaf of the smallest probability.

The paper verifies with `rejection_without_replacement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from draftproof.simulator.drafts._adapting import BestFirst, largest, number, reaches
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector
from draftproof.simulator.vectors import without


@dataclass(frozen=True)
class DySpec(BestFirst):
    """`nodes` tokens, each drawn without replacement in the slot of the largest value.

    Ties go to the earlier slot; there are fewer tokens where the draft has none left to draw.
    """

    name: ClassVar[str] = "dyspec"
    verified_with: ClassVar[str] = "rejection_without_replacement"
    draws: ClassVar[Draws] = Draws.SIBLINGS_FROM_Q

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(4)), (3, cls(5)), (4, cls(2))

    def longest(self, draft: TokenProcess, most: int) -> int:
        """See `BestFirst`: the values of all slots sum to 1, so that the largest of `n` has at least `1/n`."""
        layer: list[tuple[Context, Any]] = [((), 1)] if self.drawn else []
        for depth in range(most):
            layer = [(context, value) for context, value in layer if reaches(value, Fraction(1, self.drawn))]
            if not layer:
                return depth
            layer = [
                ((*context, token), value * number(mass))
                for context, value in layer
                for token, mass in enumerate(draft.row(context))
            ]
        return most

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, slot by slot."""
        return DraftTree(self.grown(draft, coin)[0])

    def grown(self, draft: TokenProcess, coin: Coin) -> tuple[dict[Context, tuple[int, ...]], dict[Context, Any]]:
        """The drafted tokens by context, and the draft probability of each drafted node in the order of drawing."""
        slots: list[tuple[Any, Context, Vector]] = [(1, (), None)]  # value, node, its row without the tokens drawn
        drafted: dict[Context, tuple[int, ...]] = {}
        values: dict[Context, Any] = {(): 1}
        for _ in range(self.drawn if self.depth else 0):
            place = largest([value for value, _, _ in slots], 1)[0]
            value, context, rest = slots.pop(place)
            if not value > 0:
                break
            row = draft.row(context) if rest is None else rest
            token = coin.choose(row)
            part, child = number(row[token]), (*context, token)
            drafted[context] = (*drafted.get(context, ()), token)
            values[child] = values[context] * number(draft.row(context)[token])
            deeper = [(value * part, child, None)] if len(child) < self.depth else []
            slots += [*deeper, (value * (1 - part), context, without(row, token))]
        del values[()]
        return drafted, values


@dataclass(frozen=True)
class DySpecPruned(DySpec):
    """Negative control: draws one token more, then drops the leaf of the smallest draft probability."""

    name: ClassVar[str] = "dyspec_pruned"
    verified_with: ClassVar[str] = ""
    draws: ClassVar[Draws] = Draws(0)

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2)), (3, cls(2))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft `nodes + 1` tokens and drop one."""
        drafted, values = self.grown(draft, coin)
        leaves = [context for context in values if context not in drafted]
        if len(values) > self.nodes:
            *parent, token = leaves[largest([1 - values[leaf] for leaf in leaves], 1)[0]]
            siblings = tuple(drawn for drawn in drafted.pop(tuple(parent)) if drawn != token)
            drafted |= {tuple(parent): siblings} if siblings else {}
        return DraftTree(drafted)

    @property
    def drawn(self) -> int:
        """The number of tokens that are drawn, with the one that is dropped."""
        return self.nodes + (1 if self.nodes else 0)
