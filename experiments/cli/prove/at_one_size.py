"""Proofs and relations of verifiers at one shape, for all p and q: their rows, and what these show."""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import groupby
from math import inf
from random import Random
from typing import Any

from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.prove.steps import StepExecutor
from draftproof.experiments.cli.witnesses import (
    check_again,
    instance_rows,
    instance_table,
    scheme_flag,
    witness_path,
    witness_tables,
)
from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import NOT_PROVED, bar, named_errors
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.theorems.proof.balance import places
from draftproof.simulator.theorems.proof.certificate import RecordingOracle, certificate_of
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.formulas import condition_text, conditions, formula_cells
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS
from draftproof.simulator.theorems.proof.relations import Counterexample, Relation, relate
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof, fields_of, open_share, prove, tried
from draftproof.simulator.verdicts.witness import Witness

#: Points of a larger vocabulary are checked if there are at most this many draft trees.
MOST_TREES_TRIED = 200
#: Kinds of rows that a proof stores.
KINDS = ("theorem", "step")
#: Exit codes by verdict.
CODES = {"proved": 0, "refuted": 1, "open": NOT_PROVED}
#: Open cells that are shown.
SHOWN = 3
RELATION = {EQUALS: "has the block efficiency of", DOMINATES: "never falls below"}
_NEGATION = {EQUALS: "does not have the block efficiency of", DOMINATES: "falls below"}
#: What people read of every row; programs get its other fields, too.
ABOUT = (Column("verifier"), Column("verdict", "verdict"))
_THEOREM = (
    *ABOUT,
    Column("polynomial", title="the balance has the numerator"),
    Column("cell", title="not zero where"),
    Column("draft_trees", "count"),
    Column("verdict_cells", "count", "cells of verdicts"),
    Column("identities", "count"),
    Column("cells", "count", "on cells"),
    Column("degree", "count", "degree at most"),
    Column("coverage"),
    Column("open_share", "percent", "open, of random points"),
    Column("open_share_at_most", "percent", "at most (at 95%)"),
    Column("solver_questions", "count", "questions to z3"),
    Column("compared", "count", "compared with enumeration at points"),
    Column("seconds"),
)
#: Figures of a proof that say nothing where it ended at a refutation.
_FIGURES = ("verdict_cells", "identities", "cells", "degree", "solver_questions", "compared")
_RELATED = (
    *ABOUT,
    Column("by"),
    Column("cells", "count"),
    Column("certified", "count", "by products"),
    Column("solved", "count", "by z3"),
    Column("seconds"),
)
_FORMULAS = (Column("name", title="of"), Column("formula"), Column("where"))
_COUNTEREXAMPLE = (
    Column("vocab_size", "count", "V"),
    Column("scheme"),
    Column("block_efficiency", "exact", "E[tau+1]"),
    Column("file"),
    Column("again", "command", "see it again"),
)


def about_text(shape: Shape, free: int) -> str:
    """What a theorem covers."""
    support = "" if shape.zeros else " with full support"
    numbers = f" and every value of {free} free number{'s' if free > 1 else ''}" if free else ""
    return f"for every p and q{support}{numbers} at {shape}"


def try_points(request: Request, size: int) -> Row | None:
    """Check the balance at points of another vocabulary; None where there are too many draft trees, or none.

    points: where the balance holds; holds: whether no point failed.
    """
    request = replace(request, vocab_size=size, max_trees=MOST_TREES_TRIED)
    try:
        subject, shape = request.subject_and_shape()
        request.trees(shape)
    except (TooLarge, UnsupportedTree):
        return None
    with named_errors(request.named.label):
        count, point = tried(subject, shape, Random(0))
    return {"vocab_size": size, "points": count, "holds": point is None}


def theorem_row(
    request: Request,
    formulas: bool = False,
    certificate: str | None = None,
    machines: Machines = HERE,
    store: Store | None = None,
) -> Row:
    """Whether a verifier is lossless; raises `InvalidInput` or `TooLarge`, before any work, for what is not possible.

    certificate: the file for it. machines: for the steps. store: for the result of every step and a proved theorem; one
    that is refuted or open is tried again next time. Of a refutation the row has its `Witness`, of an open theorem the
    conditions of some open cells.
    """
    subject, shape = request.subject_and_shape()
    trees, label, store = request.trees(shape), request.named.label, Store(None) if store is None else store
    start, executor = time.perf_counter(), StepExecutor(request, machines, store)
    with _working(label, shape, trees + len(list(places(shape))), [executor]):
        proof = prove(subject, shape, Explorer(RecordingOracle(shape.ring)), executor)
        cells = list(formula_cells(proof)) if formulas and proof.proved else []
    if certificate is not None and proof.proved:
        _write_certificate(certificate, certificate_of(proof, proof.explorer.oracle, request.theorem_fields))
    row = _row(request, shape, proof, start)
    row |= {"identity": request.named.identity, "draft_trees": trees, "free": list(subject.parameters)}
    row |= {**fields_of(proof), "formulas": [asdict(cell) for cell in cells]}
    if (refuted := proof.refutation) is not None:
        conditions_of = ", ".join(condition_text(polynomial, mask) for polynomial, mask in refuted.cell)
        known = refuted.polynomial is not None
        row |= dict.fromkeys(_FIGURES) | {"polynomial": refuted.polynomial}
        row["cell"] = (conditions_of or "p and q are distributions") if known else None
        row["witness"] = Witness(request.named.verifier.card.name, refuted.instance, refuted.violation, shrunk=True)
    elif not proof.proved:
        row["open_share"], row["open_share_at_most"] = open_share(proof)
        row["undecided"] = [", ".join(conditions(shape, region)) for region in proof.open_cells[:SHOWN]]
    elif (name := request.row_id()) not in store:  # proved again for its certificate, or by another run meanwhile
        store.add({"kind": "theorem", **row, "strong_id": name})
    return row


def relation_row(
    request: Request,
    kind: str,
    other: NamedVerifier,
    certificate: str | None = None,
    machines: Machines = HERE,
    store: Store | None = None,
    seconds: float = inf,
) -> Row:
    """The relation between two verifiers; as `theorem_row`. Raises `TooLarge` where a step ends after so many seconds.

    A refutation has its `Counterexample`.
    """
    requests = request, replace(request, named=other)
    (one, shape), (two, _) = (asked.subject_and_shape() for asked in requests)
    trees, label = request.trees(shape), f"{request.named.label} {kind} {other.label}"
    start, store = time.perf_counter(), Store(None) if store is None else store
    first, second = (StepExecutor(asked, machines, store) for asked in requests)
    differences = len(shape.contexts) * (shape.vocab_size if kind == EQUALS else 1)
    with _working(label, shape, 2 * trees + differences, [first, second], seconds):
        explorer = Explorer(RecordingOracle(shape.ring))
        relation = relate(kind, one, two, shape, explorer, (first, second))
    if certificate is not None and relation.proved:
        about = {**request.theorem_fields, "other": other.identity}
        _write_certificate(certificate, certificate_of(relation, explorer.oracle, about))
    return {
        **_row(request, shape, relation, start),
        "relation": kind,
        "other": other.label,
        "proved": relation.proved,
        "by": relation.by or None,
        "same_law": relation.same_law,
        "cells": relation.cells,
        "certified": relation.certified,
        "solved": relation.solved,
        "open_cells": len(relation.open_cells),
        "counterexample": relation.counterexample,
    }


def _row(request: Request, shape: Shape, answer: Proof | Relation, start: float) -> Row:
    """The fields that every answer about one shape has."""
    refuted = answer.refutation if isinstance(answer, Proof) else answer.counterexample
    return {
        "verifier": request.named.label,
        "vocab_size": shape.vocab_size,
        "scheme": shape.scheme.as_dict(),
        "zeros": shape.zeros,
        "verdict": "proved" if answer.proved else "refuted" if refuted else "open",
        "seconds": round(time.perf_counter() - start, 3),
        "versions": versions(),
    }


def _write_certificate(path: str, fields: dict[str, Any]) -> None:
    write_whole(path, json.dumps(fields, indent=1) + "\n")


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


def theorem_result(request: Request, row: Row, larger: Row | None, witness_file: str | None) -> Result:
    """What the row of a theorem shows. larger: of points of a larger vocabulary, where they were tried."""
    about = about_text(request.subject_and_shape()[1], len(row["free"]))
    tables, files, notes = list[Table](), dict[str, str | bytes](), list[str]()
    coverage: str | None = "complete"
    if row["open_cells"]:
        coverage = f"incomplete: {row['open_cells']} cells are undecided"
    if (witness := row.get("witness")) is not None:
        words, coverage = "REFUTED", None
        file = witness_file or str(witness_path(witness.verifier, witness.instance))
        again = check_again(request.named, scheme_flag(witness.instance.scheme), file)
        tables, files = witness_tables(witness, file, again), {file: witness.instance.dumps()}
    elif row["verdict"] == "open":
        words, notes = f"NOT PROVED {about}", [f"undecided where {region}" for region in row["undecided"]]
    else:
        words = f"LOSSLESS {about}"
    if row["formulas"]:
        tables = [_formulas(row["formulas"])]
        notes = ["p_0 is p(0), p10_2 is p(2 | 1, 0), the last probability of a row is 1 minus the others"]
    if larger is not None and witness is None:
        notes.append(
            f"at V = {larger['vocab_size']} it is lossless at {larger['points']} points of p and q, which proves "
            f"nothing: --vocab {larger['vocab_size']} tries a proof"
        )
    private = ("formulas", "kind", "strong_id", "witness", "undecided")
    fields = {name: value for name, value in row.items() if name not in private}
    fields |= {"verdict": words, "scheme": str(request.scheme), "proved": row["verdict"] == "proved"}
    fields |= {"coverage": coverage, "larger": larger}
    title = f"{request.named.label} on {request.scheme}"
    return Result(title, [Table.whole(_THEOREM, [fields]), *tables], notes, CODES[row["verdict"]], files)


def _formulas(formulas: Sequence[Mapping[str, Any]]) -> Table:
    """Each formula with the cells on which it holds."""
    rows = []
    for name, cells in groupby(formulas, key=lambda cell: cell["name"]):
        regions: dict[str, list[Sequence[str]]] = {}
        for cell in cells:
            regions.setdefault(cell["formula"], []).append(cell["conditions"])
        for formula, parts in regions.items():
            where = "; or ".join(", ".join(part) for part in parts) if all(parts) else "everywhere"
            rows.append({"name": name, "formula": formula, "where": where, "cells": parts})
    return Table.whole(_FORMULAS, rows, name="formulas", title="formulas")


def relation_result(request: Request, other: NamedVerifier, row: Row, witness_file: str | None) -> Result:
    """What the row of a relation of two verifiers shows."""
    one, two, kind, code = request.named.label, other.label, row["relation"], CODES[row["verdict"]]
    fields = {name: value for name, value in row.items() if name != "counterexample"}
    fields["scheme"] = str(request.scheme)
    failed: Counterexample | None = row["counterexample"]
    if failed is not None:
        fields |= dict.fromkeys(("by", "cells", "certified", "solved")) | {"verdict": "REFUTED"}
        text = failed.instance.dumps()
        file = witness_file or f"counterexample-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
        place = {
            "vocab_size": failed.instance.vocab_size,
            "scheme": str(failed.instance.scheme),
            "block_efficiency": list(failed.values),
            "file": file,
            "again": _again(request, other, file),
        }
        table = Table.whole(_COUNTEREXAMPLE, [place], title="witness", name="witness")
        tables = [Table.whole(_RELATED, [fields]), table, instance_table(instance_rows(failed.instance, None))]
        title = f"{one} {_NEGATION[kind]} {two}: {failed.values[0]} against {failed.values[1]}"
        return Result(title, tables, (), code, {file: text})
    about = about_text(request.subject_and_shape()[1], 0)
    fields["verdict"] = f"PROVED {about}" if row["proved"] else f"NOT PROVED {about}"
    notes = [] if row["proved"] else [f"{row['open_cells']} cells are undecided"]
    if row["proved"] and kind == DOMINATES:
        notes.append("by products: by multiplication; on cells that are neither, both are equal or nothing is claimed")
    law = ", and the same law" if row["same_law"] else ""
    return Result(f"{one} {RELATION[kind]} {two}{law}", [Table.whole(_RELATED, [fields])], notes, code)


def _again(request: Request, other: NamedVerifier, file: str) -> str | None:
    """The command that shows both block efficiencies; None for objects, which no command can name."""
    if request.nameless or replace(request, named=other).nameless:
        return None
    specs = " ".join(shlex.quote(named.spec) for named in (request.named, other))
    return f"draftproof check {specs} --world {shlex.quote(file)}{scheme_flag(request.scheme)}"
