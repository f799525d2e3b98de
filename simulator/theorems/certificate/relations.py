"""Certificates of relations: the cells, and why the relation holds on each, so that a check needs no search.

The check follows both verifiers at the points given, asks the solver to confirm every "empty", recomputes every
difference, and checks each judgement: sums of products by multiplication only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.certificate.theorems import CertificateOracle, RecordingOracle, opened, plain_answers
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judgements import Judgement, stands
from draftproof.simulator.theorems.proof.relations import (
    EFFICIENCY,
    EQUALS,
    REACHES,
    Relation,
    both_laws,
    judge_cells,
    same_law,
)
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject

FORMAT = "draftproof relation 1"


def relation_certificate(relation: Relation, oracle: Oracle, about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of a relation that a `RecordingOracle` oracle helped to find. about: what names it.

    Raises `InvalidInput` for what is not proved.
    """
    if not relation.proved or not isinstance(oracle, RecordingOracle):
        raise InvalidInput("only what is proved has a certificate")
    return {
        "format": FORMAT,
        **about,
        "variables": list(relation.shape.ring.names),
        "answers": plain_answers(oracle),
        "by": relation.by,
        "same_law": relation.same_law,
        "judgements": relation.judgements,
    }


@dataclass(frozen=True)
class RelationCheck:
    """The result of a check: whether a certificate holds, and the reason."""

    valid: bool
    reason: str
    relation: Relation
    asked: int


def checked_relation(
    certificate: Mapping[str, Any], kind: str, one: Subject, other: Subject, shape: Shape
) -> RelationCheck:
    """Check a certificate about these verifiers, without a search; raises `InvalidInput` if it is none."""
    oracle = opened(certificate, FORMAT, shape)
    given = certificate.get("judgements")
    by = certificate.get("by")
    if not isinstance(given, list) or by not in ((EFFICIENCY,) if kind == EQUALS else (EFFICIENCY, REACHES)):
        raise InvalidInput("it does not say why the relation holds on each cell, or what is compared there")
    relation = Relation(kind, one, other, shape)
    pairs = both_laws(one, other, shape, Explorer(oracle))
    rest = iter(given)

    def judged(ratio: Ratio, region: Region, asked: Oracle) -> Judgement | None:
        judgement = next(rest, None)
        allowed = kind != EQUALS or judgement in ("equal", "zero")
        right = judgement is not None and allowed and stands(judgement, ratio, region, asked)
        return judgement if right else None

    judge_cells(relation, pairs, str(by), oracle, judged)
    relation.finished = True
    return RelationCheck(*_reason(relation, oracle, given, certificate, pairs), relation, oracle.asked)


def _reason(
    relation: Relation, oracle: CertificateOracle, given: list[Judgement], certificate: Mapping[str, Any], pairs: Any
) -> tuple[bool, str]:
    if relation.open_cells:
        return False, f"on {len(relation.open_cells)} cells what it says does not show the relation"
    if oracle.used < len(oracle.answers) or len(given) > len(relation.judgements):
        return False, "some of its answers belong to no question, or some of its judgements to no cell"
    if certificate.get("same_law") and not same_law(pairs, relation.shape, oracle):
        return False, "the laws are not the same"
    return True, "the relation holds on every cell, and no point is outside all cells"
