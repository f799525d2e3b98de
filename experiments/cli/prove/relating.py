"""`draftproof prove A --equals B`, `--dominates B`: a relation of two verifiers at one shape, for all p and q."""

import json
import time
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from draftproof.experiments.cli.prove.parallel import PairExecutor
from draftproof.experiments.cli.prove.work import (
    Request,
    announce,
    blame_stored_steps,
    executor_of,
    shape_of,
)
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.theorems.certificate.relations import relation_certificate
from draftproof.simulator.theorems.certificate.theorems import RecordingOracle
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.relations import Relation, relate
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject


@dataclass(frozen=True)
class Related:
    """The answer about two verifiers."""

    request: Request
    other: NamedVerifier
    relation: Relation
    trees: int
    seconds: float
    processes: int = 1

    @property
    def verdict(self) -> str:
        """proved, refuted or open."""
        return "proved" if self.relation.proved else "refuted" if self.relation.counterexample else "open"

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        relation = self.relation
        return {
            "verifier": self.request.named.label,
            "relation": relation.kind,
            "other": self.other.label,
            "vocab_size": relation.shape.vocab_size,
            "scheme": relation.shape.scheme.as_dict(),
            "zeros": relation.shape.zeros,
            "verdict": self.verdict,
            "by": relation.by,
            "same_law": relation.same_law,
            "cells": relation.cells,
            "certified": relation.certified,
            "solved": relation.solved,
            "open_cells": len(relation.open_cells),
            "seconds": round(self.seconds, 3),
            "processes": self.processes,
            "versions": versions(),
        }


def relate_two(
    request: Request,
    kind: str,
    other: NamedVerifier,
    certificate: str | None = None,
    jobs: int = 1,
    store: Store | None = None,
    seconds: float = inf,
) -> Related:
    """The relation between two verifiers, with progress; raises `TooLarge` where a step ends after so many seconds.

    certificate: the file for its certificate. jobs: number of processes. store: for the result of every step.
    """
    shape, trees = shape_of(request, (request.named, other), ())
    announce(shape, trees)
    start = time.perf_counter()
    one, two = (Subject.of(named.verifier) for named in (request.named, other))
    label = f"{request.named.label} {kind} {other.label}"
    store = Store(None) if store is None else store
    first, second = (executor_of(of, jobs, store) for of in (request, replace(request, named=other)))
    steps = 2 * trees + len(shape.contexts)
    with named_errors(label), bar(f"{label}, {shape}", steps, even=False) as tick, blame_stored_steps(first, second):

        def step_done(_: object) -> None:
            tick(1)
            if time.perf_counter() - start > seconds:
                raise TooLarge(f"{label}, {shape}: stopped after {seconds:.0f} s; try it by itself")

        explorer = Explorer(RecordingOracle(shape.ring))
        relation = relate(kind, one, two, shape, explorer, step_done, PairExecutor((first, second)))
    if certificate is not None and relation.proved:
        about = related_about(request, kind, other)
        fields = relation_certificate(relation, explorer.oracle, about)
        write_whole(certificate, json.dumps(fields, indent=1) + "\n")
    took = time.perf_counter() - start
    return Related(request, other, relation, trees, took, max(first.processes, second.processes))


def related_about(request: Request, kind: str, other: NamedVerifier) -> dict[str, Any]:
    """Everything that defines a relation."""
    return {**request.theorem_fields, "relation": kind, "other": other.identity}


def subjects_and_shape(request: Request, other: NamedVerifier) -> tuple[Subject, Subject, Shape]:
    """What a relation is about, for the check of its certificate."""
    shape, _ = shape_of(request, (request.named, other), ())
    return Subject.of(request.named.verifier), Subject.of(other.verifier), shape
