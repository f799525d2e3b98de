"""Sequoia [chen2024sequoia]: a fixed tree, planned from the probability that the first, second, .. child is accepted.

The plan maximises the expected number of accepted nodes: a node reached with probability `f` whose `b`-th child is the
accepted one with probability `P[b]` reaches that child with `f P[b]`. Children are drawn without replacement; where all
tokens with `q > 0` are drawn, scheme and verifier both use the uniform law over the other tokens. The verifier of the
paper is `sequoia`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting
from draftproof.simulator.drafts.topology import Topology, draft_level_by_level
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Draws, TokenProcess, Vector

#: Nodes of the largest tree that is planned, which takes a second or two.
MOST_PLANNED = 200


@dataclass(frozen=True)
class Sequoia(Adapting):
    """A tree of at most `nodes` tokens planned from acceptance rates; children drawn without replacement.

    tree: the plan, numbers of children node by node and level by level as in `Topology`; `planned` makes it from an
    acceptance vector. Without one nothing can be drawn. Raises `InvalidInput` for a tree beyond the limits.
    """

    nodes: int = 4
    depth: int = 2
    tree: tuple[int, ...] = ()

    name: ClassVar[str] = "sequoia"
    verified_with: ClassVar[str] = "sequoia"
    draws: ClassVar[Draws] = Draws.SIBLINGS_IN_TURN | Draws.DISTINCT_SIBLINGS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tree:
            made = Topology(self.tree)
            if made.nodes > self.nodes or made.depth > self.depth:
                raise InvalidInput(
                    f"sequoia: tree {'-'.join(map(str, self.tree))} has {made.nodes} nodes and depth {made.depth}; "
                    f"at most {self.nodes} and {self.depth} were asked"
                )

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(4, 2, (2, 2, 0, 0, 0))), (3, cls(4, 2, (2, 1, 1, 0, 0))), (4, cls(3, 1, (3, 0, 0, 0)))

    @classmethod
    def planned(cls, acceptance: Sequence[Any], nodes: int, depth: int) -> Self:
        """The best tree for an acceptance vector: `acceptance[b]` for child `b`, disjoint events."""
        return cls(nodes, depth, plan(acceptance, nodes, depth))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, node by node, parents before children."""
        if not self.tree:
            raise InvalidInput(
                f"{self} has no tree yet: check, compare, bound and audit plan one for their instance; "
                f"elsewhere name it, as in sequoia:nodes={self.nodes},depth={self.depth},tree=1-0"
            )
        return draft_level_by_level(self.tree, draft, lambda q, k: _children(q, coin, k))

    def reductions(self) -> list[Self]:
        """The trees that are left when last leaves are removed one by one, the smallest first."""
        smaller = Topology(self.tree).reductions() if self.tree else []
        return [type(self)(made.nodes, made.depth, made.tree) for made in smaller] or [self]


def remaining(q: Vector, tried: Sequence[int]) -> Vector:
    """The law of the next child: `q` without the tried tokens, or uniform over the others if nothing is left of it."""
    rest = q * 1  # a copy, of an array and of a tensor
    for token in tried:
        rest[token] = rest[token] * 0
    total = rest.sum()
    if total > 0:
        return rest / total
    others = q * 0 + 1
    for token in tried:
        others[token] = others[token] * 0
    return others / others.sum()


def _children(q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
    tokens: tuple[int, ...] = ()
    for _ in range(min(k, len(q))):
        tokens = (*tokens, coin.choose(remaining(q, tokens)))
    return tokens


def plan(acceptance: Sequence[Any], nodes: int, depth: int) -> tuple[int, ...]:
    """The tree of at most `nodes` drafted tokens and this depth with the largest expected number of accepted ones.

    By dynamic programming over (nodes, depth, the first child without a subtree): that child gets part of the nodes,
    for itself and what is below it, its later siblings the rest. Ties go to fewer nodes. The result is as `Topology`
    has it.
    """
    width = len(acceptance)
    if nodes > MOST_PLANNED:
        raise InvalidInput(f"sequoia: a plan of {nodes} nodes is beyond the {MOST_PLANNED} that are searched")

    @cache
    def best(size: int, levels: int, child: int) -> tuple[Any, tuple[Any, ...]]:
        """The most that `size` tokens on so many levels give as the children `child`, .. of a node: (gain, plan)."""
        largest: tuple[Any, tuple[Any, ...]] = (0, ())
        if size and levels and child < width:
            for own in range(1, size + 1):
                below, own_plan = best(own - 1, levels - 1, 0)
                beside, plan_beside = best(size - own, levels, child + 1)
                gain = acceptance[child] * (1 + below) + beside
                if gain > largest[0]:
                    largest = (gain, (own_plan, *plan_beside))
        return largest

    counts: list[int] = []
    waiting = [best(nodes, depth, 0)[1]]
    for children in waiting:  # grows while it is walked
        counts.append(len(children))
        waiting += children
    return tuple(counts)
