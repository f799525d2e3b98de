"""Draft trees after one root, and what each says about a verifier: `P(tau >= d)` by depth, averaged over its coin.

Trees are drawn from rows of plain passes, each over one path after the root. Neither caches of the loop nor tree
attention are used, so these trees are an independent reference for it. A row is computed once, and one pass gives the
rows of all nodes of one depth that are asked for together.

For a lossless verifier on delayed trees each depth uses only the tree down to that depth (`evaluates_by_depth`): the
weight or score of a node is the probability that it or a node below it is accepted, averaged over the drafts below it.
The estimate on a deeper tree is then never below that on its upper part, verifiers with the same law on a path get the
same numbers on every path, and no coin is sampled. Others from the top down follow exactly from their branching. For
all others flips of the coin are explored and choices are sampled.

Averaged over draft trees these are the probabilities of the verifier, with less variance than counting tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from typing import Any

import numpy as np

from draftproof.experiments.models.expect.tables import continued_rows
from draftproof.experiments.models.loop.drafting import advance, drawing, nodes_of
from draftproof.experiments.models.loop.vectors import TreeRows
from draftproof.experiments.models.pair.pair import Pair
from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.estimator import closed_form, has_own_laws
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme, Verifier
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.structures import Branch, Layered, LeafToRoot, OnePath, branch_of, offered
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._paths import child_weight


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
            self._add("draft", [context for missing in advance(drawings, drawn) for context in missing])
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


def evaluates_by_depth(verifier: Verifier, scheme: DraftScheme) -> bool:
    """Whether each depth of the result for this verifier on trees of the scheme uses only the tree down to there."""
    if type(scheme) is not Delayed or scheme.name not in lossless_for(verifier.card):
        return False
    if closed_form(verifier):
        return True
    structure = offered(verifier) if is_library(verifier) else None
    return isinstance(structure, Layered) or (
        isinstance(structure, OnePath) and (scheme.K == 1 or verifier.card.single_path)
    )


def reaches_on_tree(
    verifier: Verifier, scheme: DraftScheme, root: DraftNode, generator: np.random.Generator
) -> list[Any]:
    """`P(tau >= d)` for `d = 0..` as deep as the tree, in the arithmetic of its rows.

    generator: for the choices of verifiers of which nothing else is known; those are unbiased, in float64.
    """
    branch, structure = branch_of(verifier), offered(verifier)
    if branch is not None and not has_own_laws(root):
        return _by_branches(branch, root)
    if evaluates_by_depth(verifier, scheme):
        if isinstance(structure, OnePath):
            return _on_path(root)
        if isinstance(structure, Layered):
            return _by_layers(verifier, root)
        if isinstance(structure, LeafToRoot):
            return [1, *_below(structure, root, root.target[:1] * 0 + 1)]
    return _by_flips(verifier, root, generator)


def _by_branches(branch: Branch, node: DraftNode) -> list[Any]:
    if not node.children:
        return [1]
    law = branch(node.target, node.draft, node.children).tolist()
    parts = [
        [law[token] * reach for reach in _by_branches(branch, node.child(token))]
        for token in dict.fromkeys(node.children)
    ]
    return [1, *_sum(parts)]


def _on_path(node: DraftNode) -> list[Any]:
    weights: list[Any] = [1]
    while node.children:
        token = node.children[0]
        weights.append(child_weight(weights[-1], node.target, node.draft, token))
        node = node.child(token)
    return weights


def _by_layers(verifier: Any, root: DraftNode) -> list[Any]:
    reaches: list[Any] = [1]
    layer = [Scored(root, 1)]
    while any(scored.node.children for scored in layer):
        scores = verifier.step(layer).scores
        layer = [
            Scored(scored.node.child(token), scores[context])
            for scored in layer
            for token in sorted(set(scored.node.children))
            if (context := (*scored.node.context, token)) in scores
        ]
        reaches.append(sum(scored.score for scored in layer))
    return reaches


def _below(structure: LeafToRoot, node: DraftNode, weight: Any) -> list[Any]:
    """By depth below a node that is entered with a weight, the probability that something there is accepted."""
    parts, rejected = [], 1
    p, q = node.target, node.draft
    for token in dict.fromkeys(node.children):
        entered = structure.child_weights(weight, p, q)[token : token + 1]
        accepted = entered.tolist()[0]
        deeper = [accepted, *_below(structure, node.child(token), entered)]
        parts.append([rejected * reach for reach in deeper])
        rejected *= 1 - accepted
        p, q, weight = structure.reject(weight, p, q, token)
    return _sum(parts)


def _sum(parts: Sequence[Sequence[Any]]) -> list[Any]:
    return [sum(reaches) for reaches in zip_longest(*parts, fillvalue=0)]


class FlipsCoin(EnumeratingCoin):
    """Enumerates both outcomes of every flip and samples one outcome of every choice.

    The mean over its outcomes is unbiased over its generator. With thousands of tokens, enumerating the correction
    token would take a run for each although its value does not change `tau`.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(arithmetic_of(np.zeros(1)))
        self._sampler = SamplingCoin(generator)

    def choose(self, weights: Any) -> int:
        asked = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        if self._next < len(self._script):
            return int(self._replay(asked))
        return int(self._branch(asked, [(self._sampler.choose(asked), self.weight)]))


def _by_flips(verifier: Verifier, root: DraftNode, generator: np.random.Generator) -> list[float]:
    coin = FlipsCoin(generator)
    verdicts = outcomes(lambda coin: verifier.verify(root, coin), arithmetic_of(root.target), coin)
    parts = [[float(mass)] * (len(verdict.accepted) + 1) for verdict, mass in verdicts]
    return _sum(parts)
