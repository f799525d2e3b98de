"""Weights along drafted paths, and block verification of a path against any law.

`w(root) = 1` and `w(child x) = min(1, w p(x)/q(x))`: all verifiers built on block verification share this recursion.

Choosing one of the `K` branches by a rule turns the draft law into a selection law `r` on paths. Block verification of
the chosen path with `r` in place of `q` is lossless for every rule [thomas2026greedy].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.protocol import Coin, DraftNode, Vector, Verdict
from draftproof.simulator.residual import capped, positive_part
from draftproof.simulator.vectors import minimum, normalised, sums
from draftproof.verifiers.block import block_verify


@dataclass(frozen=True)
class Drawn:
    """The law from which a path's next token was drawn. mass: that of the token. row: computes all of it, `(V,)`.

    The row is needed only where the path is rejected.
    """

    mass: Any
    row: Callable[[], Vector]

    @classmethod
    def of(cls, law: Vector, token: int) -> Drawn:
        """From the row itself."""
        return cls(law[token], lambda: law)


def conditional(part: Any, whole: Any) -> Any:
    """`part / whole`, and nothing where nothing is drawn: at drafts that are impossible under a told q."""
    return part / whole if whole > 0 else part


def verify_drawn(path: Sequence[DraftNode], laws: Sequence[Drawn], coin: Coin) -> Verdict:
    """Block verification of a path, root first, whose `L` tokens were drawn from `laws`."""
    return block_verify(path, [law.mass for law in laws], lambda depth: laws[depth].row(), coin)


def count_iid_branches(root: DraftNode) -> int:
    """`K` of a delayed tree of i.i.d. branches, 1 for a single path; raises `UnsupportedTree` for any other tree."""
    node = root
    while len(node.children) == 1:
        node = node.child(node.children[0])
    if node.children:
        _branch_depth(node, len(node.children))
    return max(len(node.children), 1)


def _branch_depth(node: DraftNode, paths: int) -> int:
    """Length of the branches below `node`, through which `paths` of them go."""
    if not node.children:
        return 0
    depths = {_branch_depth(node.child(token), node.children.count(token)) for token in set(node.children)}
    if len(node.children) != paths or len(depths) != 1:
        raise UnsupportedTree(
            f"the tree at {node.context} is not made of i.i.d. branches: "
            f"{len(node.children)} drafts for {paths} paths; draft it with the scheme `delayed`"
        )
    return 1 + depths.pop()


def child_weight(weight: Any, p: Vector, q: Vector, token: int) -> Any:
    """`min(1, w p(x)/q(x))` at a drafted token; see `capped`."""
    return capped(weight * p[token], q[token])


def weighted_path(root: DraftNode) -> list[tuple[DraftNode, Any]]:
    """The nodes of the first path, root included, each with its weight."""
    node, weight = root, 1
    path = [(node, weight)]
    while node.children:
        token = node.children[0]
        weight = child_weight(weight, node.target, node.draft, token)
        node = node.child(token)
        path.append((node, weight))
    return path


def child_weights(weight: Any, p: Vector, q: Vector) -> Vector:
    """`child_weight` for every token of many nodes: weight `(n.., 1)`, result `(n.., V)`."""
    weighted, nothing = weight * p, q <= 0
    if not nothing.any():
        return minimum(weighted, q) / q
    return (minimum(weighted, q) + nothing * (weighted > 0)) / (q + nothing)


def at_rejection(weight: Any, p: Vector, q: Vector) -> tuple[Vector, Any]:
    """`leftover` and `stop_probability` of many nodes at once, shapes `(n.., V)` and `(n.., 1)`."""
    rest = positive_part(weight * p - q)
    total = sums(rest)
    return normalised(rest, p), total / (total + (1 - weight) + (total <= 0))
