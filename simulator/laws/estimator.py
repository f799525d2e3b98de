"""The fixed-tree estimator: `E[tau + 1 | tree]`, the mean over the verifier's randomness, exact.

Averaged over draft trees it is the block efficiency, with less variance than counting accepted tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simulator.arithmetic import arithmetic_of
from simulator.coins import outcomes
from simulator.laws.enumeration import guarded
from simulator.protocol import Context, DraftNode, Vector, Verifier
from simulator.structures import Branch, LeafToRoot, branch_of, offered


def tree_efficiency(verifier: Verifier, root: DraftNode) -> Any:
    """`E[tau + 1]` on the tree under `root`, in the arithmetic of its rows; see `TreeEfficiency`."""
    return TreeEfficiency(verifier).of(root)


def tree_efficiency_by_coins(verifier: Verifier, root: DraftNode) -> Any:
    """`tree_efficiency` for any verifier, by enumerating its coin."""
    arithmetic = arithmetic_of(root.target)
    verdicts = outcomes(guarded(verifier, root), arithmetic)
    return sum(((len(verdict.accepted) + 1) * mass for verdict, mass in verdicts), start=arithmetic.number(0))


def closed_form(verifier: Verifier) -> bool:
    """Whether its mean on a tree follows without running it on the outcomes of its coin; see `TreeEfficiency`."""
    return branch_of(verifier) is not None or isinstance(offered(verifier), LeafToRoot)


@dataclass
class TreeEfficiency:
    """`E[tau + 1]` on many trees of one pair of processes; what happens at a node is computed once for all of them.

    A verifier with `branch` costs one step a node: the sum over nodes of the product of branching probabilities. So
    does one from leaf to root: that a subtree is rejected is all that the next sibling needs to know. Any other is run
    on all outcomes of its coin.
    """

    verifier: Verifier
    _laws: dict[Any, Any] = field(default_factory=dict)

    def of(self, root: DraftNode) -> Any:
        """The mean on the tree under `root`, in the arithmetic of its rows."""
        branch, structure = branch_of(self.verifier), offered(self.verifier)
        if branch is not None:
            return self._by_products(branch, root)
        if isinstance(structure, LeafToRoot):
            return 1 + self._by_rejections(structure, root, root.target[:1] * 0 + 1, is_root=True)[1]
        return tree_efficiency_by_coins(self.verifier, root)

    def _by_products(self, branch: Branch, node: DraftNode) -> Any:
        if not node.children:
            return 1
        key = node.context, node.children
        if key not in self._laws:
            self._laws[key] = branch(node.target, node.draft, node.children).tolist()
        law = self._laws[key]
        below = dict.fromkeys(node.children)
        return 1 + sum(law[token] * self._by_products(branch, node.child(token)) for token in below)

    def _by_rejections(
        self, structure: LeafToRoot, node: DraftNode, weight: Any, is_root: bool = False
    ) -> tuple[Any, Any]:
        """For a node entered with a weight: the probability that its subtree is accepted, and the mean depth below."""
        tried: tuple[int, ...] = ()
        state = node.target, node.draft, weight
        accepted, deeper, left = 0, 0, 1
        for token in dict.fromkeys(node.children):
            entered, after = self._one_child(structure, node.context, weight, tried, state, token)
            part, below = self._by_rejections(structure, node.child(token), entered)
            accepted, deeper, left = accepted + left * part, deeper + left * (below + part), left * (1 - part)
            state, tried = after, (*tried, token)
        return accepted + left * (1 if is_root else state[2].tolist()[0]), deeper

    def _one_child(
        self,
        structure: LeafToRoot,
        context: Context,
        weight: Any,
        tried: tuple[int, ...],
        state: tuple[Vector, Vector, Any],
        token: int,
    ) -> tuple[Any, tuple[Vector, Vector, Any]]:
        """The weight with which a child is entered, and the state of its parent once it is rejected."""
        key = context, weight.tolist()[0], tried, token
        if key not in self._laws:
            p, q, own = state
            entered = structure.child_weights(own, p, q)[token : token + 1]
            self._laws[key] = entered, structure.reject(own, p, q, token)
        found: tuple[Any, tuple[Vector, Vector, Any]] = self._laws[key]
        return found
