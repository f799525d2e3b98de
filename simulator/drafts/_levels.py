"""Trees that grow level by level, whose rows a language model computes in one pass for each level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._shape import Parameters
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, TokenProcess, Vector


class ByLevels(Parameters):
    """A scheme whose nodes above its depth get their children each from its own row alone."""

    @property
    def depth(self) -> int:
        """The number of levels below the root."""
        raise NotImplementedError

    def children_at(self, context: Context, q: Vector, coin: Coin) -> tuple[int, ...]:
        """The drafted tokens of one node, in draft order; q: its row."""
        raise NotImplementedError

    def check_row(self, context: Context, q: Vector) -> None:
        """Raises `TooLarge` where a node has too many drafts to be listed."""

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, node by node, parents before children."""
        drafted: dict[Context, tuple[int, ...]] = {}
        level: list[Context] = [()]
        for _ in range(self.depth):
            prefetch(draft, level)
            for context in level:
                drafted[context] = self.children_at(context, draft.row(context), coin)
            level = [(*context, token) for context in level for token in dict.fromkeys(drafted[context])]
        return DraftTree(drafted)

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability; raises what `check_row` raises."""

        @cache
        def below(context: Context) -> int:
            if len(context) == self.depth:
                return 1
            q = draft.row(context)
            self.check_row(context, q)
            drawn = outcomes(lambda coin: self.children_at(context, q, coin), arithmetic_of(q))
            return sum(prod(below((*context, token)) for token in set(tokens)) for tokens, _ in drawn)

        return below(())


def prefetch(draft: TokenProcess, contexts: Sequence[Context]) -> None:
    """Name the contexts whose rows are needed next, before any token is drawn there.

    A process may have a method `prefetch(contexts)`, with which a language model computes a layer of a tree in one
    pass. It changes no tree.
    """
    method = getattr(draft, "prefetch", None)
    if method is not None:
        method(contexts)
