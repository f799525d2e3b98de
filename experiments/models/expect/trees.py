"""Draft trees after one root, drawn from rows of plain passes, each over one path after the root.

Neither caches of the loop nor tree attention are used, so these trees are an independent reference for it. A row is
computed once, and one pass gives the rows of all nodes of one depth that are asked for together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.loop.drafting import advance, drawing, nodes_of
from draftproof.experiments.models.loop.vectors import TreeRows
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme


class RootTrees:
    """Draws trees after the tokens of `root`.

    target, draft: the rows of both models computed so far. told: what verifiers are told of the draft.
    """

    def __init__(self, pair: Pair, sampling: Sampling, root: Context) -> None:
        self.target, self.draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self.told = TreeRows(pair.vocab_size) if sampling.tells_another_q else self.draft
        self._pair, self._sampling, self._root = pair, sampling, root

    def drawn(self, scheme: DraftScheme, count: int, coin: Coin) -> list[DraftTree]:
        """`count` trees of a scheme, drawn together so that their rows share passes; raises as `drawing`."""
        drawings = [drawing(scheme, self._pair.vocab_size, coin, self.draft.known) for _ in range(count)]
        drawn: dict[int, DraftTree] = {}
        while len(drawn) < count:
            self._add("draft", [context for each in advance(drawings, drawn) for context in each])
        return [drawn[number] for number in range(count)]

    def roots(self, trees: Sequence[DraftTree]) -> list[DraftNode]:
        """The root of each tree, after the target's rows of all nodes are computed."""
        self._add("target", [node for tree in trees for node in ((), *nodes_of(tree))])
        if self.told is not self.draft:
            self._add("told", self.draft.known)
        return [tree.root(self.target, self.told) for tree in trees]

    def _add(self, which: str, contexts: Iterable[Context]) -> None:
        """Compute the missing rows after these contexts."""
        known = {"target": self.target, "draft": self.draft, "told": self.told}[which].known
        missing = sorted(set(contexts) - known.keys(), key=lambda context: (len(context), context))
        for _, group in groupby(missing, len):
            some = list(group)
            rows = continued_rows(self._pair, which, self._sampling, self._root, np.array(some).reshape(len(some), -1))
            known.update(zip(some, rows, strict=True))
