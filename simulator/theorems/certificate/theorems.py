"""Certificates of theorems: what was found by search, so that a check needs none.

A certificate holds, in the order in which they came up, the points that the search for other cells found, and "empty"
where there is none; and the law it led to. The check runs the verifier at those points only, asks the solver to confirm
every "empty", recomputes the law and every identity, and compares.
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
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, leaves
from draftproof.simulator.theorems.certificate.formulas import conditions
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.laws import plain_pieces
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof, Subject, follow

FORMAT = "draftproof theorem 1"


@dataclass
class RecordingOracle(Oracle):
    """An oracle that keeps its answers to the search."""

    answers: list[Point | None] = field(default_factory=list)

    def find(self, region: Region, atom: int, near: Point) -> Point | Empty:
        answer = super().find(region, atom, near)
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

    def find(self, region: Region, atom: int, near: Point) -> Point | Empty:
        if self.used == len(self.answers):
            return Empty.UNKNOWN
        point = self.answers[self.used]
        self.cursor[0] += 1
        if point is not None:
            return point if point in region else Empty.UNKNOWN
        return Empty.YES if self.is_empty(region, atom) else Empty.UNKNOWN


def certificate_of(proof: Proof, about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of a proof that a `RecordingOracle` found, as plain data. about: which theorem it is.

    Raises `InvalidInput` for a proof that is not complete.
    """
    oracle = proof.explorer.oracle
    if not proof.proved or not isinstance(oracle, RecordingOracle):
        raise InvalidInput("only what is proved has a certificate")
    return {
        "format": FORMAT,
        **about,
        "variables": list(proof.shape.ring.names),
        "answers": plain_answers(oracle),
        "law": law_as_text(proof),
        "identities": proof.identities,
    }


def law_as_text(proof: Proof) -> list[dict[str, Any]]:
    """The law: for every draft tree its cells, and on each the mass of every block."""
    shape = proof.shape
    return [
        {
            "tree": {",".join(map(str, context)): list(tokens) for context, tokens in sorted(tree.children.items())},
            **({"pieces": plain_pieces(tree)} if tree.pieces else {}),
            "cells": [
                {
                    "where": list(conditions(shape, region)),
                    "masses": None
                    if isinstance(leaf, Gap)
                    else {str(block): r.key for block, r in leaf.values.items()},
                }
                for region, leaf in leaves(masses, part.region)
            ],
        }
        for part in proof.law
        for tree, masses in zip(part.drafted, part.masses, strict=True)
    ]


@dataclass(frozen=True)
class CertificateCheck:
    """The result of a check: whether a certificate holds, and the reason."""

    valid: bool
    reason: str
    proof: Proof


def checked(certificate: Mapping[str, Any], subject: Subject, shape: Shape) -> CertificateCheck:
    """Check a certificate about this verifier and shape, without a search; raises `InvalidInput` for other data."""
    oracle = opened(certificate, FORMAT, shape)
    proof = Proof(subject, shape, Explorer(oracle))
    follow(proof)
    proof.finished = proof.refutation is None
    if not proof.proved:
        return CertificateCheck(False, f"{len(proof.open_cells)} cells are not shown to be lossless or empty", proof)
    if oracle.used < len(oracle.answers):
        return CertificateCheck(False, f"{len(oracle.answers) - oracle.used} of its answers are not used", proof)
    if certificate.get("law") != law_as_text(proof) or certificate.get("identities") != proof.identities:
        return CertificateCheck(False, "its law is not what the verifier computes", proof)
    return CertificateCheck(True, "every cell is lossless, and no point is outside all cells", proof)


def opened(certificate: Mapping[str, Any], stated: str, shape: Shape) -> CertificateOracle:
    """The oracle with the answers of a certificate of this format; raises `InvalidInput` for other data."""
    if certificate.get("format") != stated:
        raise InvalidInput(f"its format is {cut(repr(certificate.get('format')))}, not {stated!r}")
    if certificate.get("variables") != list(shape.ring.names):
        raise InvalidInput("the certificate has other variables than the shape; give the shape that it is about")
    return CertificateOracle(shape.ring, answers=_points_in(certificate, len(shape.ring.names)))


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
