"""Relations between two verifiers for all p and q: equal block efficiency, equal laws, one never below the other.

Both laws are followed on the same cells. Equality is that of functions. Dominance is looked for context by context
first, `D(c)` of one never below `D(c)` of the other, since those are smaller functions; then for the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

from simulator.instances.instance import Instance
from simulator.theorems.balance import SUM, difference, efficiency, mass, reach
from simulator.theorems.explore import Explorer
from simulator.theorems.laws import Block, Part, draftings, parts_of
from simulator.theorems.nonnegative import certificate
from simulator.theorems.oracle import Oracle
from simulator.theorems.points import simplest, trial_points
from simulator.theorems.polynomials import NEGATIVE, POSITIVE, Point
from simulator.theorems.proof import TRIALS, Subject, is_zero, law_at_point
from simulator.theorems.ratios import Ratio
from simulator.theorems.regions import Question, Region
from simulator.theorems.rows import Shape
from simulator.theorems.trees import Gap, Tree, leaves

EQUALS, DOMINATES = "equals", "dominates"
#: Points tried for each denominator before a relation is proved.
EACH = 4 * TRIALS


@dataclass(frozen=True)
class Counterexample:
    """An instance at which a relation fails, with both block efficiencies."""

    point: Point
    instance: Instance
    values: tuple[Any, Any]


@dataclass
class Relation:
    """What is known about `one` and `other`. by: how it was shown; cells: pieces of the differences looked at.

    certified, solved: of the cells on which one is never below the other, those shown by multiplication only, and those
    shown by the solver. That the cells cover everything is the solver's word in both.
    """

    kind: str
    one: Subject
    other: Subject
    shape: Shape
    by: str = ""
    cells: int = 0
    certified: int = 0
    solved: int = 0
    finished: bool = False
    same_law: bool | None = None
    open_cells: list[Region] = field(default_factory=list)
    counterexample: Counterexample | None = None

    @property
    def proved(self) -> bool:
        """Whether it holds for every p and q of the shape."""
        return self.finished and self.counterexample is None and not self.open_cells

    def is_never_negative(self, ratio: Ratio, region: Region, oracle: Oracle) -> bool:
        """Whether a difference is proved to be at least 0; counts by what."""
        if is_shown_nonnegative(ratio, region):
            self.certified += 1
            return True
        solved = is_never_negative(ratio, region, oracle)
        self.solved += solved
        return solved


def relate(kind: str, one: Subject, other: Subject, shape: Shape, explorer: Explorer, progress: Any = None) -> Relation:
    """Prove or refute that `one` equals or dominates `other` in block efficiency."""
    relation = Relation(kind, one, other, shape)

    def fails(point: Point) -> bool:
        mine, theirs = (law_at_point(subject, shape, point).block_efficiency for subject in (one, other))
        return mine != theirs if kind == EQUALS else mine < theirs

    for point in trial_points(shape, Random(0), EACH):
        if fails(point):
            relation.counterexample = _counterexample(one, other, shape, simplest(shape, point, fails))
            return relation
    cells = draftings(shape, explorer)
    mine, theirs = (parts_of(shape, subject.formal, cells, explorer, progress) for subject in (one, other))
    pairs = list(zip(mine, theirs, strict=True))
    oracle = explorer.oracle
    if kind == EQUALS:
        _settle(relation, _efficiencies(pairs, shape, oracle), is_zero, oracle)
        relation.by = "block efficiency, cell by cell"
        relation.same_law = not relation.open_cells and _same_law(pairs, shape, oracle)
    else:
        _settle(relation, _reaches(pairs, shape, oracle), relation.is_never_negative, oracle)
        relation.by = "the reach of every context"
        if relation.open_cells:
            relation.open_cells.clear()
            relation.certified = relation.solved = 0
            relation.by = "block efficiency, cell by cell"
            _settle(relation, _efficiencies(pairs, shape, oracle), relation.is_never_negative, oracle)
    relation.finished = True
    return relation


def is_shown_nonnegative(ratio: Ratio, region: Region) -> bool:
    """Whether it is shown by multiplication only that a function is at least 0 at every point of a region."""
    if region.ask((ratio.num, ratio.den), NEGATIVE) is False:  # a product of atoms with known signs
        return True
    for sign, numerator in ((POSITIVE, ratio.num), (NEGATIVE, -ratio.num)):
        if region.ask((ratio.den,), sign) is True:
            return certificate(numerator, region) is not None
    return False


def is_never_negative(ratio: Ratio, region: Region, oracle: Oracle) -> bool:
    """Whether the solver proves that a function is at least 0 at every point of a region."""
    answer = region.ask((ratio.num, ratio.den), NEGATIVE)
    if isinstance(answer, Question):
        return oracle.is_empty(region.with_signs(answer.atom, answer.mask), answer.atom)
    return not answer


def _settle(
    relation: Relation,
    differences: Iterator[tuple[Region, Tree]],
    holds: Callable[[Ratio, Region, Oracle], bool],
    oracle: Oracle,
) -> None:
    """Check every cell of every difference; what cannot be shown stays open."""
    for where, tree in differences:
        for region, leaf in leaves(tree, where):
            relation.cells += 1
            if isinstance(leaf, Gap):
                if not leaf.outside:
                    relation.open_cells.append(region)
            elif leaf.values and not holds(leaf.values[SUM], region, oracle):
                relation.open_cells.append(region)


def _efficiencies(pairs: Sequence[tuple[Part, Part]], shape: Shape, oracle: Oracle) -> Iterator[tuple[Region, Tree]]:
    for one, other in pairs:
        mine, theirs = (part.gap or efficiency(shape, part, oracle) for part in (one, other))
        yield one.region, difference(mine, theirs, shape, one, oracle)


def _reaches(pairs: Sequence[tuple[Part, Part]], shape: Shape, oracle: Oracle) -> Iterator[tuple[Region, Tree]]:
    for one, other in pairs:
        for context in shape.contexts[1:]:
            mine, theirs = (part.gap or reach(shape, part, context, oracle) for part in (one, other))
            yield one.region, difference(mine, theirs, shape, one, oracle)


def _same_law(pairs: Sequence[tuple[Part, Part]], shape: Shape, oracle: Oracle) -> bool:
    """Whether every block has the same mass under both."""
    blocks: list[Block] = [(c, y) for c, y in product(shape.contexts, range(shape.vocab_size))]
    for one, other in pairs:
        if one.gap is not None:
            continue
        for block in blocks:
            gap = difference(mass(shape, one, block, oracle), mass(shape, other, block, oracle), shape, one, oracle)
            for region, leaf in leaves(gap, one.region):
                if isinstance(leaf, Gap):
                    return False
                if leaf.values and not is_zero(leaf.values[SUM], region, oracle):
                    return False
    return True


def _counterexample(one: Subject, other: Subject, shape: Shape, point: Point) -> Counterexample:
    mine, theirs = (law_at_point(subject, shape, point).block_efficiency for subject in (one, other))
    return Counterexample(point, shape.instance(point), (mine, theirs))
