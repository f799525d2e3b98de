"""How the verdict of a check is shown to people and to programs."""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from experiments.checking import Report, find_witness
from experiments.output import EXACT, number_fields, short, write_json, write_whole
from experiments.problem import FileProblem, Problem
from experiments.progress import INTERRUPTED, remark
from experiments.rows import accepted_length
from simulator.search import Witness


def deliver(
    console: Console, report: Report, problem: Problem, witness_file: str | None, json_target: str | None
) -> int:
    """Show the verdict, find and save the witness, write the JSON; returns the exit code."""
    if report.instances == 0:
        remark("interrupted before the first instance was done")
        return INTERRUPTED
    fields = {**report.as_json(), "witness": None}
    show_report(console, report)
    if len(fields.get("roots", ())) > 1:
        show_roots(console, report)
    if report.failed is not None:
        fields["witness"] = _deliver_witness(console, report, problem, witness_file)
    if not report.complete:
        remark(f"interrupted after {report.instances:,} of {report.stream.planned:,} instances; no JSON was written")
        return INTERRUPTED
    write_json(json_target, fields)
    return 0 if report.lossless else 1


def _deliver_witness(
    console: Console, report: Report, problem: Problem, witness_file: str | None
) -> dict[str, Any] | None:
    found = find_witness(report, problem)
    if found is None:
        remark(
            "no witness was written: the instance has too many rows, and no smaller one is known; try smaller shapes"
        )
        return None
    given = isinstance(problem, FileProblem) and problem.instance.scheme == report.scheme and not witness_file
    file = problem.path if isinstance(problem, FileProblem) and given else save_witness(found, witness_file)
    show_witness(console, found, file, report.named.spec, saved=not given)
    return witness_fields(found, file)


def witness_path(witness: Witness) -> Path:
    """A name made from the content, so that no other witness is ever overwritten."""
    digest = hashlib.sha256(witness.instance.dumps().encode()).hexdigest()[:8]
    return Path(f"witness-{re.sub(r'[^A-Za-z0-9_.-]+', '_', witness.verifier)}-{digest}.json")


def witness_fields(witness: Witness, file: str) -> dict[str, Any]:
    """The witness as programs read it."""
    place = witness.violation
    return {
        "file": file,
        "context": list(place.context),
        "token": place.token,
        **number_fields("expected", place.expected),
        **number_fields("found", place.found),
        **number_fields("deviation", place.deviation),
        "shrunk": witness.shrunk,
        "vocab_size": witness.instance.vocab_size,
        "instance": witness.instance.as_dict(),
    }


def save_witness(witness: Witness, path: str | None) -> str:
    """Write the witness as an instance file and return its name."""
    target = Path(path) if path else witness_path(witness)
    write_whole(target, witness.instance.dumps())
    return str(target)


_UNDECIDED = ("INTERRUPTED, no violation so far", "bold yellow")
_VERDICTS = {
    (True, True): ("LOSSLESS (proved for the instances checked)", "bold green"),
    (True, False): ("LOSSLESS up to rounding (float64 proves nothing)", "bold green"),
    (False, True): ("REFUTED", "bold red"),
    (False, False): ("REFUTED", "bold red"),
}


def show_report(console: Console, report: Report) -> None:
    """The verdict in words."""
    exact = report.settings.arithmetic == "rational"
    verdict = _VERDICTS[report.lossless, exact] if report.complete or not report.lossless else _UNDECIDED
    console.print(Text(f"{report.named.label} on {report.scheme}: ").append(*verdict))
    console.print(f"  {report.stream.about}")
    count = f"{report.instances:,} instance{'s' if report.instances != 1 else ''}"
    if report.instances < report.stream.planned:
        count += f" of {report.stream.planned:,}, stopped {'at the first failure' if report.complete else 'by Ctrl-C'}"
    console.print(
        f"  {count}, {report.settings.arithmetic}, engine {report.engine}\n"
        f"  max deviation {short(report.max_deviation, EXACT)}, total variation {_known(report.total_variation)}"
        f"{' (the largest of all instances)' if report.instances > 1 else ''}",
    )
    fields = accepted_length(report.average())
    masses = " ".join(f"{mass:.4f}" for mass in fields["depth_distribution"])
    over = ", mean over instances" if report.instances > 1 else ""
    exact_value = f" = {fields['block_efficiency']}" if len(str(fields["block_efficiency"])) <= 24 and exact else ""
    console.print(
        f"  block efficiency E[tau+1] {fields['block_efficiency_float']:.6f}{exact_value}{over}, "
        f"Var[tau] {fields['variance_float']:.4f}, P(tau = 0, 1, ..) {masses}",
    )


def _known(value: Fraction | float | None) -> str:
    return "not computed" if value is None else short(value, EXACT)


def show_roots(console: Console, report: Report) -> None:
    """One line a root context."""
    table = Table(title="by root context", title_justify="left")
    table.add_column("root")
    table.add_column("weight", justify="right")
    table.add_column("E[tau+1]", justify="right")
    table.add_column("Var[tau]", justify="right")
    for label, weight, masses in zip(report.labels, report.weights, report.distributions, strict=True):
        fields = accepted_length(masses)
        table.add_row(
            repr(label),
            f"{float(weight):.4f}",
            f"{fields['block_efficiency_float']:.6f}",
            f"{fields['variance_float']:.4f}",
        )
    console.print(table)


def show_witness(console: Console, witness: Witness, file: str, spec: str, saved: bool) -> None:
    """The instance, row by row, and the place where the balance fails."""
    instance, place = witness.instance, witness.violation
    size = "shrunk from what was found" if witness.shrunk else "as found"
    scheme = str(instance.scheme)
    console.print(f"witness ({size}): V = {instance.vocab_size}, {scheme}")
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("context", "target p", "draft q"):
        table.add_column(heading)
    for context, row in instance.as_dict()["target"].items():
        draft = instance.as_dict()["draft"].get(context)
        mark = " <-" if context == ",".join(map(str, place.context)) else ""
        table.add_row(f"({context}){mark}", "  ".join(row), "  ".join(draft) if draft else "")
    console.print(Padding(table, (0, 0, 0, 2)))
    wanted, found, gap = (short(value, EXACT) for value in (place.expected, place.found, place.deviation))
    console.print(
        f"  after context {place.context}, token {place.token} must have mass D(c) p(y|c) = {wanted}; "
        f"the block gives it {found} (deviation {gap})",
    )
    if saved:
        console.print(f"  saved as {file}; see it again: draftproof check {spec} --instance {file}", soft_wrap=True)
