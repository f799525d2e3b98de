"""Prints the verdict of a check and writes it as JSON."""

from contextlib import suppress
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftproof.experiments.cli.check.work import Report, find_witness
from draftproof.experiments.cli.witnesses import (
    save_instance,
    save_witness,
    show_failure,
    show_witness,
    witness_fields,
)
from draftproof.experiments.grid.rows import accepted_length
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.inputs.worlds import FileWorld, World
from draftproof.experiments.shared.output import EXACT_DIGITS, short, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, NOT_PROVED, quiet, remark
from draftproof.simulator.errors import Fails
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.verdicts.lossless import ASSUMED
from draftproof.simulator.verdicts.witness import Witness


def deliver(console: Console, report: Report, problem: World, witness_file: str | None, json_target: str | None) -> int:
    """Show the verdict, find and save the witness, write the JSON; returns the exit code."""
    if report.instances == 0:
        remark("interrupted before the first instance was done")
        return INTERRUPTED
    witness = None if report.failed is None else find_witness(report, problem)
    fields = {**report.as_json(), "witness": None}
    show_report(console, report)
    if len(fields.get("roots", ())) > 1:
        show_roots(console, report)
    if report.failed is not None:
        fields["witness"] = _deliver_witness(console, report, problem, witness, witness_file)
    if not report.complete:
        remark(f"interrupted after {report.instances:,} of {report.stream.planned:,} instances; no JSON was written")
        return INTERRUPTED
    write_json(json_target, fields)
    return (NOT_PROVED if report.assumed else 0) if report.lossless else 1


def deliver_failure(
    console: Console,
    named: NamedVerifier,
    arithmetic: str,
    failure: Fails,
    given: str | None,
    witness_file: str | None,
    json_target: str | None,
) -> int:
    """Show on what a verifier fails, and write the files; returns the exit code. given: the file of the instance."""
    if failure.instance is None:
        raise failure
    if given is None:
        from draftproof.simulator.verdicts.search import shrink_failure  # Hypothesis takes a while to import

        remark("refuted; shrinking the instance (Ctrl-C keeps it as it is)")
        with suppress(KeyboardInterrupt), quiet():
            failure = shrink_failure(named.verifier, failure)
    instance: Instance = failure.instance
    console.print(Text(f"{named.label} on {instance.scheme}: ").append("REFUTED", "bold red").append(", it fails"))
    file = given or save_instance(named.label, instance, witness_file)
    show_failure(console, failure, None if given else file, named.spec)
    assert instance.scheme is not None
    about = {"verifier": named.label, "scheme": instance.scheme.as_dict(), "arithmetic": arithmetic}
    witness = {"file": file, "vocab_size": instance.vocab_size, "instance": instance.as_dict()}
    write_json(json_target, {**about, "lossless": False, "fails": failure.what, "witness": witness})
    return 1


def _deliver_witness(
    console: Console, report: Report, problem: World, witness: Witness | None, witness_file: str | None
) -> dict[str, Any] | None:
    if witness is None:
        remark(
            "no witness was written: the instance has too many rows, and no smaller one is known; try smaller shapes"
        )
        return None
    instance_file = None
    if isinstance(problem, FileWorld) and problem.samplings.is_identity and problem.instance.scheme == report.scheme:
        instance_file = None if witness_file else problem.path
    file = instance_file or save_witness(witness, witness_file)
    show_witness(console, witness, file, report.named.spec, saved=file is not None and instance_file is None)
    return witness_fields(witness, file)


_UNDECIDED = ("INTERRUPTED, no violation so far", "bold yellow")
_VERDICTS = {
    (True, True): ("LOSSLESS (proved for the instances checked)", "bold green"),
    (True, False): ("LOSSLESS up to rounding (float64 proves nothing)", "bold green"),
    (False, True): ("REFUTED", "bold red"),
    (False, False): ("REFUTED", "bold red"),
}
_BY_STRUCTURE = (f"LOSSLESS {ASSUMED}", "bold yellow")


def show_report(console: Console, report: Report) -> None:
    """The verdict in words."""
    exact = report.settings.arithmetic == "rational"
    verdict = _VERDICTS[report.lossless, exact] if report.complete or not report.lossless else _UNDECIDED
    if report.assumed and report.complete and report.lossless:
        verdict = _BY_STRUCTURE
    console.print(Text(f"{report.named.label} on {report.scheme}: ").append(*verdict))
    console.print(f"  {report.stream.about}")
    count = f"{report.instances:,} instance{'s' if report.instances != 1 else ''}"
    if report.instances < report.stream.planned:
        count += f" of {report.stream.planned:,}, stopped {'at the first failure' if report.complete else 'by Ctrl-C'}"
    variation = _variation_text(report.total_variation)
    console.print(
        f"  {count}, {report.settings.arithmetic}, engine {report.engine}\n"
        f"  max deviation {short(report.max_deviation, EXACT_DIGITS)}, total variation {variation}"
        f"{' (the largest of all instances)' if report.instances > 1 else ''}",
    )
    fields = accepted_length(report.average())
    masses = " ".join(f"{mass:.4f}" for mass in fields["depth_distribution"])
    over = (
        f", mean over {'instances' if report.stream.stop_at_failure else 'roots, by weight'}"
        if report.instances > 1
        else ""
    )
    exact_value = f" = {fields['block_efficiency']}" if len(str(fields["block_efficiency"])) <= 24 and exact else ""
    console.print(
        f"  block efficiency E[tau+1] {fields['block_efficiency_float']:.6f}{exact_value}{over}, "
        f"Var[tau] {fields['variance_float']:.4f}, P(tau = 0, 1, ..) {masses}",
    )
    if report.rounding_decides:
        console.print(
            "  rounding decides: E[tau+1] depends on how rounding ranks tokens with (nearly) the same p/q; "
            "--arithmetic rational ranks them exactly"
        )


def _variation_text(value: Fraction | float | None) -> str:
    return "not computed" if value is None else short(value, EXACT_DIGITS)


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
