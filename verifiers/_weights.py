"""Weights along drafted paths: `w(root) = 1` and `w(child x) = min(1, w p(x)/q(x))`.

Block verification and all verifiers built on it share this recursion.
"""

from __future__ import annotations

from typing import Any

from draftproof.simulator.protocol import DraftNode, Vector
from draftproof.simulator.vectors import excess, minimum, normalised, positive_part, residual, sums


def child_weight(weight: Any, p: Vector, q: Vector, token: int) -> Any:
    """`min(1, w p(x)/q(x))` at a drafted token; as `capped` where `q = 0`."""
    return capped(weight * p[token], q[token])


def capped(target: Any, mass: Any) -> Any:
    """`min(1, target / mass)` of a drafted token; as `acceptance`, where `mass = 0` it is 1 if `target > 0`, else 0."""
    if target < mass:
        return target / mass
    return 1 if target > 0 else 0


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


def leftover(weight: Any, p: Vector, q: Vector) -> Vector:
    """Normalised `(w p - q)+`, `p` where it is zero: the new target of a node whose continuation was rejected."""
    return residual(weight * p, q, otherwise=p)


def stop_probability(weight: Any, p: Vector, q: Vector) -> Any:
    """`h = s/(s + 1 - w)` with `s = sum (w p - q)+`, 0 where `s = 0`: accept a node whose continuation was rejected."""
    total = excess(p, q, weight).sum()
    return total / (total + (1 - weight)) if total > 0 else 0  # the brackets keep rounding from cancelling it


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
