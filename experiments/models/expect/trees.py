"""Draft trees after one root, drawn from rows of plain passes, each over its whole context.

Neither caches nor tree attention take part, so what the loop does is held to them. A row is computed once.
Delayed trees are parts of one tree that branches off its trunk everywhere, so that one drawing serves all shapes; on
each part the law is that of the shape alone, though parts of one drawing are not independent. Other schemes are drawn
by themselves and share the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from draftproof.experiments.models.loop.drafting import advance, drawing, nodes_of
from draftproof.experiments.models.loop.vectors import TreeRows
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme

#: By trunk length the paths that go through the trunk so far and then apart; the first one is the trunk to its end.
Grown: TypeAlias = dict[int, list[Context]]


class RootTrees:
    """Trees after the tokens of `root`, with the rows of both models. target, draft: the rows that are known."""

    def __init__(self, pair: Pair, warp: Sampling, root: Context) -> None:
        self.target, self.draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self._pair, self._warp, self._root = pair, warp, root

    def drawn(self, scheme: DraftScheme, count: int, coin: Coin) -> list[DraftTree]:
        """So many trees of a scheme, drawn side by side; raises as `drawing`."""
        drawings = [drawing(scheme, self._pair.vocab_size, coin, self.draft.known) for _ in range(count)]
        drawn: dict[int, DraftTree] = {}
        while len(drawn) < count:
            self._add("draft", [context for each in advance(drawings, drawn) for context in each])
        return [drawn[number] for number in range(count)]

    def one_of_each(self, schemes: Sequence[DraftScheme], coin: Coin) -> list[DraftNode]:
        """The root of one tree of every scheme; all delayed ones are parts of one tree."""
        shapes = [scheme for scheme in schemes if type(scheme) is Delayed]
        grown = self._grown(shapes, coin) if shapes else {}
        return self.roots(
            [_part(grown, each) if type(each) is Delayed else self.drawn(each, 1, coin)[0] for each in schemes]
        )

    def roots(self, trees: Sequence[DraftTree]) -> list[DraftNode]:
        """The root of each tree, with the target's rows of all their nodes."""
        self._add("target", [node for tree in trees for node in ((), *nodes_of(tree))])
        return [tree.root(self.target, self.draft) for tree in trees]

    def _add(self, which: str, contexts: Iterable[Context]) -> None:
        """Add the rows after these contexts that are missing, in one batch of passes for each length."""
        known = {"target": self.target, "draft": self.draft}[which].known
        missing = set(contexts) - known.keys()
        for length in sorted({len(context) for context in missing}):
            some = sorted(context for context in missing if len(context) == length)
            rows = self._pair.rows(which, [[*self._root, *context] for context in some], self._warp, len(self._root))
            known.update(zip(some, rows.cpu().numpy(), strict=True))

    def _grown(self, shapes: Sequence[Delayed], coin: Coin) -> Grown:
        """A tree, level by level: a long trunk, and after each trunk length as many branches as any shape has there.

        The first branch after each length is the trunk itself: every shape finds its branches i.i.d. in the tree.
        """
        ends = {scheme.L1: 0 for scheme in shapes}
        widths = dict.fromkeys(ends, 1)
        for scheme in shapes:
            ends[scheme.L1] = max(ends[scheme.L1], scheme.depth)
            widths[scheme.L1] = max(widths[scheme.L1], scheme.K)
        trunk: Context = ()
        paths: Grown = {}
        for depth in range(max(ends.values())):
            paths[depth] = [trunk] * (widths.get(depth, 1) - 1)
            growing = {length: each for length, each in paths.items() if depth < ends.get(length, 0)}
            self._add("draft", {trunk, *(path for each in growing.values() for path in each)})
            for length, each in growing.items():
                paths[length] = [self._longer(path, coin) for path in each]
            trunk = self._longer(trunk, coin)
        return {length: [trunk, *paths.get(length, [])] for length in ends}

    def _longer(self, path: Context, coin: Coin) -> Context:
        return (*path, coin.choose(self.draft.row(path)))


def _part(grown: Grown, scheme: Delayed) -> DraftTree:
    paths = [path[: scheme.depth] for path in grown[scheme.L1][: scheme.K]]
    return DraftTree.from_paths(paths[0][: scheme.L1], [path[scheme.L1 :] for path in paths])
