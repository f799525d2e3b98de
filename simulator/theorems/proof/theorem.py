"""Proofs of losslessness for all p and q of a shape: proved, refuted by an instance, or open on some cells.

1. The verifier is checked at simple points in rationals, which refutes most lossy ones.
2. Its law is computed as a function of p and q, cell by cell, and every balance is shown to be zero on every cell.
3. Where a balance is not zero, a point is searched and checked in rationals; only that check refutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from scipy.special import betaincinv

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import guarded_law, verdicts
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.protocol import Context, Verifier
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, Point
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, leaves
from draftproof.simulator.theorems.proof.balance import places
from draftproof.simulator.theorems.proof.coin import FollowingCoin
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judging import LOSSLESS, ProofExecutor, judged_places
from draftproof.simulator.theorems.proof.laws import Making, Part, draftings, drawn, law_at, parts_of
from draftproof.simulator.theorems.proof.numbers import Run
from draftproof.simulator.theorems.proof.points import random_point, simplest, trial_points
from draftproof.simulator.theorems.proof.rows import Shape, SideRows
from draftproof.simulator.theorems.proof.watch import HasState, NotFollowed, Watched
from draftproof.simulator.verdicts.lossless import assert_holds_in_floats

#: Points tried for each denominator before anything is proved.
TRIALS = 3
#: Points at which the law by formula is compared with the law by enumeration after a proof.
COMPARED = 8
#: Points drawn, at most, for one at which the theorem claims something.
SPARE = 32


@dataclass(frozen=True)
class Subject:
    """The verifier of a theorem.

    formal: makes it for a symbolic run. at: makes it for values of its free parameters. parameters: their names, in the
    order of the shape's.
    """

    name: str
    formal: Making
    at: Callable[[Sequence[Any]], Verifier]
    parameters: tuple[str, ...] = ()

    @classmethod
    def of(cls, verifier: Verifier) -> Subject:
        """A verifier without free numbers."""
        return cls(verifier.card.name, lambda run: verifier, lambda values: verifier)


@dataclass(frozen=True)
class Refutation:
    """A point at which the balance fails in rationals, and the polynomial that is not zero on its cell.

    cell: the conditions of the cell as `(polynomial, allowed signs)`. polynomial: None where the verifier does what a
    proof cannot follow, so that the instance alone refutes it.
    """

    point: Point
    instance: Instance
    violation: Violation
    polynomial: str | None
    cell: tuple[tuple[str, int], ...]


@dataclass
class Proof:
    """The state of a proof. law: for every cell of drafting. verdict_cells, cells: numbers of cells of the verdicts on
    all draft trees, and of the balances. open_cells: cells without a result; it is proved only if there are none.
    """

    subject: Subject
    shape: Shape
    explorer: Explorer
    law: list[Part] = field(default_factory=list)
    identities: int = 0
    verdict_cells: int = 0
    cells: int = 0
    degree: int = 0
    compared: int = 0
    open_cells: list[Region] = field(default_factory=list)
    refutation: Refutation | None = None
    finished: bool = False

    @property
    def proved(self) -> bool:
        """Whether it is lossless at every point of the shape's domain."""
        return self.finished and self.refutation is None and not self.open_cells


def tried(subject: Subject, shape: Shape, random: Random) -> tuple[int, Point | None]:
    """At how many points the balance holds, and the first one at which it fails, if there is one."""
    count = 0
    for point in trial_points(shape, random, TRIALS):
        instance = shape.instance(point)
        if law_at_point(subject, shape, point).max_deviation(instance.target) != 0:
            return count, point
        if not shape.parameters:
            assert_holds_in_floats(subject.at(()), instance.target, instance.draft, shape.scheme)
        count += 1
    return count, None


def prove(
    subject: Subject,
    shape: Shape,
    explorer: Explorer | None = None,
    executor: ProofExecutor | None = None,
) -> Proof:
    """Prove or refute losslessness for a shape."""
    proof = Proof(subject, shape, explorer or Explorer(Oracle(shape.ring)))
    random = Random(0)
    _, point = tried(subject, shape, random)
    if point is not None:
        proof.refutation = refutation(subject, shape, point)
        return proof
    follow(proof, executor)
    if proof.refutation is None:
        proof.finished = True
        compare(proof, random, COMPARED)
    return proof


def follow(proof: Proof, executor: ProofExecutor | None = None) -> None:
    """Compute the law and prove the balances of all cells, until one is refuted."""
    shape, explorer = proof.shape, proof.explorer
    cells, exploring = draftings(shape, explorer), executor.explored if executor else None
    proof.law = parts_of(shape, proof.subject.formal, cells, explorer, exploring)
    for part in proof.law:
        if part.gap is not None and not part.gap.outside:
            proof.open_cells.append(part.region)
        for masses in part.masses:
            for _, leaf in leaves(masses, part.region):
                proof.verdict_cells += 1
                values = () if isinstance(leaf, Gap) else leaf.values.values()
                proof.degree = max([proof.degree, *(int(ratio.num.total_degree()) for ratio in values)])
    wanted = [(n, place) for n, part in enumerate(proof.law) if part.gap is None for place in places(shape)]
    for count, _, missing in judged_places(LOSSLESS, [proof.law], wanted, shape, explorer.oracle, executor):
        proof.identities += 1
        proof.cells += count
        proof.open_cells += [region for region, _ in missing]
        proof.refutation = next((refuting for cell in missing if (refuting := refuted(proof, *cell))), None)
        if proof.refutation is not None:
            return


def refuted(proof: Proof, region: Region, value: Ratio | None) -> Refutation | None:
    """A refutation in a cell whose balance is not shown to be zero, if one is found. value: None if not known."""
    subject, shape = proof.subject, proof.shape
    if value is None:
        return None
    elsewhere = region.with_signs(region.ring.atom(value.num), NEGATIVE | POSITIVE)
    point = proof.explorer.oracle.point_in(elsewhere, shape.point)
    if point is None or not law_at_point(subject, shape, point).max_deviation(shape.instance(point).target):
        return None
    return refutation(subject, shape, point)


def law_at_point(subject: Subject, shape: Shape, point: Point) -> BlockLaw:
    """The law at a point by enumeration in rationals."""
    instance = shape.instance(point)
    values = point[len(point) - len(shape.parameters) :]
    return guarded_law(subject.at(values), instance.target, instance.draft, shape.scheme)


def refutation(subject: Subject, shape: Shape, point: Point) -> Refutation:
    """The refutation from a point at which the balance fails: a simpler point, its cell and the polynomial there."""

    def fails(candidate: Point) -> bool:
        target = shape.instance(candidate).target
        return bool(law_at_point(subject, shape, candidate).max_deviation(target) > 0)

    point = simplest(shape, point, fails)
    instance = shape.instance(point)
    violation = law_at_point(subject, shape, point).violation(instance.target)
    run = Run(shape.domain, point)
    try:
        with run.following():
            value = balance_at(subject, shape, run, violation.context, violation.token)
    except HasState:
        raise
    except NotFollowed:
        return Refutation(point, instance, violation, None, ())
    if value.at(point) == 0:
        raise InvalidVerifier(
            "verify computes otherwise with followed numbers than with rationals; "
            "it must use the rows by + - * / and comparisons only"
        )
    cell = tuple(
        (str(shape.ring.atoms[atom]), mask) for atom, mask in run.region if shape.domain.masks.get(atom) != mask
    )
    return Refutation(point, instance, violation, str(value.num), cell)


def balance_at(subject: Subject, shape: Shape, run: Run, context: Context, token: int) -> Ratio:
    """The balance at one place as a function on the cell of one run; no other cell is visited."""
    target, draft = SideRows(shape, run, "p"), SideRows(shape, run, "q")
    verifier, depth = Watched(subject.formal(run)), len(context)
    wanted = shape.ratios(("p", context))[token]
    total = Ratio(shape.ring, shape.ring.zero)
    for tree, weight in drawn(shape, draft, run):
        law = verdicts(verifier, tree, target, draft, RATIONAL, FollowingCoin(run))
        for (accepted, correction), mass in law.items():
            if accepted[:depth] == context:
                hit = accepted[depth] == token if len(accepted) > depth else correction == token
                share = weight.as_ratio * mass.as_ratio
                total = total + (share * wanted - share if hit else share * wanted)
    return total


def compare(proof: Proof, random: Random, count: int) -> None:
    """Compare the law by formula with the law by enumeration at random points; raises `InvalidVerifier`.

    Points at which the theorem claims nothing do not count; others are taken in their place.
    """
    for number in range(count * SPARE):
        if proof.compared == count:
            return
        denominator = 97 if number % 2 else proof.shape.vocab_size + 1 + number % count  # the small ones meet ties
        point = random_point(proof.shape, random, denominator)
        formula = law_at(proof.shape, proof.law, point)
        if formula is None:
            continue
        proof.compared += 1
        plain = law_at_point(proof.subject, proof.shape, point)
        if any((a != b).any() for a, b in zip(formula.correction, plain.correction, strict=True)):
            raise InvalidVerifier(
                "the law by formula is not the law by enumeration: verify depends on more than the tree and the coin"
            )


def fields_of(proof: Proof) -> Mapping[str, Any]:
    """The figures of a proof as plain data."""
    return {
        "proved": proof.proved,
        "identities": proof.identities,
        "verdict_cells": proof.verdict_cells,
        "cells": proof.cells,
        "degree": proof.degree,
        "runs": proof.explorer.runs,
        "solver_questions": proof.explorer.oracle.asked,
        "open_cells": len(proof.open_cells),
        "compared": proof.compared,
    }


#: Random points by which the share of open cells is estimated.
SAMPLED = 300


def open_share(proof: Proof) -> tuple[float, float]:
    """The share of random points that lie in open cells, and the upper bound of Clopper and Pearson at 95 %."""
    random, inside = Random(1), 0
    for _ in range(SAMPLED):
        point = random_point(proof.shape, random, 997)
        inside += any(point in region for region in proof.open_cells)
    return inside / SAMPLED, 1.0 if inside == SAMPLED else float(betaincinv(inside + 1, SAMPLED - inside, 0.95))
