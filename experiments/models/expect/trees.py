"""Draft trees after one root, drawn from rows of plain passes, each over a whole path from the first token on.

No cache and no tree attention is used, so these trees are an independent reference for the loop. A row is computed
once, and one pass gives the rows of all nodes of a path that are asked for together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import torch

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
        self.told = TreeRows(pair.vocab_size) if sampling.told_apart else self.draft
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
        missing, begins = set(contexts) - known.keys(), len(self._root)
        along = {} if self._pair.reads_features(which) else self._logits_along(which, missing)
        for some in _by_length(missing):
            texts = torch.tensor([[*self._root, *context] for context in some], device=self._pair.device)
            logits = (
                torch.stack([along[context] for context in some]) if along else self._pair.logits(which, texts, begins)
            )
            rows = self._pair.sampled(which, logits, texts, self._sampling, begins)
            known.update(zip(some, rows.cpu().numpy(), strict=True))

    def _logits_along(self, which: str, contexts: Set[Context]) -> dict[Context, torch.Tensor]:
        """The logits after these contexts, from passes over those that no other one continues."""
        continued = {context[:length] for context in contexts for length in range(len(context))}
        logits_by_context: dict[Context, torch.Tensor] = {}
        for some in _by_length(contexts - continued):
            logits = self._pair.path_logits(which, [[*self._root, *context] for context in some], len(self._root))
            for context, rows in zip(some, logits, strict=True):
                along = {context[:length]: row for length, row in enumerate(rows)}
                logits_by_context |= {inner: row for inner, row in along.items() if inner in contexts}
        return logits_by_context


def _by_length(contexts: Iterable[Context]) -> list[list[Context]]:
    """The contexts in order, those of one length together."""
    made: dict[int, list[Context]] = {}
    for context in sorted(contexts, key=lambda context: (len(context), context)):
        made.setdefault(len(context), []).append(context)
    return list(made.values())
