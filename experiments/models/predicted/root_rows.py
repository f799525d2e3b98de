"""Rows after one root from plain passes, each over its whole context, and trees that are drawn from them.

Neither caches nor tree attention take part, so what the loop does is held to them. A row is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from draftproof.experiments.models.loop.replay import advance, drawing, nodes_of
from draftproof.experiments.models.loop.rows import TreeRows
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme


class RootRows:
    """The rows of both models after the tokens of `root`. target, draft: those that are known."""

    def __init__(self, pair: Pair, warp: Warp, root: Context) -> None:
        self.target, self.draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self._pair, self._warp, self._root = pair, warp, root

    def add(self, which: str, contexts: Iterable[Context]) -> None:
        """Add the rows after these contexts that are missing, in one batch of passes for each length."""
        known = {"target": self.target, "draft": self.draft}[which].known
        missing = set(contexts) - known.keys()
        for length in sorted({len(context) for context in missing}):
            some = sorted(context for context in missing if len(context) == length)
            found = self._pair.rows(which, [[*self._root, *context] for context in some], self._warp, len(self._root))
            known.update(zip(some, found.cpu().numpy(), strict=True))

    def trees(self, scheme: DraftScheme, count: int, coin: Coin) -> list[DraftTree]:
        """So many trees of a scheme, drawn side by side; raises as `drawing`."""
        drawings = [drawing(scheme, self._pair.vocab_size, coin, self.draft.known) for _ in range(count)]
        drawn: dict[int, DraftTree] = {}
        while len(drawn) < count:
            self.add("draft", [context for each in advance(drawings, drawn) for context in each])
        return [drawn[number] for number in range(count)]

    def roots(self, trees: Sequence[DraftTree]) -> list[DraftNode]:
        """The root of each tree, with the target's rows of all their nodes."""
        self.add("target", [node for tree in trees for node in ((), *nodes_of(tree))])
        return [tree.root(self.target, self.draft) for tree in trees]
