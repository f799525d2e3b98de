"""How likely the tree of a draft scheme meets a set of nodes, which is all that whole-tree programs need of a scheme.

`T` is the random draft tree as a set of contexts, root included. A verifier that accepts node `c` with probability
`A(c)` exists if and only if `A(S) <= P(T meets S)` for every set `S` (Hall). A tree meets a set if and only if one of
its leaves is in the set or below it. So a scheme is given by its ends, the contexts that can be leaves, and by the
chances that one of the first ends of an order is a leaf of the tree. Ends come in groups, of which a tree has exactly
one: those below a trunk. `G` is the number of groups, `N` that of the ends in each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from draftproof.lp_analysis.nodes import (
    NodeValues,
    as_floats,
    conditional,
    from_leaves,
    hit_probability,
    prefix_masses,
)
from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.drafts.stratified import mean_product
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import Context, DraftScheme, TokenProcess
from draftproof.simulator.residual import positive_part
from draftproof.simulator.tables import TableProcess, context_at, context_index

#: The draft tree as its set of nodes, with its probability; each set once.
Trees: TypeAlias = Sequence[tuple[frozenset[Context], Any]]

#: Most trees that are listed.
MOST_TREES = 200_000


@dataclass(frozen=True)
class Branches(ABC):
    """A trunk of `L1` tokens, then `K` branches of `L2` tokens, each of law `q` if nothing is known of the others."""

    draft_tables: Sequence[Any]
    scheme: Delayed | Stratified

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return int(self.draft_tables[0].shape[1])

    @property
    def depth(self) -> int:
        """`L`."""
        return self.scheme.depth

    @cached_property
    def masses(self) -> NodeValues:
        """`q(c)` of every context up to depth `L`."""
        return prefix_masses(self.draft_tables, self.depth)

    @property
    def fixed(self) -> NodeValues:
        """The mass of every context of the trunk, depth by depth: a tree has one of each. The last are the groups."""
        return self.masses[: self.scheme.L1 + 1]

    @property
    def groups(self) -> Any:
        """The mass of every trunk, shape `(V**L1,)`."""
        return self.masses[self.scheme.L1]

    @cached_property
    def shares(self) -> Any:
        """`q(path | trunk)`, shape `(V**L1, V**L2)`; rows of trunks without mass are zero."""
        return conditional(self.masses, self.scheme.L1)

    @property
    def ends(self) -> list[list[Context]]:
        """All paths below each trunk."""
        paths = [context_at(path, self.depth, self.vocab_size) for path in range(self.shares.size)]
        return [paths[start : start + self.shares.shape[1]] for start in range(0, len(paths), self.shares.shape[1])]

    @abstractmethod
    def chances(self, orders: Any, groups: Any = slice(None)) -> Any:
        """The probability that one of the first `i` ends of the order is a leaf, given the group, for `i = 1..N`.

        orders: shape `(G, N)`, for each of these groups its ends in an order.
        """

    @property
    @abstractmethod
    def floats(self) -> Branches:
        """The same in float64."""

    def at_ends(self, values: NodeValues) -> Any:
        """Values of nodes at the ends, shape `(G, N)`."""
        return values[-1].reshape(self.shares.shape)

    def through(self, law: Any) -> NodeValues:
        """The mass of every node below one trunk, this first, given the masses of the ends, shape `(N,)`."""
        return from_leaves(law, self.vocab_size, self.scheme.L2)


@dataclass(frozen=True)
class IidBranches(Branches):
    """The delayed tree: branches are i.i.d."""

    scheme: Delayed

    def chances(self, orders: Any, groups: Any = slice(None)) -> Any:
        """`g` of the mass of the first paths."""
        return hit_probability(_first(self.shares[groups], orders), self.scheme.K)

    @property
    def floats(self) -> IidBranches:
        """The same in float64."""
        return IidBranches(as_floats(self.draft_tables), self.scheme)


def _first(shares: Any, orders: Any) -> Any:
    """The mass of the first paths of each order."""
    return np.take_along_axis(shares, orders, axis=1).cumsum(axis=1)


@dataclass(frozen=True)
class StratifiedBranches(Branches):
    """At every node one branch from each part of the row.

    laws: for each depth from the trunk on and `k = 1..K` branches the laws of their parts, shape `(k, V**d, V)`.
    """

    scheme: Stratified
    laws: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, draft_tables: Sequence[Any], scheme: Stratified) -> StratifiedBranches:
        """The laws by absolute bounds of tokens and parts, in exact arithmetic."""
        branching = draft_tables[scheme.L1 : scheme.depth]
        counts = range(1, scheme.K + 1)
        return cls(draft_tables, scheme, [[_parts(table, k, scheme.order) for k in counts] for table in branching])

    def chances(self, orders: Any, groups: Any = slice(None)) -> Any:
        """From the leaves up: how likely `n` branches through a node miss its first `i` ends, for all `n` and `i`."""
        V, ranks = self.vocab_size, np.asarray(orders).argsort(axis=1)
        G, N = ranks.shape
        missed = np.broadcast_to([1, 0], (self.scheme.K, G * N, 2))  # by n - 1, node and i
        for depth in range(self.depth - 1, self.scheme.L1 - 1, -1):
            width = V ** (self.depth - depth)
            child = ranks.reshape(-1, width).argsort(axis=1) // (
                width // V
            )  # of each end, the first in the order first
            met = (child[..., np.newaxis] == np.arange(V)).cumsum(axis=1)
            met = np.concatenate([met[:, :1] * 0, met], axis=1)  # node, i, token: ends among the first i
            below = missed.reshape(self.scheme.K, len(met), V, -1)
            values = np.take_along_axis(below, met.swapaxes(1, 2)[np.newaxis], axis=3).swapaxes(2, 3)
            laws = self.laws[depth - self.scheme.L1]
            here = [part.reshape(len(part), len(self.groups), -1, 1, V)[:, groups] for part in laws]
            here = [part.reshape(len(part), -1, 1, V) for part in here]
            missed = np.stack([mean_product(part, values) for part in here])
        return self.shares[groups] * 0 + 1 - missed[-1, :, 1:]

    @property
    def floats(self) -> StratifiedBranches:
        """The same in float64."""
        return StratifiedBranches(as_floats(self.draft_tables), self.scheme, list(map(as_floats, self.laws)))


def _parts(table: Any, count: int, order: str) -> Any:
    """The laws of the parts of each row, in exact arithmetic, shape `(count, rows, V)`."""
    tokens = (table * (-1 if order == "descending" else 0)).argsort(axis=1, kind="stable")
    masses = np.take_along_axis(table, tokens, axis=1) * count
    ends = masses.cumsum(axis=1)
    laws = np.stack([table * 0] * count)
    for place, law in enumerate(laws):
        inside = positive_part(np.minimum(ends, place + 1) - np.maximum(ends - masses, place))
        np.put_along_axis(law, tokens, inside, axis=1)
    return laws


@dataclass(frozen=True)
class ListedTrees:
    """Any scheme, given by the list of its trees: sets of contexts, root included, with probabilities that sum to 1.

    What it has in common with `Branches` is the same there. All ends are in one group, numbered with the deepest first.
    """

    trees: Trees
    vocab_size: int
    depth: int

    @classmethod
    def of(cls, draft: TokenProcess, scheme: DraftScheme) -> ListedTrees:
        """The trees of a scheme by enumeration, in the arithmetic of `draft`; raises `TooLarge` for too many."""
        listed_draws(scheme, draft)
        masses: dict[frozenset[Context], Any] = {}
        for tree, mass in drawn_trees(scheme, draft, arithmetic_of(draft.row(()))):
            nodes = frozenset(_contexts(tree, draft.vocab_size, scheme.depth))
            masses[nodes] = masses[nodes] + mass if nodes in masses else mass
        return cls(list(masses.items()), draft.vocab_size, scheme.depth)

    @property
    def fixed(self) -> NodeValues:
        """The root."""
        return [self._masses.sum(keepdims=True)]

    @cached_property
    def _leaves(self) -> list[frozenset[Context]]:
        return [tree - {context[:-1] for context in tree if context} for tree, _ in self.trees]

    @cached_property
    def _masses(self) -> Any:
        masses = [mass for _, mass in self.trees]
        return arithmetic_of(np.array(masses[:1])).vector(masses)

    @cached_property
    def ends(self) -> list[list[Context]]:
        """See `Branches`."""
        return [sorted(frozenset().union(*self._leaves), key=lambda context: (-len(context), context))]

    @cached_property
    def _places(self) -> Any:
        """Of every end: its place among all nodes, by depth and then in lexicographic order."""
        starts = np.cumsum([0, *(self.vocab_size**d for d in range(self.depth + 1))])
        return np.array([starts[len(c)] + context_index(c, self.vocab_size) for c in self.ends[0]])

    @cached_property
    def _held(self) -> tuple[Any, Any]:
        """The ends of all trees, one tree after the other, and where each tree begins."""
        number = {context: i for i, context in enumerate(self.ends[0])}
        counts = [len(leaves) for leaves in self._leaves]
        return np.array([number[c] for leaves in self._leaves for c in leaves]), np.cumsum([0, *counts[:-1]])

    @cached_property
    def shares(self) -> Any:
        """The probability of each end, shape `(1, N)`."""
        held, starts = self._held
        counts = np.diff([*starts, len(held)])
        return self._summed(held, self._masses.repeat(counts))

    def chances(self, orders: Any, groups: Any = slice(None)) -> Any:
        """By the first leaf of each tree."""
        held, starts = self._held
        ranks = orders[0].argsort()
        return self._summed(np.minimum.reduceat(ranks[held], starts), self._masses).cumsum(axis=1)

    def _summed(self, places: Any, masses: Any) -> Any:
        """The masses at each place, shape `(1, N)`."""
        totals = (masses[:1] * 0).repeat(len(self.ends[0]))
        np.add.at(totals, places, masses)
        return totals[np.newaxis]

    def at_ends(self, values: NodeValues) -> Any:
        """See `Branches`."""
        return np.concatenate(values)[self._places][np.newaxis]

    def through(self, law: Any) -> NodeValues:
        """See `Branches`."""
        sizes = [self.vocab_size**d for d in range(self.depth + 1)]
        flat = (law[:1] * 0).repeat(sum(sizes))
        flat[self._places] = law
        levels: NodeValues = np.split(flat, np.cumsum(sizes)[:-1])
        for d in range(self.depth, 0, -1):
            levels[d - 1] = levels[d - 1] + levels[d].reshape(-1, self.vocab_size).sum(axis=1)
        return levels

    @cached_property
    def floats(self) -> ListedTrees:
        """The same in float64."""
        return ListedTrees([(tree, float(mass)) for tree, mass in self.trees], self.vocab_size, self.depth)


#: A draft scheme in the bounds, in one arithmetic.
Hitting: TypeAlias = Branches | ListedTrees


def listed_draws(scheme: DraftScheme, draft: TokenProcess) -> int:
    """The number of draws of a scheme; raises `TooLarge` above `MOST_TREES`."""
    count = scheme.count(draft)
    if count > MOST_TREES:
        raise TooLarge(f"{scheme} has more than {MOST_TREES:,} draft trees; use a smaller one")
    return count


def _contexts(tree: Any, size: int, depth: int) -> set[Context]:
    """The nodes of a draft tree, found from the root down."""
    nodes: set[Context] = {()}
    level: list[Context] = [()]
    for _ in range(depth):
        level = [(*c, y) for c in level for y in range(size) if (*c, y) in tree]
        nodes |= set(level)
    return nodes


def is_stratified(scheme: DraftScheme) -> TypeGuard[Stratified]:
    """Whether branches are drawn apart from pieces; those of its subclass depend on one another."""
    return type(scheme) is Stratified


def has_closed_form(scheme: DraftScheme) -> TypeGuard[Delayed | Stratified]:
    """Whether the chances are computed without a list of trees."""
    return isinstance(scheme, Delayed) or is_stratified(scheme)


def hitting_of(draft_tables: Sequence[Any], scheme: DraftScheme) -> Hitting:
    """A scheme in the arithmetic of the tables, which are exact."""
    if isinstance(scheme, Delayed):
        return IidBranches(draft_tables, scheme)
    if is_stratified(scheme):
        return StratifiedBranches.of(draft_tables, scheme)
    return ListedTrees.of(TableProcess(draft_tables, "draft"), scheme)
