"""A fixed tree topology, given by how many children each node has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import ClassVar, Self

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts._shape import Parameters
from draftproof.simulator.drafts.branching import draw_without_replacement
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector

#: Counting lists trees, at most so many.
MOST_TREES = 2_000_000


@dataclass(frozen=True)
class Topology(Parameters):
    """Any tree: the numbers of children, node by node, level by level; children drawn without replacement.

    tree: `(2, 1, 0, 0)` is a root with two children of which the first drafted has one. Where fewer tokens have `q > 0`
    than a node has children, the last ones are missing with all that is below them.
    Raises `InvalidInput` unless the counts describe one tree.
    """

    tree: tuple[int, ...] = (2, 1, 1, 0, 0)

    name: ClassVar[str] = "topology"
    draws: ClassVar[Draws] = Draws.WITHOUT_REPLACEMENT

    def __post_init__(self) -> None:
        if not self.tree or any(type(count) is not int or count < 0 for count in self.tree):
            raise InvalidInput(f"tree {self.tree}: give the number of children of each node, 0 or more")
        if sum(self.tree) != len(self.tree) - 1 or any(sum(self.tree[:n]) < n for n in range(1, len(self.tree))):
            raise InvalidInput(
                f"tree {self.tree} has {len(self.tree)} nodes and {sum(self.tree)} children; level by level every node "
                "but the root must be the child of one before it, as in topology:tree=2-1-0-0"
            )

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (
            (2, cls((2, 1, 1, 0, 0))),
            (3, cls((3, 2, 0, 0, 0, 0))),
            (3, cls((2, 3, 0, 0, 0, 0))),
            (2, cls((1, 2, 0, 1, 0))),
        )

    @property
    def depth(self) -> int:
        """Length of the longest path."""
        depths = [0] * len(self.tree)
        for node, below in enumerate(places_of(self.tree)):
            for child in below:
                depths[child] = depths[node] + 1
        return max(depths)

    @property
    def nodes(self) -> int:
        """Drafted tokens in a full tree."""
        return len(self.tree) - 1

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, node by node, parents before children."""
        return draft_level_by_level(
            self.tree, draft, lambda q, k: draw_without_replacement(q, coin, min(k, int((q > 0).sum())))
        )

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability; raises `TooLarge` where they are too many to list."""
        places, first = places_of(self.tree), int((draft.row(()) > 0).sum())
        if self.nodes * log2(max(first, 2)) > log2(MOST_TREES):
            raise TooLarge(f"{self} has some {first}^{self.nodes} draft trees; use fewer nodes or a smaller V")

        def below(node: int, context: Context) -> int:
            if not self.tree[node]:
                return 1
            q = draft.row(context)
            k = min(self.tree[node], int((q > 0).sum()))
            drawn = outcomes(lambda coin: draw_without_replacement(q, coin, k), arithmetic_of(q))
            return sum(
                prod(below(child, (*context, token)) for child, token in zip(places[node], tokens, strict=False))
                for tokens, _ in drawn
            )

        return below(0, ())

    def reductions(self) -> list[Topology]:
        """The trees that are left when last leaves are removed one by one, the smallest first."""
        trees = [self]
        while trees[-1].nodes:
            counts = list(trees[-1].tree)[:-1]  # the last node, level by level, is a leaf
            counts[max(node for node, count in enumerate(counts) if count)] -= 1
            trees.append(Topology(tuple(counts)))
        return sorted(trees, key=lambda scheme: (scheme.depth, scheme.nodes))

    def __str__(self) -> str:
        return f"topology({','.join(map(str, self.tree))})"


def draft_level_by_level(
    tree: Sequence[int], draft: TokenProcess, children: Callable[[Vector, int], tuple[int, ...]]
) -> DraftTree:
    """A tree with so many children of each node, level by level; children: of a row, so many or fewer.

    Where there are fewer, the last ones are missing with all that is below them.
    """
    places = places_of(tree)
    drafted: dict[Context, tuple[int, ...]] = {}
    level: list[tuple[int, Context]] = [(0, ())]
    while level:
        level = [(node, context) for node, context in level if tree[node]]
        prefetch(draft, [context for _, context in level])
        below: list[tuple[int, Context]] = []
        for node, context in level:
            drafted[context] = children(draft.row(context), tree[node])
            below += [(child, (*context, token)) for child, token in zip(places[node], drafted[context], strict=False)]
        level = below
    return DraftTree(drafted)


def places_of(tree: Sequence[int]) -> list[range]:
    """For each node the numbers of its children, where nodes are numbered level by level."""
    ends = [1 + sum(tree[:node]) for node in range(len(tree) + 1)]
    return [range(ends[node], ends[node + 1]) for node in range(len(tree))]
