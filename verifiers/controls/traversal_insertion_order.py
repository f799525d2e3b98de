"""Negative control: traversal verification that takes leaves by the order in which their paths were inserted.

The bug: of all current leaves the next one is that whose path was drafted first, where the algorithm
wants depth first. With three paths `ab.., d.., ac..` the walk leaves `a`'s subtree for `d` after the first
path and comes back to `a` later, when the root's residual no longer fits. Lossless for at most two paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Verdict
from draftproof.simulator.vectors import without
from draftproof.verifiers._paths import child_weight
from draftproof.verifiers.block import leftover, stop_probability


@dataclass(frozen=True)
class TraversalInsertionOrder:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="traversal_insertion_order",
        title="Traversal verification by insertion order",
        source=Source("weng2025traversal", "traversal verification, with one bug"),
        needs=Draws.ONE_PATH,
        control=True,
        departs="Leaves are visited by the order of their paths instead of depth first.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        top = _grow(root, None, [0])
        _reweigh(top)
        while top.children:
            leaf = min(_leaves(top), key=lambda node: node.order)
            if coin.flip(leaf.weight):
                return Verdict(leaf.context, coin.choose(leaf.p))
            _delete(leaf)
        return Verdict(top.context, coin.choose(top.p))


@dataclass(eq=False)
class _Node:
    """A node whose numbers change as leaves are rejected; `order` is that of the first path through it."""

    context: tuple[int, ...]
    p: Any
    q: Any
    parent: _Node | None
    order: int
    weight: Any = 1
    children: dict[int, _Node] = field(default_factory=dict)


def _grow(node: DraftNode, parent: _Node | None, paths: Sequence[int]) -> _Node:
    """Copy the tree; `paths` numbers the paths through `node`, anew where a trunk ends in branches."""
    grown = _Node(node.context, node.target, node.draft, parent, paths[0])
    if len(node.children) != len(paths):
        paths = range(len(node.children))
    for token in dict.fromkeys(node.children):
        through = [path for path, drafted in zip(paths, node.children, strict=True) if drafted == token]
        grown.children[token] = _grow(node.child(token), grown, through)
    return grown


def _reweigh(node: _Node) -> None:
    """Recompute the weights below `node` from its current numbers."""
    for token, child in node.children.items():
        child.weight = child_weight(node.weight, node.p, node.q, token)
        _reweigh(child)


def _leaves(node: _Node) -> list[_Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.children.values() for leaf in _leaves(child)]


def _delete(leaf: _Node) -> None:
    """Remove a rejected leaf: its parent keeps the residual, and the weights below follow."""
    parent, token = leaf.parent, leaf.context[-1]
    assert parent is not None
    del parent.children[token]
    p, q, weight = parent.p, parent.q, parent.weight
    parent.p, parent.q = leftover(weight, p, q), without(q, token)
    parent.weight = stop_probability(weight, p, q)
    _reweigh(parent)
