"""Certificates of theorems at one shape: what was found by search, so that a check needs none.

A certificate holds, in the order in which they came up, the points that the search for other cells found, and "empty"
where there is none; of a relation also what is compared, and why it holds on each cell. The check follows the verifiers
at those points only, asks the solver to confirm every "empty", recomputes every balance or difference, and checks each
judgement: sums of products by multiplication only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from draftproof.simulator.arithmetic import parse_fraction
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.theorems.algebra.oracle import Empty, Oracle
from draftproof.simulator.theorems.algebra.plain import plain_point, read_number
from draftproof.simulator.theorems.algebra.polynomials import Point, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judgements import Judgement, stands
from draftproof.simulator.theorems.proof.judging import EQUALS, LOSSLESS
from draftproof.simulator.theorems.proof.relations import (
    EFFICIENCY,
    REACHES,
    Relation,
    both_laws,
    judge_cells,
    same_law,
)
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof, Subject, follow

FORMAT = "draftproof theorem 2"


@dataclass
class RecordingOracle(Oracle):
    """An oracle that keeps its answers to the search."""

    answers: list[Point | None] = field(default_factory=list)

    def find(self, region: Region, atom: int, start: Point) -> Point | Empty:
        answer = super().find(region, atom, start)
        self.answers.append(None if isinstance(answer, Empty) else answer)
        return answer

    def account(self) -> dict[str, Any]:
        return {**super().account(), "answers": plain_answers(self)}

    def absorb(self, account: Mapping[str, Any]) -> None:
        super().absorb(account)
        answers = account.get("answers", ())
        self.answers += [None if point is None else tuple(map(read_number, point)) for point in answers]


def plain_answers(oracle: RecordingOracle) -> list[list[str] | None]:
    """The answers as plain data."""
    return [None if point is None else plain_point(point) for point in oracle.answers]


@dataclass
class CertificateOracle(Oracle):
    """An oracle that takes its points from a certificate. The solver only confirms that a region is empty."""

    answers: Sequence[Point | None] = ()
    cursor: list[int] = field(default_factory=lambda: [0])

    @property
    def used(self) -> int:
        """How many answers of the certificate were taken, by this oracle and all that `for_ring` made of it."""
        return self.cursor[0]

    def for_ring(self, ring: Ring) -> Self:
        return replace(super().for_ring(ring), answers=self.answers, cursor=self.cursor)

    def find(self, region: Region, atom: int, start: Point) -> Point | Empty:
        if self.used == len(self.answers):
            return Empty.UNKNOWN
        point = self.answers[self.used]
        self.cursor[0] += 1
        if point is not None:
            return point if point in region else Empty.UNKNOWN
        return Empty.YES if self.is_empty(region, atom) else Empty.UNKNOWN


def certificate_of(theorem: Proof | Relation, oracle: Oracle, about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of what a `RecordingOracle` helped to prove, as plain data. about: what names it.

    Raises `InvalidInput` for what is not proved.
    """
    if not theorem.proved or not isinstance(oracle, RecordingOracle):
        raise InvalidInput("only what is proved has a certificate")
    fields = {"format": FORMAT, **about, "variables": list(theorem.shape.ring.names), "answers": plain_answers(oracle)}
    if isinstance(theorem, Proof):
        return {**fields, "kind": LOSSLESS}
    judged = {"by": theorem.by, "same_law": theorem.same_law, "judgements": theorem.judgements}
    return {**fields, "kind": theorem.kind, **judged}


@dataclass(frozen=True)
class CertificateCheck:
    """The result of a check: whether a certificate holds, the reason, and what was recomputed."""

    valid: bool
    reason: str
    theorem: Proof | Relation


def checked(certificate: Mapping[str, Any], kind: str, subjects: Sequence[Subject], shape: Shape) -> CertificateCheck:
    """Check a certificate about these verifiers, one or two, without a search.

    Raises `InvalidInput` for data that are no certificate of this kind and shape.
    """
    for key, stated in (("format", FORMAT), ("kind", kind), ("variables", list(shape.ring.names))):
        if certificate.get(key) != stated:
            raise InvalidInput(f"its {key} is {cut(repr(certificate.get(key)))}, not {cut(repr(stated))}")
    oracle = CertificateOracle(shape.ring, answers=_points_in(certificate, len(shape.ring.names)))
    explorer = Explorer(oracle)
    theorem: Proof | Relation
    if kind == LOSSLESS:
        theorem = Proof(subjects[0], shape, explorer)
        follow(theorem)
        theorem.finished = theorem.refutation is None
        spare = False
    else:
        theorem = Relation(kind, subjects[0], subjects[1], shape)
        spare = _judged(certificate, theorem, explorer)
    if not theorem.proved:
        reason = f"on {len(theorem.open_cells)} cells what it says shows nothing"
    elif oracle.used < len(oracle.answers) or spare:
        reason = "some of its answers belong to no question, or some of its judgements to no cell"
    elif isinstance(theorem, Relation) and certificate.get("same_law") and not theorem.same_law:
        reason = "the laws are not the same"
    else:
        return CertificateCheck(True, f"{kind} on every cell, and no point is outside all cells", theorem)
    return CertificateCheck(False, reason, theorem)


def _judged(certificate: Mapping[str, Any], relation: Relation, explorer: Explorer) -> bool:
    """Judge every cell as the certificate does; whether it has more judgements than cells."""
    given, by, kind = certificate.get("judgements"), certificate.get("by"), relation.kind
    if not isinstance(given, list) or by not in ((EFFICIENCY,) if kind == EQUALS else (EFFICIENCY, REACHES)):
        raise InvalidInput("it does not say why the relation holds on each cell, or what is compared there")
    laws, rest = both_laws(relation.one, relation.other, relation.shape, explorer), iter(given)

    def judged(ratio: Ratio, region: Region, asked: Oracle) -> Judgement | None:
        judgement = next(rest, None)
        allowed = kind != EQUALS or judgement in ("equal", "zero")
        right = judgement is not None and allowed and stands(judgement, ratio, region, asked)
        return judgement if right else None

    judge_cells(relation, laws, str(by), explorer.oracle, judging=judged)
    relation.finished = True
    relation.same_law = bool(certificate.get("same_law")) and same_law(laws, relation.shape, explorer.oracle)
    return len(given) > len(relation.judgements)


def _points_in(certificate: Mapping[str, Any], size: int) -> list[Point | None]:
    """The answers of a certificate; raises `InvalidInput` for other data."""
    answers = certificate.get("answers")
    try:
        assert isinstance(answers, list)
        points = [None if answer is None else tuple(_number(value) for value in answer) for answer in answers]
        assert all(point is None or len(point) == size for point in points)
    except (AssertionError, AttributeError, TypeError, ValueError):
        raise InvalidInput(f"its answers must be null or {size} fractions each") from None
    return points


def _number(text: str) -> Any:
    value = parse_fraction(text)
    return read_number(str(value))
