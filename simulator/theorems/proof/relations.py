"""Relations between two verifiers for all p and q: equal block efficiency, equal laws, one never below the other.

Both laws are followed on the same cells. Equality is that of functions. Dominance is looked for context by context
first, `D(c)` of one never below `D(c)` of the other, since those are smaller functions; then for the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.polynomials import Point
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judgements import SIGNS, SOLVER, Judgement, Judging
from draftproof.simulator.theorems.proof.judging import EQUALS, Place, ProofExecutor, judged_places
from draftproof.simulator.theorems.proof.laws import Part, draftings, parts_of
from draftproof.simulator.theorems.proof.points import simplest, trial_points
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import TRIALS, Subject, law_at_point

#: What is compared: one function, or those of all contexts, of which it is the sum.
EFFICIENCY, REACHES = "block efficiency, cell by cell", "the reach of every context"
#: Two laws, on the same cells of drafting.
Laws = Sequence[Sequence[Part]]
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
    """The state of a relation between `one` and `other`. by: the functions that are compared.

    cells: of the differences. judgements: the reason on each cell. That the cells cover the whole domain rests
    on the solver in any case.
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
        """The number of cells on which dominance is shown by multiplication only."""
        return sum(judgement == SIGNS or isinstance(judgement, Mapping) for judgement in self.judgements)

    @property
    def solved(self) -> int:
        """The number of cells on which dominance rests on the solver."""
        return self.judgements.count(SOLVER)


def relate(
    kind: str,
    one: Subject,
    other: Subject,
    shape: Shape,
    explorer: Explorer,
    executors: tuple[ProofExecutor, ProofExecutor] | None = None,
) -> Relation:
    """Prove or refute that `one` equals or dominates `other` in block efficiency.

    executors: for the law of each; the first judges, too.
    """
    relation = Relation(kind, one, other, shape)

    def fails(point: Point) -> bool:
        mine, theirs = (law_at_point(subject, shape, point).block_efficiency for subject in (one, other))
        return mine != theirs if kind == EQUALS else mine < theirs

    for point in trial_points(shape, Random(0), EACH):
        if fails(point):
            relation.counterexample = _counterexample(one, other, shape, simplest(shape, point, fails))
            return relation
    laws = both_laws(one, other, shape, explorer, executors)
    oracle, executor = explorer.oracle, executors[0] if executors else None
    if kind == EQUALS:
        judge_cells(relation, laws, EFFICIENCY, oracle, executor)
        relation.same_law = not relation.open_cells and same_law(laws, shape, oracle, executor)
    else:
        judge_cells(relation, laws, REACHES, oracle, executor)
        if relation.open_cells:
            judge_cells(relation, laws, EFFICIENCY, oracle, executor)
    relation.finished = True
    return relation


def both_laws(
    one: Subject,
    other: Subject,
    shape: Shape,
    explorer: Explorer,
    executors: tuple[ProofExecutor, ProofExecutor] | None = None,
) -> Laws:
    """The laws of two verifiers."""
    cells = draftings(shape, explorer)
    return [
        parts_of(shape, subject.formal, cells, explorer, place.explored if place else None)
        for subject, place in zip((one, other), executors or (None, None), strict=True)
    ]


def judge_cells(
    relation: Relation,
    laws: Laws,
    by: str,
    oracle: Oracle,
    executor: ProofExecutor | None = None,
    judging: Judging | None = None,
) -> None:
    """Judge every cell of every difference, from the beginning; what cannot be shown stays open."""
    relation.by, relation.cells = by, 0
    relation.judgements, relation.open_cells = [], []
    places: list[Place] = [()] if by == EFFICIENCY else [(context,) for context in relation.shape.contexts[1:]]
    wanted = [(number, place) for number in range(len(laws[0])) for place in places]
    for cells, judgements, missing in judged_places(
        relation.kind, laws, wanted, relation.shape, oracle, executor, judging
    ):
        relation.cells += cells
        relation.judgements += judgements
        relation.open_cells += [region for region, _ in missing]


def same_law(laws: Laws, shape: Shape, oracle: Oracle, executor: ProofExecutor | None = None) -> bool:
    """Whether every block has the same mass under both."""
    blocks = list(product(shape.contexts, range(shape.vocab_size)))
    wanted = [(number, block) for number, part in enumerate(laws[0]) if part.gap is None for block in blocks]
    return all(not missing for _, _, missing in judged_places(EQUALS, laws, wanted, shape, oracle, executor))


def _counterexample(one: Subject, other: Subject, shape: Shape, point: Point) -> Counterexample:
    mine, theirs = (law_at_point(subject, shape, point).block_efficiency for subject in (one, other))
    return Counterexample(point, shape.instance(point), (mine, theirs))
