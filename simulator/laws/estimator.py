"""The fixed-tree estimator: `E[tau + 1 | tree]`, the mean over the verifier's randomness, exact.

Averaged over draft trees it is the block efficiency, with less variance than counting accepted tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.laws.guarded import guarded, verdicts
from draftproof.simulator.protocol import Context, DraftNode, TokenProcess, Vector, Verifier
from draftproof.simulator.shown import number_text, tree_svg
from draftproof.simulator.structures import Branch, LeafToRoot, TopDown, branch_of, declared, offered


@dataclass(frozen=True, repr=False)
class TreeLaw:
    """What a verifier does on one draft tree, over all outcomes of its coin.

    reach: for each node `c` of the tree the reach `D(c)`, the probability that it is accepted: the accepted path goes
    through it or ends there.
    """

    verifier: str
    tree: DraftTree
    reach: Mapping[Context, Fraction | float]

    @classmethod
    def of(
        cls, verifier: Verifier, tree: DraftTree, target: TokenProcess, draft: TokenProcess, arithmetic: Arithmetic
    ) -> TreeLaw:
        """By enumeration; raises what `verdicts` raises."""
        nodes = [(), *((*context, token) for context, drafted in tree.children.items() for token in drafted)]
        reach = dict.fromkeys(nodes, arithmetic.number(0))
        for (accepted, _), mass in verdicts(verifier, tree, target, draft, arithmetic).items():
            for depth in range(len(accepted) + 1):
                reach[accepted[:depth]] += mass
        return cls(verifier.card.name, tree, {context: as_python(mass) for context, mass in reach.items()})

    @property
    def block_efficiency(self) -> Fraction | float:
        """`E[tau + 1]` on this tree: the sum of `D(c)` over its nodes, the root included."""
        return sum(self.reach.values())

    def to_dict(self) -> dict[str, Any]:
        """The numbers."""
        return {"verifier": self.verifier, "block_efficiency": self.block_efficiency, "reach": dict(self.reach)}

    def __repr__(self) -> str:
        return f"TreeLaw({self.verifier} on {self.tree}: E[tau + 1] {number_text(self.block_efficiency)})"

    def _repr_html_(self) -> str:
        title = f"{self.verifier}: E[tau + 1] on this tree {number_text(self.block_efficiency)}"
        return f"<div>{title}<br>{tree_svg(self.tree.children, self.reach)}</div>"


def tree_efficiency_by_coins(verifier: Verifier, root: DraftNode) -> Any:
    """`E[tau + 1]` on the tree under `root`, for any verifier, by enumerating its coin."""
    arithmetic = arithmetic_of(root.target)
    blocks = outcomes(guarded(verifier, root), arithmetic)
    return sum(((len(verdict.accepted) + 1) * mass for verdict, mass in blocks), start=arithmetic.number(0))


def closed_form(verifier: Verifier) -> bool:
    """Whether its mean on a tree follows without running it on the outcomes of its coin; see `TreeEfficiency`."""
    structure = declared(verifier)
    return isinstance(structure, LeafToRoot) or (isinstance(structure, TopDown) and structure.branch is not None)


@dataclass
class TreeEfficiency:
    """`E[tau + 1]` on many trees of one pair of processes; what happens at a node is computed once for all of them.

    A verifier with `branch` costs one step a node: the sum over nodes of the product of branching probabilities. So
    does one from leaf to root: that a subtree is rejected is all that the next sibling needs to know. Any other is run
    on all outcomes of its coin, and so is every verifier on a tree whose branches have laws of their own.
    """

    verifier: Verifier
    _laws: dict[Any, Any] = field(default_factory=dict)

    def of(self, root: DraftNode) -> Any:
        """The mean on the tree under `root`, in the arithmetic of its rows."""
        branch, structure = branch_of(self.verifier), offered(self.verifier)
        if has_own_laws(root):
            return tree_efficiency_by_coins(self.verifier, root)
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
        laws: tuple[Any, tuple[Vector, Vector, Any]] = self._laws[key]
        return laws


def has_own_laws(node: DraftNode) -> bool:
    """Whether a branch has another law than `q` at a node."""
    own = any(law is not node.draft for law in node.laws)
    return own or any(has_own_laws(node.child(token)) for token in dict.fromkeys(node.children))
