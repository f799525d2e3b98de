"""Draft trees after one root, drawn from rows of plain passes, each over its whole context.

No cache and no tree attention is used, so these trees are an independent reference for the loop. A row is computed
once. All delayed trees are parts of one larger tree with branches at every depth of its trunk, so that one drawing
serves all shapes. Each part has the law of its own shape; parts of one drawing are not independent. The trees of other
schemes are drawn separately and share the rows.
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

#: For every trunk length the paths that leave the trunk there; the first of them is the trunk itself.
Grown: TypeAlias = dict[int, list[Context]]


class RootTrees:
    """Draws trees after the tokens of `root`.

    target, draft: the rows of both models computed so far. told: what verifiers are told of the draft.
    """

    def __init__(self, pair: Pair, warp: Sampling, root: Context) -> None:
        self.target, self.draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self.told = TreeRows(pair.vocab_size) if warp.told_apart else self.draft
        self._pair, self._warp, self._root = pair, warp, root

    def drawn(self, scheme: DraftScheme, count: int, coin: Coin) -> list[DraftTree]:
        """`count` trees of a scheme, drawn together so that their rows share passes; raises as `drawing`."""
        drawings = [drawing(scheme, self._pair.vocab_size, coin, self.draft.known) for _ in range(count)]
        drawn: dict[int, DraftTree] = {}
        while len(drawn) < count:
            self._add("draft", [context for each in advance(drawings, drawn) for context in each])
        return [drawn[number] for number in range(count)]

    def one_of_each(self, schemes: Sequence[DraftScheme], coin: Coin) -> list[DraftNode]:
        """The root of one tree of every scheme; all delayed trees are parts of one larger tree."""
        shapes = [scheme for scheme in schemes if type(scheme) is Delayed]
        grown = self._grown(shapes, coin) if shapes else {}
        return self.roots(
            [_part(grown, each) if type(each) is Delayed else self.drawn(each, 1, coin)[0] for each in schemes]
        )

    def roots(self, trees: Sequence[DraftTree]) -> list[DraftNode]:
        """The root of each tree, after the target's rows of all nodes are computed."""
        self._add("target", [node for tree in trees for node in ((), *nodes_of(tree))])
        if self.told is not self.draft:
            self._add("told", self.draft.known)
        return [tree.root(self.target, self.told) for tree in trees]

    def _add(self, which: str, contexts: Iterable[Context]) -> None:
        """Compute the missing rows after these contexts, in one batch for each length."""
        known = {"target": self.target, "draft": self.draft, "told": self.told}[which].known
        missing = set(contexts) - known.keys()
        for length in sorted({len(context) for context in missing}):
            some = sorted(context for context in missing if len(context) == length)
            rows = self._pair.rows(which, [[*self._root, *context] for context in some], self._warp, len(self._root))
            known.update(zip(some, rows.cpu().numpy(), strict=True))

    def _grown(self, shapes: Sequence[Delayed], coin: Coin) -> Grown:
        """Draw the larger tree, level by level: a long trunk, at each trunk length with all branches that shapes need.

        The first branch at each length is the trunk itself, so the branches of every shape are i.i.d.
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
