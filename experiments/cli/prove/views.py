"""The results of `prove`: theorems, refutations with their instances, relations, theorems for every vocabulary size."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from draftproof.experiments.cli.prove.any_vocabulary import ALIKE, EverySize, title_of
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.cli.prove.work import LargerVocabulary, Related, Report
from draftproof.experiments.cli.witnesses import (
    check_again,
    instance_rows,
    instance_table,
    scheme_flag,
    witness_path,
    witness_tables,
)
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import NOT_PROVED
from draftproof.simulator.theorems.proof.formulas import condition_text, conditions
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Refutation, open_share
from draftproof.simulator.verdicts.witness import Witness

#: Exit codes by verdict.
CODES = {"proved": 0, "refuted": 1, "open": NOT_PROVED}
#: Open cells that are shown, and the most characters of the reason why a step is not.
SHOWN, REASON = 3, 300
RELATION = {EQUALS: "has the block efficiency of", DOMINATES: "never falls below"}
_NEGATION = {EQUALS: "does not have the block efficiency of", DOMINATES: "falls below"}

#: What people read of a row; programs get its other fields, too.
_ABOUT = (Column("verifier"), Column("verdict", "verdict"))
_THEOREM = (
    *_ABOUT,
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
_RELATED = (
    *_ABOUT,
    Column("by"),
    Column("cells", "count"),
    Column("certified", "count", "by products"),
    Column("solved", "count", "by z3"),
    Column("seconds"),
)
_EVERY_SIZE = (*_ABOUT, Column("seconds"))
_FORMULAS = (Column("name", title="of"), Column("formula"), Column("where"))
_STEPS = (
    Column("step"),
    Column("proved"),
    Column("cases", "count"),
    Column("failed", "count"),
    Column("runs", "count", "runs of the code"),
    Column("equations", "count", "functions compared"),
    Column("solver_questions", "count", "questions to z3"),
)
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


def result_of(found: Report | Related | EverySize, witness_file: str | None) -> Result:
    """The result of a proof of any kind."""
    if isinstance(found, EverySize):
        return every_size_result(found)
    return (
        relation_result(found, witness_file) if isinstance(found, Related) else report_result(found, None, witness_file)
    )


def report_result(report: Report, larger: LargerVocabulary | None, witness_file: str | None) -> Result:
    """The result of a proof. larger: of points of a larger vocabulary, where they were tried."""
    proof, row = report.proof, report.as_json()
    if proof.proved:
        return proved_result(report.request, row, larger)
    shape = proof.shape
    if proof.refutation is None:
        words = f"NOT PROVED {about_text(shape, len(proof.subject.parameters))}"
        row["open_share"], row["open_share_at_most"] = open_share(proof)
        notes = [f"undecided where {', '.join(conditions(shape, region))}" for region in proof.open_cells[:SHOWN]]
        return _theorem(report.request, row, words, larger, notes=notes)
    empty = dict.fromkeys(("verdict_cells", "identities", "cells", "degree", "solver_questions", "compared"))
    row |= empty | _refutation_fields(proof.refutation)
    found = proof.refutation
    witness = Witness(report.request.named.verifier.card.name, found.instance, found.violation, shrunk=True)
    file = witness_file or str(witness_path(witness.verifier, witness.instance))
    again = check_again(report.request.named, scheme_flag(witness.instance.scheme), file)
    result = _theorem(report.request, row, "REFUTED", larger, witness_tables(witness, file, again))
    return replace(result, files={file: witness.instance.dumps()})


def proved_result(request: Request, row: Mapping[str, Any], larger: LargerVocabulary | None) -> Result:
    """The result of a theorem from its row, also one of a store. larger: see `report_result`."""
    subject, shape = request.subject_and_shape()
    words, formulas = f"LOSSLESS {about_text(shape, len(subject.parameters))}", row["formulas"]
    notes = ["p_0 is p(0), p10_2 is p(2 | 1, 0), the last probability of a row is 1 minus the others"]
    tables = [_formulas(formulas)] if formulas else []
    return _theorem(request, row, words, larger, tables, notes if formulas else [])


def _theorem(
    request: Request,
    row: Mapping[str, Any],
    words: str,
    larger: LargerVocabulary | None,
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
) -> Result:
    """The row of a theorem with its verdict in words, and what stands below it."""
    open_cells = f"incomplete: {row['open_cells']} cells are undecided" if row["open_cells"] else "complete"
    fields = {name: value for name, value in row.items() if name not in ("formulas", "kind", "strong_id")}
    fields |= {"verdict": words, "scheme": str(request.scheme), "proved": row["verdict"] == "proved"}
    fields |= {"coverage": None if row["verdict"] == "refuted" else open_cells}
    fields["larger"] = None if larger is None else vars(larger)
    notes = [*notes, *([] if larger is None or row["verdict"] == "refuted" else [str(larger)])]
    title = f"{request.named.label} on {request.scheme}"
    return Result(title, [Table.whole(_THEOREM, [fields]), *tables], notes, CODES[row["verdict"]])


def _refutation_fields(refutation: Refutation) -> dict[str, Any]:
    """The polynomial that is not zero, and the conditions of its cell."""
    cell = ", ".join(condition_text(polynomial, mask) for polynomial, mask in refutation.cell)
    known = refutation.polynomial is not None
    return {"polynomial": refutation.polynomial, "cell": (cell or "p and q are distributions") if known else None}


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


def relation_result(related: Related, witness_file: str | None) -> Result:
    """The result of a relation of two verifiers at one shape."""
    relation = related.relation
    one, other = related.request.named.label, related.other.label
    law = ", and the same law" if relation.same_law else ""
    about = about_text(relation.shape, 0)
    row = {**related.as_json(), "scheme": str(relation.shape.scheme)}
    failed = relation.counterexample
    if failed is not None:
        row |= dict.fromkeys(("by", "cells", "certified", "solved")) | {"verdict": "REFUTED"}
        text = failed.instance.dumps()
        file = witness_file or f"counterexample-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
        place = {
            "vocab_size": failed.instance.vocab_size,
            "scheme": str(failed.instance.scheme),
            "block_efficiency": list(failed.values),
            "file": file,
            "again": _again(related, file),
        }
        table = Table.whole(_COUNTEREXAMPLE, [place], title="witness", name="witness")
        tables = [Table.whole(_RELATED, [row]), table, instance_table(instance_rows(failed.instance, None))]
        title = f"{one} {_NEGATION[relation.kind]} {other}: {failed.values[0]} against {failed.values[1]}"
        return Result(title, tables, (), CODES["refuted"], {file: text})
    row["verdict"] = f"PROVED {about}" if relation.proved else f"NOT PROVED {about}"
    notes = []
    if relation.proved and relation.kind == DOMINATES:
        notes.append("by products: by multiplication; on cells that are neither, both are equal or nothing is claimed")
    elif not relation.proved:
        notes.append(f"{len(relation.open_cells)} cells are undecided")
    return Result(
        f"{one} {RELATION[relation.kind]} {other}{law}", [Table.whole(_RELATED, [row])], notes, CODES[related.verdict]
    )


def _again(related: Related, file: str) -> str | None:
    """The command that shows both block efficiencies; None for objects, which no command can name."""
    if related.request.nameless or replace(related.request, named=related.other).nameless:
        return None
    specs = " ".join(shlex.quote(named.spec) for named in (related.request.named, related.other))
    return f"draftproof check {specs} --world {shlex.quote(file)}{scheme_flag(related.request.scheme)}"


def every_size_result(proof: EverySize) -> Result:
    """The result of a theorem for every vocabulary size."""
    shown = proof.claim if proof.theorem.kind == LOSSLESS else f"PROVED: {proof.claim}"
    words = shown if proof.proved else f"NOT PROVED: {proof.claim}"
    row = {**proof.as_json(), "scheme": str(proof.theorem.scheme), "verdict": words}
    steps, notes = [], []
    for hypothesis, branches, step in proof.listed:
        title = title_of(hypothesis, branches, step)
        steps.append(
            {
                "step": title,
                "depth": None if hypothesis else len(step.context),
                "hypothesis": hypothesis or None,
                "branches": branches or None,
                "proved": "yes" if step.proved else "not shown" if step.reason else "no",
                "cases": len(step.cases),
                "failed": len(step.failed) or None,
                "runs": step.account.runs,
                "inner_cases": step.account.cases,
                "equations": step.account.equations,
                "solver_questions": step.asked,
                "reason": step.reason or None,
            }
        )
        if step.reason:
            reason = step.reason if len(step.reason) <= REASON else f"{step.reason[:REASON]} ..."
            notes.append(f"{title}: {reason}")
    if any(step["reason"] for step in steps):
        notes.append("p0, q0, p1, ..: p and q of the context, of the token after it and of drafted tokens, or sums")
    if proof.of_every_length is not None:
        scope = "for" if proof.of_every_length else "NOT PROVED, as a step is not shown: for"
        notes.append(f"{scope} every depth, if {ALIKE}. Read that in the code: it is NOT proved.")
    tables = [Table.whole(_EVERY_SIZE, [row]), Table.whole(_STEPS, steps, name="steps", title="steps")]
    title = f"{proof.named.label} on {proof.theorem.scheme}, every vocabulary size"
    return Result(title, tables, notes, CODES["proved" if proof.all_proved else "open"])
