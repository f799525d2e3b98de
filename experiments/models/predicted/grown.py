"""Trees of many schemes after one root, drawn together: every row is computed once for all of them.

Delayed trees are parts of one tree that branches off its trunk everywhere, so that one drawing serves all shapes; on
each part the law is that of the shape alone, though parts of one drawing are not independent. Other schemes are drawn
by themselves and share the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.predicted.root_rows import RootRows
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme

#: By trunk length the paths that go through the trunk so far and then apart; the first one is the trunk to its end.
Grown: TypeAlias = dict[int, list[Context]]


class RootTrees:
    """Trees after the tokens of `root`; a row is computed by a plain pass over its whole context."""

    def __init__(self, pair: Pair, warp: Warp, root: Context) -> None:
        self._rows = RootRows(pair, warp, root)

    def drawn(self, schemes: Sequence[DraftScheme], coin: Coin) -> list[DraftNode]:
        """The root of one tree of every scheme; all delayed ones are parts of one tree."""
        shapes = [scheme for scheme in schemes if type(scheme) is Delayed]
        grown = self._grown(shapes, coin) if shapes else {}
        rows = self._rows
        trees = [_part(grown, each) if type(each) is Delayed else rows.trees(each, 1, coin)[0] for each in schemes]
        return rows.roots(trees)

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
            self._rows.add("draft", {trunk, *(path for each in growing.values() for path in each)})
            for length, each in growing.items():
                paths[length] = [self._longer(path, coin) for path in each]
            trunk = self._longer(trunk, coin)
        return {length: [trunk, *paths.get(length, [])] for length in ends}

    def _longer(self, path: Context, coin: Coin) -> Context:
        return (*path, coin.choose(self._rows.draft.row(path)))


def _part(grown: Grown, scheme: Delayed) -> DraftTree:
    """The tree of a shape inside a grown one."""
    paths = [path[: scheme.depth] for path in grown[scheme.L1][: scheme.K]]
    return DraftTree.from_paths(paths[0][: scheme.L1], [path[scheme.L1 :] for path in paths])
