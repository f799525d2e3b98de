"""Trees of many schemes after one root, drawn together: every row is computed once for all of them.

Delayed trees are parts of one tree that branches off its trunk everywhere, so that one drawing serves all shapes; on
each part the law is that of the shape alone, though parts of one drawing are not independent. Other schemes are drawn
by themselves and share the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from experiments.models.loop.replay import advance, drawing, nodes_of
from experiments.models.loop.rows import TreeRows
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from simulator.drafts import Delayed
from simulator.drafts.trees import DraftTree
from simulator.protocol import Coin, Context, DraftNode, DraftScheme

#: By trunk length the paths that go through the trunk so far and then apart; the first one is the trunk to its end.
Grown: TypeAlias = dict[int, list[Context]]


class RootTrees:
    """Trees after the tokens of `root`; a row is computed by a plain pass over its whole context."""

    def __init__(self, pair: Pair, warp: Warp, root: Context) -> None:
        self._target, self._draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self._pair, self._warp, self._root = pair, warp, root

    def drawn(self, schemes: Sequence[DraftScheme], coin: Coin) -> list[DraftNode]:
        """The root of one tree of every scheme; all delayed ones are parts of one tree."""
        shapes = [scheme for scheme in schemes if type(scheme) is Delayed]
        grown = self._grown(shapes, coin) if shapes else {}
        trees = [_part(grown, scheme) if type(scheme) is Delayed else self._alone(scheme, coin) for scheme in schemes]
        self._compute("target", {node for tree in trees for node in ((), *nodes_of(tree))})
        return [tree.root(self._target, self._draft) for tree in trees]

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
            self._compute("draft", {trunk, *(path for each in growing.values() for path in each)})
            for length, each in growing.items():
                paths[length] = [self._longer(path, coin) for path in each]
            trunk = self._longer(trunk, coin)
        return {length: [trunk, *paths.get(length, [])] for length in ends}

    def _longer(self, path: Context, coin: Coin) -> Context:
        return (*path, coin.choose(self._draft.row(path)))

    def _alone(self, scheme: DraftScheme, coin: Coin) -> DraftTree:
        drawings = [drawing(scheme, self._pair.vocab_size, coin, self._draft.known)]
        trees: dict[int, DraftTree] = {}
        while not trees:
            (wanted,) = advance(drawings, trees)
            self._compute("draft", wanted)
        return trees[0]

    def _compute(self, which: str, contexts: Iterable[Context]) -> None:
        """Add the rows after these contexts that are missing, in one batch of passes for each length."""
        rows = {"target": self._target, "draft": self._draft}[which]
        missing = set(contexts) - rows.known.keys()
        for length in sorted({len(context) for context in missing}):
            some = sorted(context for context in missing if len(context) == length)
            found = self._pair.rows(which, [[*self._root, *context] for context in some], self._warp, len(self._root))
            rows.known.update(zip(some, found.cpu().numpy(), strict=True))


def _part(grown: Grown, scheme: Delayed) -> DraftTree:
    """The tree of a shape inside a grown one."""
    paths = [path[: scheme.depth] for path in grown[scheme.L1][: scheme.K]]
    return DraftTree.from_paths(paths[0][: scheme.L1], [path[scheme.L1 :] for path in paths])
