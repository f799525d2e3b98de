"""The probability that the tree of a draft scheme meets a set of nodes, which is all that whole-tree programs need.

`T` is the random draft tree as a set of contexts, root included. A verifier that accepts node `c` with probability
`A(c)` exists if and only if `A(S) <= P(T meets S)` for every set `S` (Hall). `A(c) = D(c) - sum_y D(c,y)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Protocol, TypeAlias

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, conditional, hit_probability, prefix_masses
from draftproof.lp_analysis.reference.antichains import antichain_at, corners, hull
from draftproof.lp_analysis.reference.closures import closure_by_flow, closure_by_program, subtree
from draftproof.simulator.arithmetic import FLOAT64, arithmetic_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import context_at, context_index, tabulate
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess

#: The draft tree as its set of nodes, with its probability; each set once.
Trees: TypeAlias = Sequence[tuple[frozenset[Context], Any]]

#: Most trees that are listed, and most contexts of the search for violated sets.
MOST_TREES = 200_000


@dataclass(frozen=True)
class Cut:
    """`A(S) <= bound` for the set `nodes` of contexts."""

    nodes: frozenset[Context]
    bound: float


class Hitting(Protocol):
    """A draft scheme in the bounds: its trees, and the probability that a tree meets a set."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def depth(self) -> int: ...

    @property
    def trees(self) -> Trees:
        """The possible sets of nodes with their probabilities."""
        ...

    def probability(self, nodes: Iterable[Context]) -> Any:
        """`P(T meets nodes)`."""
        ...

    def violated(self, reached: NodeValues, tolerance: float) -> list[Cut]:
        """Sets with `A(S) > P(T meets S) + tolerance` in float64, among them the worst; none if there is none."""
        ...


@dataclass(frozen=True)
class IidBranches:
    """The delayed tree: a trunk of `L1` tokens, then `K` independent branches of `L2` tokens.

    draft_tables: in either arithmetic, which is that of `probability`.
    """

    draft_tables: Sequence[Any]
    scheme: Delayed

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return int(self.draft_tables[0].shape[1])

    @property
    def depth(self) -> int:
        """`L`."""
        return self.scheme.depth

    def probability(self, nodes: Iterable[Context]) -> Any:
        """Trunk by trunk: 1 if the trunk has a node of the set, else `g` of the mass below it."""
        wanted = set(nodes)
        masses = prefix_masses(self.draft_tables, self.depth)
        below = conditional(masses, self.scheme.L1)
        total = masses[0][0] * 0
        for index, mass in enumerate(masses[self.scheme.L1]):
            trunk = context_at(index, self.scheme.L1, self.vocab_size)
            if any(trunk[:d] in wanted for d in range(self.scheme.L1 + 1)):
                total = total + mass
                continue
            hit = mass * 0
            for path in range(below.shape[1]):
                branch = context_at(path, self.scheme.L2, self.vocab_size)
                if any(trunk + branch[:d] in wanted for d in range(1, self.scheme.L2 + 1)):
                    hit = hit + below[index][path]
            total = total + mass * hit_probability(hit, self.scheme.K)
        return total

    def violated(self, reached: NodeValues, tolerance: float) -> list[Cut]:
        """Nodes of the trunk one by one, then every violated corner of every trunk's hull of antichains."""
        masses = prefix_masses([np.asarray(table, dtype=np.float64) for table in self.draft_tables], self.depth)
        cuts = [
            self._cut([(depth, c)], float(masses[depth][c]))
            for depth in range(1, self.depth + 1)
            for c in np.flatnonzero(reached[depth] > masses[depth] + tolerance).tolist()
            if depth <= self.scheme.L1 or not masses[depth][c] > 0
        ]
        for trunk, mass in enumerate(masses[self.scheme.L1]):
            if mass > 0:
                cuts += self._violated_below(trunk, float(mass), reached, masses, tolerance)
        return cuts

    def _violated_below(
        self, trunk: int, mass: float, reached: NodeValues, masses: NodeValues, tolerance: float
    ) -> list[Cut]:
        size = self.vocab_size

        def below(values: NodeValues) -> NodeValues:
            widths = [size**d for d in range(self.scheme.L2 + 1)]
            return [values[self.scheme.L1 + d][trunk * w : (trunk + 1) * w] / mass for d, w in enumerate(widths)]

        segments, slopes = hull(below(reached), below(masses))
        cuts = []
        for slope, width, height in corners(segments):
            bound = float(mass * hit_probability(min(width, 1.0), self.scheme.K))
            if float(height * mass) > bound + tolerance:
                nodes = [(self.scheme.L1 + d, trunk * size**d + c) for d, c in antichain_at(slope, slopes)]
                cuts.append(self._cut(nodes, bound))
        return cuts

    def _cut(self, antichain: Iterable[tuple[int, int]], bound: float) -> Cut:
        """The set of all nodes in the subtrees of an antichain."""
        below = (subtree(depth, index, self.vocab_size, self.depth) for depth, index in antichain)
        return Cut(frozenset().union(*below), bound)

    @property
    def trees(self) -> Trees:
        """See `Hitting`: by inclusion and exclusion over sets of branches."""
        masses = prefix_masses(self.draft_tables, self.depth)
        below = conditional(masses, self.scheme.L1)
        width = self.vocab_size**self.scheme.L2
        if len(masses[self.scheme.L1]) * sum(comb(width, count) for count in range(1, self.scheme.K + 1)) > MOST_TREES:
            raise TooLarge(f"more than {MOST_TREES:,} draft trees; use a smaller shape or the cuts")
        listed = []
        for index, mass in enumerate(masses[self.scheme.L1]):
            if not mass > 0:
                continue
            trunk = context_at(index, self.scheme.L1, self.vocab_size)
            paths = [path for path in range(below.shape[1]) if below[index][path] > 0]
            for count in range(1, self.scheme.K + 1):
                for branches in combinations(paths, count):
                    q = [below[index][path] for path in branches]
                    listed.append(
                        (_nodes(trunk, branches, self.scheme.L2, self.vocab_size), mass * _exactly(q, self.scheme.K))
                    )
        return listed


def _exactly(masses: Sequence[Any], K: int) -> Any:
    """The probability that `K` draws show exactly these outcomes, each at least once."""
    total = masses[0] * 0
    for count in range(1, len(masses) + 1):
        sign = 1 if (len(masses) - count) % 2 == 0 else -1
        for some in combinations(masses, count):
            total = total + sign * sum(some[1:], start=some[0]) ** K
    return total


def _nodes(trunk: Context, branches: Iterable[int], length: int, size: int) -> frozenset[Context]:
    nodes = {trunk[:d] for d in range(len(trunk) + 1)}
    for path in branches:
        branch = context_at(path, length, size)
        nodes |= {trunk + branch[:d] for d in range(1, length + 1)}
    return frozenset(nodes)


@dataclass(frozen=True)
class ListedTrees:
    """Any scheme, given by the list of its trees: sets of contexts, root included, with probabilities that sum to 1."""

    trees: Trees
    vocab_size: int
    depth: int

    @classmethod
    def of(cls, draft: TokenProcess, scheme: DraftScheme) -> ListedTrees:
        """The trees of a scheme by enumeration, in the arithmetic of `draft`; raises `TooLarge` for too many."""
        if scheme.count(draft) > MOST_TREES:
            raise TooLarge(f"{scheme} has more than {MOST_TREES:,} draft trees; use a smaller one")
        masses: dict[frozenset[Context], Any] = {}
        for tree, mass in drawn_trees(scheme, draft, arithmetic_of(draft.row(()))):
            nodes = frozenset(_contexts(tree, draft.vocab_size, scheme.depth))
            masses[nodes] = masses[nodes] + mass if nodes in masses else mass
        return cls(list(masses.items()), draft.vocab_size, scheme.depth)

    def probability(self, nodes: Iterable[Context]) -> Any:
        """The mass of the trees that share a node with the set."""
        wanted = set(nodes)
        return sum(mass for tree, mass in self.trees if tree & wanted)

    def violated(self, reached: NodeValues, tolerance: float) -> list[Cut]:
        """Full subtrees that are reached too often; where there are none, the most violated set of all.

        That is a closure problem. Its minimum cut is found by maximum flow, in whole numbers and so up to rounding;
        when that finds nothing, by its linear program, which has whole-number corners.
        """
        single = self._subtrees(reached, tolerance)
        if single:
            return single
        accepted = accepted_masses(reached, self.vocab_size)
        for search in (closure_by_flow, closure_by_program):
            nodes = search(self.trees, accepted)
            bound = float(self.probability(nodes))
            if sum(accepted[c] for c in nodes) > bound + tolerance:
                return [Cut(nodes, bound)]
        return []

    def _subtrees(self, reached: NodeValues, tolerance: float) -> list[Cut]:
        """The subtree of each node with `D(c) > P(c in T)`: in the sum over it everything but `D(c)` cancels."""
        cuts = []
        for depth in range(1, self.depth + 1):
            for index in np.flatnonzero(reached[depth] > self._drawn[depth] + tolerance).tolist():
                nodes = subtree(depth, index, self.vocab_size, self.depth)
                cuts.append(Cut(frozenset(nodes), float(self._drawn[depth][index])))
        return cuts

    @cached_property
    def _drawn(self) -> NodeValues:
        """The probability that a tree has each context."""
        masses = [np.zeros(self.vocab_size**depth) for depth in range(self.depth + 1)]
        for tree, mass in self.trees:
            for context in tree:
                masses[len(context)][context_index(context, self.vocab_size)] += float(mass)
        return masses


def hitting_of(draft: ProcessLike, scheme: DraftScheme) -> Hitting:
    """Any scheme as `Hitting`: delayed trees by their branches, in float64; others by the list of their trees."""
    process = as_process(draft, "draft")
    if not isinstance(scheme, Delayed):
        return ListedTrees.of(process, scheme)
    return IidBranches(tabulate(process, max(scheme.depth - 1, 0), FLOAT64, "draft").tables, scheme)


def _contexts(tree: Any, size: int, depth: int) -> set[Context]:
    """The nodes of a draft tree, found from the root down."""
    nodes: set[Context] = {()}
    level: list[Context] = [()]
    for _ in range(depth):
        level = [(*c, y) for c in level for y in range(size) if (*c, y) in tree]
        nodes |= set(level)
    return nodes


def accepted_masses(reached: NodeValues, size: int) -> dict[Context, float]:
    """`A(c) = D(c) - sum_y D(c,y)` by context."""
    accepted: dict[Context, float] = defaultdict(float)
    for depth, values in enumerate(reached):
        for index, value in enumerate(values):
            context = context_at(index, depth, size)
            accepted[context] += float(value)
            if context:
                accepted[context[:-1]] -= float(value)
    return dict(accepted)
