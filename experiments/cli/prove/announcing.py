"""What is said before a proof: whether its cells come from what is drafted already."""

from __future__ import annotations

from random import Random

from draftproof.experiments.shared.progress import remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.rows import Shape

#: Denominator of random points.
LARGE = 97
#: Random points at which it is looked what is drafted, over so many draft trees in all.
LOOKED, DRAWN = 40, 4_000


def announce(shape: Shape, trees: int) -> None:
    """Say so where what is drafted depends on the rows: every way of drafting is a cell that has to be found."""
    random = Random(0)
    count = max(2, min(LOOKED, DRAWN // max(trees, 1)))
    points = [random_point(shape, random, LARGE) for _ in range(count)]
    ways = {
        frozenset(
            tuple(sorted(tree.children.items()))  # type: ignore[attr-defined]
            for tree, _ in drawn_trees(shape.scheme, shape.instance(point).draft, RATIONAL)
        )
        for point in points
    }
    if len(ways) > 1:
        remark(
            f"{shape.scheme} drafts in {len(ways)} ways at {count} random points: such cells are found one by one; "
            "how many there are, or how long that takes, is not known before, and fewer nodes or layers make it short"
        )
