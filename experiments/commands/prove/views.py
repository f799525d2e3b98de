"""How a theorem, its refutation or what is missing is shown to people and to programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from experiments.commands.prove.work import Report
from experiments.shared.output import write_json
from experiments.shared.witnesses import save_witness, show_witness, witness_fields
from simulator.theorems.formulas import condition_text
from simulator.theorems.proof import Refutation
from simulator.verdicts.search import Witness

#: Exit codes: proved, refuted, not all cells known.
CODES = {"proved": 0, "refuted": 1, "open": 3}
#: Open cells that are printed.
SHOWN = 3


def deliver(console: Console, report: Report, witness_file: str | None, json_target: str | None) -> int:
    """Show the verdict, save a refuting instance, write the JSON; returns the exit code."""
    fields: dict[str, Any] = {**report.as_json(), "witness": None}
    proof, shape = report.proof, report.proof.shape
    support = "" if shape.zeros else " with full support"
    about = f"for every p and q{support} at {shape}"
    title = Text(f"{report.request.named.label}: ")
    words = {
        "proved": (f"LOSSLESS {about}", "bold green"),
        "refuted": ("REFUTED", "bold red"),
        "open": (f"NOT PROVED {about}", "bold yellow"),
    }
    console.print(title.append(*words[report.verdict]))
    if proof.refutation is not None:
        fields["witness"] = _deliver_refutation(console, report, proof.refutation, witness_file)
    else:
        zeros = "zeros and ties" if shape.zeros else "ties"
        console.print(
            f"  {report.trees} draft trees, {proof.verdict_cells} cells of verdicts ({zeros} included), "
            f"{proof.identities} identities on {proof.cells} cells, degree at most {proof.degree}\n"
            f"  coverage {'complete' if proof.proved else f'incomplete: {len(proof.open_cells)} cells are not known'}; "
            f"{proof.explorer.oracle.asked} questions to the solver, {report.seconds:.1f} s"
        )
        for region in proof.open_cells[:SHOWN]:
            conditions = ", ".join(
                condition_text(str(shape.ring.atoms[atom]), mask)
                for atom, mask in region
                if shape.domain.masks.get(atom) != mask
            )
            console.print(f"  not known where {conditions}")
    write_json(json_target, fields)
    return CODES[report.verdict]


def _deliver_refutation(
    console: Console, report: Report, found: Refutation, witness_file: str | None
) -> dict[str, Any]:
    """The polynomial and its cell, then the instance as everywhere."""
    place = found.violation
    if found.polynomial is not None:
        console.print(f"  the balance after {place.context}, token {place.token} has the numerator")
        console.print(f"    {found.polynomial}", soft_wrap=True)
        cell = ", ".join(condition_text(polynomial, mask) for polynomial, mask in found.cell) or "p and q are rows"
        console.print(f"  which is not zero where {cell}", soft_wrap=True)
    witness = Witness(report.request.named.verifier.card.name, found.instance, place, shrunk=True)
    file = save_witness(witness, witness_file)
    show_witness(console, witness, file, report.request.named.spec, saved=True)
    return {
        **witness_fields(witness, file),
        "polynomial": found.polynomial,
        "cell": [condition_text(polynomial, mask) for polynomial, mask in found.cell],
    }
