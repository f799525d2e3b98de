"""Weights along drafted paths, block verification of a path against any law, and the structures of the core.

`w(root) = 1` and `w(child x) = min(1, w p(x)/q(x))`: all verifiers built on block verification share this recursion.

Choosing one of the `K` branches by a rule turns the draft law into a selection law `r` on paths. Block verification of
the chosen path with `r` in place of `q` is lossless for every rule [thomas2026greedy].

The files of `naive`, `specinfer` and `block` hold the algorithms alone; what engines use in their place is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.protocol import Coin, DraftNode, Vector, Verdict
from draftproof.simulator.residual import capped, positive_part
from draftproof.simulator.structures import OF_TYPES, OnePath, TopDown
from draftproof.simulator.vectors import (
    acceptances,
    layers,
    minimum,
    normalised,
    one_draft_law,
    one_hot,
    residuals,
    sums,
    times,
    token_by_token,
)
from draftproof.verifiers.block import Block, block_verify
from draftproof.verifiers.naive import Naive
from draftproof.verifiers.specinfer import SpecInfer


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


def naive_child_law(p: Vector, q: Vector, k: int) -> Any:
    """See `TopDown.child_law`, shape `(2, n.., V)`: `[1]` an accepted draft, `[0]` a correction. `k` must be 1."""
    p, q = token_by_token(p), token_by_token(q)
    accepted = minimum(p, q)
    return one_draft_law(q, accepted, normalised(p - accepted, p), k)


def specinfer_branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`: a recursion over the drafts that are left."""
    targets = [p]
    for _ in drafted:
        targets.append(residuals(targets[-1], q))
    known: dict[tuple[int, ...], Vector] = {(): targets[-1]}

    def law(left: tuple[int, ...]) -> Vector:
        if left not in known:
            target = targets[len(drafted) - len(left)]
            total: Any = 0
            for place, token in enumerate(left):
                accepted = acceptances(target, q, token)
                rest = law(left[:place] + left[place + 1 :])
                total = total + accepted * one_hot(p, token) + (1 - accepted) * rest
            known[left] = total / len(left)
        return known[left]

    return law(tuple(sorted(drafted)))


def specinfer_child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    With `M_j = R_1 .. R_(j-1)` the draft of round `j` is accepted with mass `M_j min(p_j, q)`, and each of the
    `k - j` later ones equals it with probability `q`. A rejected draft has lost all its mass, so it never does.
    """
    p, q = token_by_token(p), token_by_token(q)
    others = 1 - q
    missed: Any = 1
    by_count: list[Any] = []  # accepted so far, by the number of drafts beside that one
    for _ in range(k):
        accepted = minimum(p, q)
        fewest, *more = times(by_count, others, q) if by_count else [0]
        by_count = [fewest + missed * accepted, *more]
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
    return layers([missed * p, *by_count])


def specinfer_last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`; a round is the same for all numbers of drafts that reach it."""
    p, q = token_by_token(p), token_by_token(q)
    missed: Any = 1
    stopped: Any = 0
    taken: Any = 0
    for drafts in range(1, max(masses) + 1):
        accepted = minimum(p, q)
        trying = sum(mass for k, mass in masses.items() if k >= drafts)
        taken = taken + missed * trying * accepted
        missed = missed * sums(q - accepted)
        p = normalised(p - accepted, p)
        if drafts in masses:
            stopped = stopped + missed * masses[drafts] * p
    return stopped, taken


OF_TYPES[Naive] = TopDown(child_law=naive_child_law)
OF_TYPES[SpecInfer] = TopDown(specinfer_branch, specinfer_child_law, specinfer_last_step)
OF_TYPES[Block] = OnePath(child_weights, at_rejection)
