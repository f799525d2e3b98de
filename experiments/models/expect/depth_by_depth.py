"""`E[tau + 1]` from one delayed tree, depth by depth, where each depth uses only the tree down to that depth.

The weight or score of a node of a lossless verifier is the probability that it or a node below it is accepted, averaged
over the drafts below it. So `P(tau >= d)` is the mean of a function of the tree down to depth `d`. The estimate on a
deeper tree is never below that on its upper part, verifiers with the same law on a path get the same number on every
path, and no coin is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.laws.estimator import TreeEfficiency, closed_form
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import DraftNode, DraftScheme, Verifier
from draftproof.simulator.structures import Layered, LeafToRoot, OnePath, offered
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._weights import child_weight


def evaluates_by_depth(verifier: Verifier, scheme: DraftScheme) -> bool:
    """Whether `DepthByDepth` can evaluate the verifier on trees of the scheme."""
    if type(scheme) is not Delayed or scheme.name not in lossless_for(verifier.card):
        return False
    if closed_form(verifier):
        return True
    structure = offered(verifier) if is_library(verifier) else None
    return isinstance(structure, Layered) or (
        isinstance(structure, OnePath) and (scheme.K == 1 or verifier.card.single_path)
    )


@dataclass
class DepthByDepth(TreeEfficiency):
    """`E[tau + 1]` from one tree, where `evaluates_by_depth` holds; the result at a node is computed once."""

    def of(self, root: DraftNode) -> Any:
        structure: Any = offered(self.verifier)
        if isinstance(structure, LeafToRoot) or closed_form(self.verifier):
            return super().of(root)
        return _on_path(root) if isinstance(structure, OnePath) else _by_layers(self.verifier, root)

    def _by_rejections(
        self, structure: LeafToRoot, node: DraftNode, weight: Any, is_root: bool = False
    ) -> tuple[Any, Any]:
        tried: tuple[int, ...] = ()
        state = node.target, node.draft, weight
        deeper, rejected = 0, 1
        for token in dict.fromkeys(node.children):
            entered, after = self._one_child(structure, node.context, weight, tried, state, token)
            accepted = entered.tolist()[0]
            deeper += rejected * (accepted + self._by_rejections(structure, node.child(token), entered)[1])
            rejected, state, tried = rejected * (1 - accepted), after, (*tried, token)
        return weight.tolist()[0], deeper


def _on_path(node: DraftNode) -> Any:
    mean, weight = 1, 1
    while node.children:
        token = node.children[0]
        weight = child_weight(weight, node.target, node.draft, token)
        mean, node = mean + weight, node.child(token)
    return mean


def _by_layers(verifier: Any, root: DraftNode) -> Any:
    mean, layer = 1, [Scored(root, 1)]
    while any(scored.node.children for scored in layer):
        scores = verifier.step(layer).scores
        layer = [
            Scored(scored.node.child(token), scores[context])
            for scored in layer
            for token in sorted(set(scored.node.children))
            if (context := (*scored.node.context, token)) in scores
        ]
        mean += sum(scored.score for scored in layer)
    return mean
