"""Relations between two verifiers for all p and q: equal block efficiency, equal laws, one never below the other.

Both laws are followed on the same cells. Equality is that of functions. Dominance is looked for context by context
first, `D(c)` of one never below `D(c)` of the other, since those are smaller functions; then for the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

from simulator.instances.instance import Instance
from simulator.theorems.balance import SUM, difference, efficiency, mass, reach
from simulator.theorems.explore import Explorer
from simulator.theorems.judgements import SIGNS, SOLVER, Judgement, Judging, judged_nonnegative, judged_zero
from simulator.theorems.laws import Block, Part, draftings, parts_of
from simulator.theorems.oracle import Oracle
from simulator.theorems.points import simplest, trial_points
from simulator.theorems.polynomials import Point
from simulator.theorems.proof import TRIALS, Subject, is_zero, law_at_point
from simulator.theorems.ratios import Ratio
from simulator.theorems.regions import Region
from simulator.theorems.rows import Shape
from simulator.theorems.trees import Gap, Tree, leaves

EQUALS, DOMINATES = "equals", "dominates"
#: What is compared: one function, or those of all contexts, of which it is the sum.
EFFICIENCY, REACHES = "block efficiency, cell by cell", "the reach of every context"
#: Two laws, part by part.
Pairs = Sequence[tuple[Part, Part]]
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

    judgements: why it holds on each cell where it is claimed, in their order. That the cells cover everything is the
    solver's word in any case.
    """

    kind: str
    one: Subject
    other: Subject
    shape: Shape
    by: str = ""
    cells: int = 0
    judgements: list[Judgement] = field(default_factory=list)
    finished: bool = False
    same_law: bool | None = None
    open_cells: list[Region] = field(default_factory=list)
    counterexample: Counterexample | None = None

    @property
    def proved(self) -> bool:
        """Whether it holds for every p and q of the shape."""
        return self.finished and self.counterexample is None and not self.open_cells

    @property
    def certified(self) -> int:
        """Cells on which one is shown never to be below the other by multiplication only, where they differ."""
        return sum(judgement == SIGNS or isinstance(judgement, Mapping) for judgement in self.judgements)

    @property
    def solved(self) -> int:
        """Cells on which that is the solver's word."""
        return self.judgements.count(SOLVER)


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
    pairs = both_laws(one, other, shape, explorer, progress)
    oracle = explorer.oracle
    if kind == EQUALS:
        judge_cells(relation, pairs, EFFICIENCY, oracle, judged_zero)
        relation.same_law = not relation.open_cells and same_law(pairs, shape, oracle)
    else:
        judge_cells(relation, pairs, REACHES, oracle, judged_nonnegative)
        if relation.open_cells:
            judge_cells(relation, pairs, EFFICIENCY, oracle, judged_nonnegative)
    relation.finished = True
    return relation


def both_laws(one: Subject, other: Subject, shape: Shape, explorer: Explorer, progress: Any = None) -> Pairs:
    """The laws of two verifiers on the same cells of drafting."""
    cells = draftings(shape, explorer)
    mine, theirs = (parts_of(shape, subject.formal, cells, explorer, progress) for subject in (one, other))
    return list(zip(mine, theirs, strict=True))


def judge_cells(relation: Relation, pairs: Pairs, by: str, oracle: Oracle, judged: Judging) -> None:
    """Judge every cell of every difference, from the beginning; what cannot be shown stays open."""
    relation.by, relation.cells = by, 0
    relation.judgements, relation.open_cells = [], []
    zero = Ratio(relation.shape.ring, relation.shape.ring.zero)
    differences = _reaches if by == REACHES else _efficiencies
    for where, tree in differences(pairs, relation.shape, oracle):
        for region, leaf in leaves(tree, where):
            relation.cells += 1
            if isinstance(leaf, Gap):
                if not leaf.outside:
                    relation.open_cells.append(region)
                continue
            judgement = judged(leaf.values.get(SUM, zero), region, oracle)
            if judgement is None:
                relation.open_cells.append(region)
            else:
                relation.judgements.append(judgement)


def _efficiencies(pairs: Pairs, shape: Shape, oracle: Oracle) -> Iterator[tuple[Region, Tree]]:
    for one, other in pairs:
        mine, theirs = (part.gap or efficiency(shape, part, oracle) for part in (one, other))
        yield one.region, difference(mine, theirs, shape, one, oracle)


def _reaches(pairs: Pairs, shape: Shape, oracle: Oracle) -> Iterator[tuple[Region, Tree]]:
    for one, other in pairs:
        for context in shape.contexts[1:]:
            mine, theirs = (part.gap or reach(shape, part, context, oracle) for part in (one, other))
            yield one.region, difference(mine, theirs, shape, one, oracle)


def same_law(pairs: Pairs, shape: Shape, oracle: Oracle) -> bool:
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
