"""Prints a theorem, its refutation or its undecided cells, and writes them as JSON."""

import hashlib
import shlex
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from draftproof.experiments.cli.prove.relating import Related
from draftproof.experiments.cli.prove.work import LargerVocabulary, Report
from draftproof.experiments.cli.witnesses import save_witness, scheme_flag, show_witness, witness_fields
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import NOT_PROVED, remark
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable
from draftproof.simulator.theorems.certificate.formulas import condition_text, conditions
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Refutation, open_share
from draftproof.simulator.verdicts.witness import Witness

#: Exit codes by verdict.
CODES = {"proved": 0, "refuted": 1, "open": NOT_PROVED}
#: Open cells that are printed.
SHOWN = 3


def show_report(console: Console, report: Report, witness_file: str | None, json_target: str | None) -> int:
    """Show the verdict, save a refuting instance, write the JSON; returns the exit code."""
    fields: dict[str, Any] = {**report.as_json(), "witness": None}
    proof, shape = report.proof, report.proof.shape
    about = about_text(shape, len(proof.subject.parameters))
    title = Text(f"{report.request.named.label}: ")
    verdicts = {
        "proved": (f"LOSSLESS {about}", "bold green"),
        "refuted": ("REFUTED", "bold red"),
        "open": (f"NOT PROVED {about}", "bold yellow"),
    }
    console.print(title.append(*verdicts[report.verdict]))
    if proof.refutation is not None:
        fields["witness"] = _show_refutation(console, report, proof.refutation, witness_file)
    else:
        zeros = "zeros and ties" if shape.zeros else "ties"
        console.print(
            f"  {report.trees} draft trees, {proof.verdict_cells} cells of verdicts ({zeros} included), "
            f"{proof.identities} identities on {proof.cells} cells, degree at most {proof.degree}\n"
            f"  coverage {'complete' if proof.proved else f'incomplete: {len(proof.open_cells)} cells are undecided'}; "
            f"{proof.explorer.oracle.asked} queries of the solver, {report.seconds:.1f} s"
        )
        if proof.open_cells:
            share, most = open_share(proof)
            fields["open_share"], fields["open_share_at_most"] = share, most
            console.print(f"  {share:.1%} of random points lie in them, at most {most:.1%} at 95% confidence")
        for region in proof.open_cells[:SHOWN]:
            console.print(f"  undecided where {', '.join(conditions(shape, region))}", soft_wrap=True)
        if report.larger is not None:
            console.print(f"  {report.larger}", soft_wrap=True)
        _show_formulas(console, report)
    write_json(json_target, fields)
    return CODES[report.verdict]


def about_text(shape: Shape, free: int) -> str:
    """What a theorem covers."""
    support = "" if shape.zeros else " with full support"
    numbers = f" and every value of {free} free number{'s' if free > 1 else ''}" if free else ""
    return f"for every p and q{support}{numbers} at {shape}"


def _show_formulas(console: Console, report: Report) -> None:
    if report.formulas:
        console.print("  p_0 is p(0), p10_2 is p(2 | 1, 0), the last probability of a row is 1 minus the others")
    for name, cells in groupby(report.formulas, key=lambda cell: cell.name):
        console.print(f"  {name}")
        regions: dict[str, list[str]] = {}
        for cell in cells:
            regions.setdefault(cell.formula, []).append(", ".join(cell.conditions))
        for formula, parts in regions.items():
            text = "; or ".join(parts) if all(parts) else ""
            text = f"where {text}" if text else "everywhere"
            console.print(f"    {formula}    {text}", soft_wrap=True)


def show_stored(
    console: Console, row: dict[str, Any], json_target: str | None, larger: LargerVocabulary | None = None
) -> int:
    """Show a theorem from the store. larger: the result at points of a larger vocabulary."""
    console.print(Text(f"{row['verifier']}: LOSSLESS, from the store", "bold green"))
    console.print(f"  {row['identities']} identities on {row['cells']} cells, proved in {row['seconds']:.1f} s")
    if larger is not None:
        console.print(f"  {larger}", soft_wrap=True)
    write_json(json_target, row)
    return CODES[row["verdict"]]


RELATION = {EQUALS: "has the block efficiency of", DOMINATES: "never falls below"}
_NEGATION = {EQUALS: "does not have the block efficiency of", DOMINATES: "falls below"}


def show_relation(console: Console, related: Related, witness_file: str | None, json_target: str | None) -> int:
    """Show a relation or its counterexample, write the JSON; returns the exit code."""
    relation, fields = related.relation, {**related.as_json(), "witness": None}
    one, other = related.request.named.label, related.other.label
    about = about_text(relation.shape, 0)
    if related.verdict == "proved":
        law = ", and the same law" if relation.same_law else ""
        console.print(Text(f"{one} {RELATION[relation.kind]} {other}{law}: PROVED {about}", "bold green"))
        console.print(f"  by {relation.by}: {relation.cells} cells, ties included, {related.seconds:.1f} s")
        if relation.kind == DOMINATES:
            equal = relation.cells - relation.certified - relation.solved
            console.print(
                f"  {relation.certified} cells by products checked by multiplication, {relation.solved} by z3, "
                f"on {equal} both are equal or nothing is claimed"
            )
    elif relation.counterexample is not None:
        counterexample = relation.counterexample
        values = [str(value) for value in counterexample.values]
        console.print(Text(f"{one} {_NEGATION[relation.kind]} {other}: {values[0]} against {values[1]}", "bold red"))
        text = counterexample.instance.dumps()
        file = _save_counterexample(text, witness_file)
        if file:
            again = shlex.join(["draftproof", "compare", related.request.named.spec, related.other.spec])
            again += f" --instance {file}{scheme_flag(counterexample.instance.scheme)}"
            console.print(printable(f"  saved as {file}; see it: {again}"), soft_wrap=True)
        fields["witness"] = {"file": file, "block_efficiency": values, "instance": counterexample.instance.as_dict()}
    else:
        console.print(Text(f"{one} {RELATION[relation.kind]} {other}: NOT PROVED {about}", "bold yellow"))
        console.print(f"  {len(relation.open_cells)} cells are undecided")
    write_json(json_target, fields)
    return CODES[related.verdict]


def _save_counterexample(text: str, path: str | None) -> str | None:
    """Write a counterexample and return its file; None if the default file cannot be written."""
    file = path or f"counterexample-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    try:
        write_whole(file, text)
    except InvalidInput as error:
        if path:
            raise
        remark(f"the counterexample was not saved: {error}, or give --witness FILE")
        return None
    return file


def _show_refutation(
    console: Console, report: Report, refutation: Refutation, witness_file: str | None
) -> dict[str, Any]:
    """Show the polynomial and its cell, then the witness; the fields for JSON."""
    violation = refutation.violation
    if refutation.polynomial is not None:
        console.print(f"  the balance after {violation.context}, token {violation.token} has the numerator")
        console.print(f"    {refutation.polynomial}", soft_wrap=True)
        cell = (
            ", ".join(condition_text(polynomial, mask) for polynomial, mask in refutation.cell)
            or "p and q are distributions"
        )
        console.print(f"  which is not zero where {cell}", soft_wrap=True)
    witness = Witness(report.request.named.verifier.card.name, refutation.instance, violation, shrunk=True)
    file = save_witness(witness, witness_file)
    show_witness(console, witness, file, report.request.named.spec, saved=file is not None)
    return {
        **witness_fields(witness, file),
        "polynomial": refutation.polynomial,
        "cell": [condition_text(polynomial, mask) for polynomial, mask in refutation.cell],
    }
