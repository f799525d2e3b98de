"""From a computation at a sample point to its decision tree on a whole region.

The computation is run at a point; it takes the same way at all points that answer its questions alike. For every
question the other answer is looked for: a point that gives it is run next, and a proof that there is none closes that
side. So every point of the region, ties included, is in exactly one cell of the tree or in one that says that it is
not known.
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
    """Makes trees; counts what that took."""

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
