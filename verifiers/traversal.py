"""Traversal verification: visit the leaves of the tree depth first, from the bottom up.

[weng2025traversal], traversal verification. Children are the distinct drafted tokens in first-drafted order:
1. Weights: `w(root) = 1`, `w(child x) = min(1, w p(x)/q(x))`.
2. Accept the first leaf with probability `w` (the root always), correction from its current `p`.
3. On rejection delete it. At its parent, with `s = sum (w p - q)+`: `p` becomes normalised `(w p - q)+`
   (unchanged where `s = 0`), `w` becomes `s/(s + 1 - w)`, and `q` loses the token and is renormalised.
4. Recompute the weights below the parent; a parent without children has become a leaf.

For one path this is block verification. The tree may hold i.i.d. paths or drafts without replacement. Where drafts
have laws of their own, as `DraftNode.laws` tells, the law of the next child, without all rejected tokens, stands for
`q`, and children drafted from the flattest law are visited first, see `verifiers.specinfer`: given which children were
rejected, the first of the other drafts has this law, and `p` after a rejection does not depend on the rejected token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import capped, excess
from draftproof.simulator.structures import LeafToRoot
from draftproof.simulator.vectors import normalised, scalar, without
from draftproof.verifiers._paths import at_rejection, child_weights
from draftproof.verifiers.specinfer import flattest_first


@dataclass(frozen=True)
class Traversal:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="traversal",
        title="Traversal verification",
        source=Source("weng2025traversal", "traversal verification"),
        needs=Draws.SIBLINGS_FROM_LAWS,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        verdict = _visit(root, 1, coin, is_root=True)
        assert verdict is not None
        return verdict

    @property
    def structure(self) -> LeafToRoot:
        return LeafToRoot(child_weights, _reject)


def _reject(weight: Any, p: Vector, q: Vector, token: int) -> tuple[Vector, Vector, Any]:
    """Step 3 for many nodes at once."""
    rest, left = at_rejection(weight, p, q)
    others = q * 1
    others[..., token] = q[..., token] * 0
    return rest, normalised(others, q), left


def _visit(node: DraftNode, weight: Any, coin: Coin, is_root: bool = False) -> Verdict | None:
    """Accept a node of this subtree, or None if all of it is rejected; `weight` is that of its top node."""
    p, flipped = node.target, None
    drafts = flattest_first(node.children, node.laws)
    while drafts:
        token, q = drafts[0]
        verdict = _visit(node.child(token), capped(weight * scalar(p[token]), scalar(q[token])), coin)
        if verdict is not None:
            return verdict
        drafts = [draft for draft in drafts if draft[0] != token]
        if not drafts and not is_root:
            flipped = weight  # is at least the weight after the rejection, which takes a pass over the row
            if not coin.flip(flipped):
                return None
        rest = excess(p, q, weight)
        total = scalar(rest.sum())
        if not total > 0:
            return Verdict(node.context, coin.choose(p)) if is_root else None
        rest /= total
        p, weight = rest, total / (total + (1 - weight))  # the brackets keep rounding from cancelling it
        drafts = _given_not(token, drafts)
    if is_root or coin.flip(weight if flipped is None else capped(weight, flipped)):
        return Verdict(node.context, coin.choose(p))
    return None


def _given_not(token: int, drafts: list[tuple[int, Vector]]) -> list[tuple[int, Vector]]:
    """Drafts with the laws that they have, given that they are not this token."""
    laws = {id(law): law for _, law in drafts}
    laws = {key: without(law, token) if law[token] > 0 else law for key, law in laws.items()}
    return [(draft, laws[id(law)]) for draft, law in drafts]
