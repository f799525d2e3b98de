"""The decision tree of a computation on a whole region, by runs at sample points.

A run at a point makes the same comparisons with the same answers at all points of its cell. For every comparison a
point with the other answer is searched in the rest of the region: it is run next, or a proof that there is none closes
that side. So every point of the region, ties included, is in exactly one leaf of the tree; some leaves are gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from draftproof.simulator.theorems.algebra.oracle import Empty, Oracle
from draftproof.simulator.theorems.algebra.polynomials import ANY, Point
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, Leaf, Tree, split
from draftproof.simulator.theorems.proof.numbers import OutsideHypothesis, Run

#: What a run computes: rational functions by name.
Computation = Callable[[Run], Mapping[Any, Ratio]]


@dataclass
class Explorer:
    """Makes decision trees. runs: of computations so far; unknown: regions that the oracle could not decide."""

    oracle: Oracle
    runs: int = 0
    unknown: list[Region] = field(default_factory=list)

    def tree(self, compute: Computation, region: Region, point: Point) -> Tree:
        """The tree of `compute` on `region`; point: one of it."""
        run = Run(region, point)
        self.runs += 1
        try:
            with run.following():
                tree: Tree = Leaf.of(compute(run), point)
        except OutsideHypothesis:
            tree = Gap(outside=True)
        for before, question in reversed(run.decisions):
            taken = bool(self.oracle.ring.sign_at(question.atom, point) & question.mask)
            mask = question.mask if taken else ANY & ~question.mask
            other = before.without_signs(question.atom, mask)
            answer = self.oracle.find(other, question.atom, point)
            if answer is Empty.YES:
                continue
            if isinstance(answer, Empty):
                self.unknown.append(other)
                beside: Tree = Gap(outside=False)
            else:
                beside = self.tree(compute, other, answer)
            tree = split(question.atom, mask, tree, beside, before, self.oracle)
        return tree
