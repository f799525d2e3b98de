"""Violated sets of the reach program: `A(S) > P(T meets S)`, exactly for i.i.d. branches, by closures for listed trees.

`T` is the random draft tree as a set of contexts, root included; `A(c) = D(c) - sum_y D(c,y)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from draftproof.lp_analysis.hitting import IidBranches, ListedTrees, probability
from draftproof.lp_analysis.nodes import NodeValues, hit_probability
from draftproof.lp_analysis.reference.antichains import antichain_at, corners, hull
from draftproof.lp_analysis.reference.closures import closure_by_flow, closure_by_program, subtree
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import context_at, tabulate
from draftproof.simulator.protocol import Context, DraftScheme

#: Delayed trees by their branches, any other scheme by the list of its trees.
Separable: TypeAlias = IidBranches | ListedTrees


@dataclass(frozen=True)
class Cut:
    """`A(S) <= bound` for the set `nodes` of contexts."""

    nodes: frozenset[Context]
    bound: float


def separable(draft: ProcessLike, scheme: DraftScheme) -> Separable:
    """Any scheme for the reference programs; delayed trees in float64."""
    process = as_process(draft, "draft")
    if not isinstance(scheme, Delayed):
        return ListedTrees.of(process, scheme)
    return IidBranches(tabulate(process, max(scheme.depth - 1, 0), FLOAT64, "draft").tables, scheme)


def violated(trees: Separable, reached: NodeValues, tolerance: float) -> list[Cut]:
    """Sets with `A(S) > P(T meets S) + tolerance`, among them the worst; none if there is none. trees: in float64."""
    if isinstance(trees, IidBranches):
        return _antichains(trees, reached, tolerance)
    return _closures(trees, reached, tolerance)


def _antichains(trees: IidBranches, reached: NodeValues, tolerance: float) -> list[Cut]:
    """Nodes of the trunk one by one, then every violated corner of every trunk's hull of antichains."""
    masses = trees.masses
    cuts = [
        _cut([(depth, c)], float(masses[depth][c]), trees)
        for depth in range(1, trees.depth + 1)
        for c in np.flatnonzero(reached[depth] > masses[depth] + tolerance).tolist()
        if depth <= trees.scheme.L1 or not masses[depth][c] > 0
    ]
    for trunk, mass in enumerate(trees.groups):
        if mass > 0:
            cuts += _antichains_below(trunk, float(mass), reached, trees, tolerance)
    return cuts


def _antichains_below(trunk: int, mass: float, reached: NodeValues, trees: IidBranches, tolerance: float) -> list[Cut]:
    size, scheme = trees.vocab_size, trees.scheme

    def below(values: NodeValues) -> NodeValues:
        widths = [size**d for d in range(scheme.L2 + 1)]
        return [values[scheme.L1 + d][trunk * w : (trunk + 1) * w] / mass for d, w in enumerate(widths)]

    segments, slopes = hull(below(reached), below(trees.masses))
    cuts = []
    for slope, width, height in corners(segments):
        bound = float(mass * hit_probability(min(width, 1.0), scheme.K))
        if float(height * mass) > bound + tolerance:
            nodes = [(scheme.L1 + d, trunk * size**d + c) for d, c in antichain_at(slope, slopes)]
            cuts.append(_cut(nodes, bound, trees))
    return cuts


def _cut(antichain: Iterable[tuple[int, int]], bound: float, trees: IidBranches) -> Cut:
    """The set of all nodes in the subtrees of an antichain."""
    below = (subtree(depth, index, trees.vocab_size, trees.depth) for depth, index in antichain)
    return Cut(frozenset().union(*below), bound)


def _closures(trees: ListedTrees, reached: NodeValues, tolerance: float) -> list[Cut]:
    """Full subtrees that are reached too often; where there are none, the most violated set of all.

    That is a closure problem. Its minimum cut is found by maximum flow, in whole numbers and so up to rounding; when
    that finds nothing, by its linear program, which has whole-number corners.
    """
    single = _subtrees(trees, reached, tolerance)
    if single:
        return single
    accepted = accepted_masses(reached, trees.vocab_size)
    for search in (closure_by_flow, closure_by_program):
        nodes = search(trees.trees, accepted)
        bound = float(probability(trees, nodes))
        if sum(accepted[c] for c in nodes) > bound + tolerance:
            return [Cut(nodes, bound)]
    return []


def _subtrees(trees: ListedTrees, reached: NodeValues, tolerance: float) -> list[Cut]:
    """The subtree of each node with `D(c) > P(c in T)`: in the sum over it everything but `D(c)` cancels."""
    cuts = []
    for depth in range(1, trees.depth + 1):
        for index in np.flatnonzero(reached[depth] > trees.drawn[depth] + tolerance).tolist():
            nodes = subtree(depth, index, trees.vocab_size, trees.depth)
            cuts.append(Cut(frozenset(nodes), float(trees.drawn[depth][index])))
    return cuts


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
