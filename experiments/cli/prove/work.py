"""Proofs and relations of verifiers at one shape, for all p and q, with progress."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import inf
from random import Random
from typing import Any

from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.prove.steps import StepExecutor
from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.theorems.proof.balance import places
from draftproof.simulator.theorems.proof.certificate import RecordingOracle, certificate_of
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.formulas import FormulaCell, formula_cells
from draftproof.simulator.theorems.proof.judging import EQUALS
from draftproof.simulator.theorems.proof.relations import Relation, relate
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof, fields_of, prove, tried

#: Points of a larger vocabulary are checked if there are at most this many draft trees.
MOST_TREES_TRIED = 200
#: Kinds of rows that a proof stores.
KINDS = ("theorem", "step")


@dataclass(frozen=True)
class LargerVocabulary:
    """Checks at points of a larger vocabulary. points: where the balance holds; holds: whether no point failed."""

    vocab_size: int
    points: int
    holds: bool

    def __str__(self) -> str:
        return (
            f"at V = {self.vocab_size} it is lossless at {self.points} points of p and q, which proves nothing: "
            f"--vocab {self.vocab_size} tries a proof"
        )


@dataclass(frozen=True)
class Report:
    """Whether a verifier is lossless, and how long the answer took."""

    request: Request
    proof: Proof
    trees: int
    seconds: float
    formulas: Sequence[FormulaCell] = ()

    @property
    def verdict(self) -> str:
        """proved, refuted or open."""
        return "proved" if self.proof.proved else "refuted" if self.proof.refutation else "open"

    def as_json(self) -> dict[str, Any]:
        """The fields that a store keeps."""
        return {
            **_json_of(self, self.proof.shape),
            "identity": self.request.named.identity,
            "draft_trees": self.trees,
            "free": list(self.proof.subject.parameters),
            **fields_of(self.proof),
            "formulas": [asdict(cell) for cell in self.formulas],
        }


@dataclass(frozen=True)
class Related:
    """The relation of two verifiers, and how long the answer took."""

    request: Request
    other: NamedVerifier
    relation: Relation
    seconds: float

    @property
    def verdict(self) -> str:
        """proved, refuted or open."""
        return "proved" if self.relation.proved else "refuted" if self.relation.counterexample else "open"

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        relation = self.relation
        return {
            **_json_of(self, relation.shape),
            "relation": relation.kind,
            "other": self.other.label,
            "proved": relation.proved,
            "by": relation.by or None,
            "same_law": relation.same_law,
            "cells": relation.cells,
            "certified": relation.certified,
            "solved": relation.solved,
            "open_cells": len(relation.open_cells),
        }


def _json_of(answer: Report | Related, shape: Shape) -> dict[str, Any]:
    """The fields that every answer about one shape has."""
    return {
        "verifier": answer.request.named.label,
        "vocab_size": shape.vocab_size,
        "scheme": shape.scheme.as_dict(),
        "zeros": shape.zeros,
        "verdict": answer.verdict,
        "seconds": round(answer.seconds, 3),
        "versions": versions(),
    }


def try_points(request: Request, size: int) -> LargerVocabulary | None:
    """Check the balance at points of another vocabulary; None where there are too many draft trees, or none."""
    request = replace(request, vocab_size=size, max_trees=MOST_TREES_TRIED)
    try:
        subject, shape = request.subject_and_shape()
        request.trees(shape)
    except (TooLarge, UnsupportedTree):
        return None
    with named_errors(request.named.label):
        count, point = tried(subject, shape, Random(0))
    return LargerVocabulary(size, count, point is None)


def run_proof(
    request: Request,
    formulas: bool = False,
    certificate: str | None = None,
    machines: Machines = HERE,
    store: Store | None = None,
) -> Report:
    """The proof, with progress; raises `InvalidInput` or `TooLarge` before any work if the request is not possible.

    certificate: the file for it. machines: for the steps. store: for the result of every step.
    """
    subject, shape = request.subject_and_shape()
    trees, label = request.trees(shape), request.named.label
    start, executor = time.perf_counter(), _executor(request, machines, store)
    with _working(label, shape, trees + len(list(places(shape))), [executor]):
        proof = prove(subject, shape, Explorer(RecordingOracle(shape.ring)), executor)
        cells = list(formula_cells(proof)) if formulas and proof.proved else []
    if certificate is not None and proof.proved:
        _write_certificate(certificate, certificate_of(proof, proof.explorer.oracle, request.theorem_fields))
    return Report(request, proof, trees, time.perf_counter() - start, cells)


def relate_two(
    request: Request,
    kind: str,
    other: NamedVerifier,
    certificate: str | None = None,
    machines: Machines = HERE,
    store: Store | None = None,
    seconds: float = inf,
) -> Related:
    """The relation between two verifiers; as `run_proof`. Raises `TooLarge` where a step ends after so many seconds."""
    requests = request, replace(request, named=other)
    (one, shape), (two, _) = (each.subject_and_shape() for each in requests)
    trees, label = request.trees(shape), f"{request.named.label} {kind} {other.label}"
    start = time.perf_counter()
    first, second = (_executor(each, machines, store) for each in requests)
    differences = len(shape.contexts) * (shape.vocab_size if kind == EQUALS else 1)
    with _working(label, shape, 2 * trees + differences, [first, second], seconds):
        explorer = Explorer(RecordingOracle(shape.ring))
        relation = relate(kind, one, two, shape, explorer, (first, second))
    if certificate is not None and relation.proved:
        about = {**request.theorem_fields, "other": other.identity}
        _write_certificate(certificate, certificate_of(relation, explorer.oracle, about))
    return Related(request, other, relation, time.perf_counter() - start)


def _write_certificate(path: str, fields: dict[str, Any]) -> None:
    write_whole(path, json.dumps(fields, indent=1) + "\n")


def _executor(request: Request, machines: Machines, store: Store | None) -> StepExecutor:
    return StepExecutor(request, machines, Store(None) if store is None else store)


@contextmanager
def _working(
    label: str, shape: Shape, steps: int, executors: Sequence[StepExecutor], most: float = inf
) -> Iterator[None]:
    """A bar of the steps of the executors; the first one after so many seconds raises `TooLarge`.

    Blames the store where stored steps were used and something failed.
    """
    start = time.perf_counter()
    try:
        with named_errors(label), bar(f"{label}, {shape}", steps) as tick:

            def step_done() -> None:
                tick(1)
                if time.perf_counter() - start > most:
                    raise TooLarge(f"{label}, {shape}: stopped after {most:.0f} s; try it by itself")

            for executor in executors:
                executor.done = step_done
            yield
    except DraftproofError:
        raise
    except Exception as error:
        if not any(executor.reused for executor in executors):
            raise
        reason = f"the steps stored in the --resume file do not fit this proof ({type(error).__name__})"
        raise InvalidInput(f"{reason}; name another file") from error


def known_row(request: Request, store: Store) -> dict[str, Any] | None:
    """The stored row of this theorem."""
    return store.get(request.row_id())


def store_row(report: Report, store: Store) -> None:
    """Store a proved theorem; one that is refuted or open is tried again next time."""
    if report.verdict == "proved":
        name = report.request.row_id()
        if name not in store:  # proved again for its certificate, or by another run meanwhile
            store.add({"kind": "theorem", **report.as_json(), "strong_id": name})
