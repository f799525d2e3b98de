"""Prints the verdict of an audit and writes it as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftproof.experiments.cli.audit.work import COMPARED, Comparison, Report
from draftproof.experiments.cli.witnesses import save_witness, show_witness, witness_fields
from draftproof.experiments.grid.rows import largest, versions
from draftproof.experiments.shared.output import EXACT_DIGITS, distinguishable, number_fields, short, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, remark
from draftproof.simulator.audit import Audit, Finding, Ragged, SelfDrafted
from draftproof.simulator.audit.diagnosis.catalogue import decided_twice
from draftproof.simulator.audit.function import REUSE_SHOWN
from draftproof.simulator.audit.judge import TOLERANCE
from draftproof.simulator.audit.verdict import HALF, way_out
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.verdicts.witness import Witness


def rests(report: Report) -> list[str]:
    """The assumptions of the verdict."""
    audited = report.request.audit.audited
    kind = audited.rows.kind
    lines = [audited.adapter, *audited.notes, *audited.log.notes]
    lines.append(
        f"lossless: a bias, the total variation of the first L + 1 tokens, of at most {report.request.audit.allowed:g}"
    )
    if not kind.arithmetic.exact:
        lines.append(f"up to {kind.tolerance:g} it counts as rounding of the function's own {kind.name} numbers")
    if audited.log.left_out:
        lines.append(
            f"branches of probability up to {audited.log.left_out:.1g}, which only rounding makes possible, "
            "were not followed"
        )
    return lines


def as_json(report: Report) -> dict[str, Any]:
    """The fields that programs read."""
    audit, verdict = report.request.audit, report.verdict
    refuted = verdict.refuted
    audited = audit.audited
    deviations = [finding.check.max_deviation for finding in report.findings]
    variations = [finding.check.total_variation for finding in report.findings]
    return {
        "function": report.request.spec,
        "interface": audited.interface.name,
        "library": audited.rows.library,
        "arithmetic": audited.rows.kind.name,
        "batch": audit.batch,
        "arguments": {name: repr(value) for name, value in audited.keywords.items()} | dict(audited.typed),
        "instances": len(report.findings),
        "calls": round(report.calls),
        "versions": versions(),
        "lossless": verdict.lossless,
        "bias": float(verdict.bias),
        "tolerance": audit.allowed,
        **number_fields("max_deviation", largest(deviations)),
        **number_fields("total_variation", largest(variations)),
        "exceeds_optimum": verdict.alarm,
        "cases": [
            _case_fields(case.name, case.title, finding, comparison)
            | ({"requests": _requests_fields(report, case, finding, optima)} if audit.batch > 1 else {})
            for case, finding, comparison, optima in _rows(report)
        ],
        "first_imbalance": _violation_fields(refuted.first) if refuted else None,
        "hypotheses": [{"name": one.name, "text": one.text, "reason": one.reason} for one in report.hypotheses],
        "failures": [
            {"case": failure.case.name, "scheme": failure.case.scheme.as_dict(), "error": failure.error.what}
            | {"arguments": failure.error.arguments}
            for failure in report.failures
        ],
        "refusals": [
            {"case": refusal.case.name, "scheme": refusal.case.scheme.as_dict(), "error": str(refusal.error)}
            for refusal in report.refusals
        ],
        "reuse": decided_twice(audit, report.hypotheses) if refuted else [],
        "corners": [str(corner) for corner in report.corners] if report.request.boundary else None,
        "rests_on": rests(report),
    }


def _rows(report: Report) -> Iterator[tuple[Case, Finding, Comparison | None, Sequence[Fraction | None]]]:
    """Every judged case with its finding, its comparison, and the optimum on each of its requests."""
    comparisons = report.comparisons or [None] * len(report.findings)  # none for a batch
    return zip(report.judged, report.findings, comparisons, report.optima, strict=False)


def _requests_fields(
    report: Report, case: Case, finding: Finding, optima: Sequence[Fraction | None]
) -> list[dict[str, Any]]:
    """E[tau + 1] and the certified optimum of every request of a batch."""
    requests = report.request.audit.by_request(case)
    return [
        {"scheme": own.scheme.as_dict(), **number_fields("block_efficiency", tokens), **number_fields("optimum", best)}
        for own, tokens, best in zip(requests, finding.efficiencies, optima, strict=True)
    ]


def _case_fields(name: str, title: str, finding: Finding, comparison: Comparison | None) -> dict[str, Any]:
    return {
        "case": name,
        "title": title,
        "scheme": finding.scheme.as_dict(),
        "lossless": finding.lossless,
        **number_fields("max_deviation", finding.check.max_deviation),
        **number_fields("total_variation", finding.check.total_variation),
        **number_fields("block_efficiency", finding.block_efficiency),
        **number_fields("dependence", finding.dependence),
        "verifiers": {key: float(value) for key, value in comparison.verifiers.items()} if comparison else {},
        **number_fields("optimum", comparison.optimum if comparison else None),
    }


def _violation_fields(violation: Violation | None) -> dict[str, Any] | None:
    if violation is None:
        return None
    return {
        "context": list(violation.context),
        "token": violation.token,
        **number_fields("expected", violation.expected),
        **number_fields("found", violation.found),
        **number_fields("deviation", violation.deviation),
    }


#: A float this close to a fraction of at most this denominator is shown with the fraction.
_CLOSE, _DENOMINATOR = 1e-12, 100_000


def deliver(console: Console, report: Report, witness_file: str | None, json_target: str | None) -> int:
    """Show the verdict, find and save the witness, write the JSON; returns the exit code."""
    if not report.findings and not report.failures:
        remark("interrupted before the first instance was done")
        return INTERRUPTED
    show(console, report)
    fields: dict[str, Any] = {**as_json(report), "witness": None}
    if report.witness is not None:
        fields["witness"] = _deliver_witness(console, report, report.witness, witness_file)
    if not report.complete:
        remark(
            f"interrupted after {len(report.findings)} of {len(report.request.cases)} instances; no JSON was written"
        )
        return INTERRUPTED
    write_json(json_target, fields)
    return 0 if report.verdict.lossless else 1


def _deliver_witness(console: Console, report: Report, witness: Witness, file: str | None) -> dict[str, Any]:
    scheme, storable = witness.instance.scheme, witness
    if isinstance(scheme, (SelfDrafted, Ragged)):  # a file cannot name these schemes
        storable = replace(witness, instance=replace(witness.instance, scheme=None))
    saved = save_witness(storable, file)
    fields, shown = witness_fields(storable, saved), witness
    if report.request.audit.batch > 1:
        row, shown = _request_shown(report.request.audit, witness)
        fields |= {"request": row, "request_instance": shown.instance.as_dict()}
        console.print(f"request {row} of the batch fails; its rows (the file has those of request 0):")
    show_witness(console, shown, saved, report.request.spec, saved=False)
    if saved is None:
        return fields
    again = ["draftproof", "audit", report.request.spec, *_flags(report), "--instance", saved]
    again += ["--L2", str(scheme.length)] if isinstance(scheme, SelfDrafted) else []
    again += ["--lengths", ",".join(map(str, scheme.lengths))] if isinstance(scheme, Ragged) else []
    console.print(f"  saved as {saved}; see it again: {shlex.join(again)}", soft_wrap=True)
    return fields


def _request_shown(audit: Audit, witness: Witness) -> tuple[int, Witness]:
    """The request of the batch that fails most, and the witness with the rows that it sees."""
    instance, scheme = witness.instance, witness.instance.scheme
    assert scheme is not None
    row = audit.judge(instance, scheme).row or 0
    seen, shape = audit.request(instance, scheme, row)
    return row, replace(witness, instance=replace(seen, scheme=shape))


def _flags(report: Report) -> list[str]:
    """The options that decide how the function is called and judged."""
    audit = report.request.audit
    audited, rows = audit.audited, audit.audited.rows
    flags = ["--interface", audited.interface.name]
    flags += ["--library", rows.library] if rows.library != audited.interface.library else []
    flags += ["--arithmetic", rows.kind.name] if rows.kind.name != "float64" else []
    flags += ["--logits"] if rows.logits else []
    flags += ["--batch", str(audit.batch)] if audit.batch > 1 else []
    flags += ["--tolerance", f"{audit.tolerance:g}"] if audit.tolerance != TOLERANCE else []
    for name, text in ({name: repr(value) for name, value in audited.keywords.items()} | dict(audited.typed)).items():
        flags += ["--argument", f"{name}={text}"]
    return flags if audit.processing.is_identity else [*flags, "--processing", audit.processing.text]


def show(console: Console, report: Report) -> None:
    """Print the verdict, a line for each case, the refutation with its hypotheses, and the assumptions."""
    audit = report.request.audit
    verdict = Text(f"{report.request.spec} ({audit.audited.interface.name} interface): ", style="")
    console.print(verdict.append(*_verdict(report)))
    if report.findings:
        console.print(_table(report))
    others = [f"fails here: {failure}" for failure in report.failures]
    others += [f"not judged {refusal}" for refusal in report.refusals]
    for line in others:
        console.print(f"  {line}", soft_wrap=True, markup=False)
    finding = report.verdict.refuted
    if finding is not None:
        _show_refutation(console, report, finding)
    for rank, hypothesis in enumerate(report.hypotheses):
        console.print(f"  {'hypothesis' if rank == 0 else 'it also fits'}: {hypothesis}", soft_wrap=True)
    if finding is not None and not report.hypotheses:
        console.print("  hypothesis: none of the catalogue fits")
    for corner in report.corners:
        console.print(f"  corner coin: {corner}", soft_wrap=True)
    if report.request.boundary and not report.corners:
        console.print("  corner coins (0, the largest float below 1, the threshold): no token of probability zero")
    if report.verdict.alarm:
        console.print("  more tokens a block than the certified optimum of all lossless verifiers (second alarm)")
    if not report.complete:
        return
    reuse = decided_twice(audit, report.hypotheses) if finding is not None else []
    for lines in reuse[:REUSE_SHOWN]:
        console.print(f"  one random number decides twice: {lines}", soft_wrap=True)
    if len(reuse) > REUSE_SHOWN:
        console.print(f"  and {len(reuse) - REUSE_SHOWN} more such places (--json lists them)", soft_wrap=True)
    for line in rests(report):
        console.print(f"  {line}", soft_wrap=True)


def _verdict(report: Report) -> tuple[str, str]:
    count = f"{len(report.findings)} instance{'s' if len(report.findings) != 1 else ''}"
    failed, others = len(report.failures), len(report.findings) + len(report.refusals)
    kind = report.request.audit.audited.rows.kind
    verdict = report.verdict
    verdicts = (
        (verdict.refuted or verdict.alarm, "REFUTED"),
        (failed, f"FAILS on {failed} of {failed + others} instances"),
        (report.corners, "REFUTED at a corner coin"),
    )
    refuted = next((text for holds, text in verdicts if holds), None)
    if refuted is not None:
        return refuted, "bold red"
    if not report.complete:
        return f"INTERRUPTED, no violation on {count}", "bold yellow"
    if verdict.bias > kind.tolerance:
        return f"LOSSLESS up to a bias of {float(verdict.bias):.2g} on {count}", "bold green"
    return f"LOSSLESS on {count}{'' if kind.arithmetic.exact else ', up to the rounding of the function'}", "bold green"


def _table(report: Report) -> Table:
    batched = report.request.audit.batch > 1
    names = COMPARED[report.request.audit.audited.interface.multi_path]
    table = Table(show_edge=False, pad_edge=False)
    headings = ["instance", "scheme", "max deviation", "total variation", "mean E[tau+1]" if batched else "E[tau+1]"]
    headings += ["fails most", "dependence"] if batched else [*names, "optimum"]
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("instance", "scheme") else "right")
    for case, finding, comparison, _ in _rows(report):
        check = finding.check
        others = [_cell(comparison.verifiers.get(name)) if comparison else "" for name in names]
        others.append(_cell(comparison.optimum) if comparison else "")
        if batched:
            others = ["" if finding.check.lossless else f"request {finding.row}", _cell(finding.dependence)]
        mark = "" if finding.lossless else " <-"
        table.add_row(
            case.name + mark,
            str(finding.scheme),
            _cell(check.max_deviation),
            _cell(check.total_variation),
            _cell(finding.block_efficiency),
            *others,
        )
    return table


def _cell(value: Fraction | float | None) -> str:
    if value is None or value == 0:
        return "" if value is None else "0"
    return short(float(value) if len(str(value)) > 12 else value)


def _show_refutation(console: Console, report: Report, finding: Finding) -> None:
    case = report.judged[report.findings.index(finding)]
    scheme = finding.scheme
    if finding.row is not None:
        scheme = report.request.audit.request(finding.instance, finding.scheme, finding.row)[1]
    console.print(f"  refuted where {case.title}, {scheme}" + _row(finding))
    first = finding.first
    if first is not None:
        console.print(f"  first imbalance: {_violation_text(first)}", soft_wrap=True)
        if finding.check.metrics.worst != first:
            console.print(f"  largest imbalance: {_violation_text(finding.check.metrics.worst)}", soft_wrap=True)
    variation = finding.check.total_variation
    console.print(f"  exact total variation of the first L + 1 tokens: {precise(variation)}")
    for line in way_out(report.verdict):
        console.print(f"  {line} (--tolerance {HALF})", soft_wrap=True)
    if finding.dependence is not None:
        console.print(
            f"  requests of the batch together: total variation {precise(finding.dependence)} from independence"
        )


def _row(finding: Finding) -> str:
    return "" if finding.row is None else f", request {finding.row} of the batch"


def _violation_text(violation: Violation | None) -> str:
    assert violation is not None
    numbers = violation.expected, violation.found
    expected, found = distinguishable(precise(numbers[0]), precise(numbers[1]), *numbers)
    return (
        f"after context {violation.context}, token {violation.token} must have mass {expected}; "
        f"the block gives it {found} (off by {precise(violation.deviation)})"
    )


def precise(value: Fraction | float | None) -> str:
    """A number to twelve digits, with the simple fraction that it equals or is close to."""
    if value is None:
        return "not computed"
    if isinstance(value, Fraction):
        return short(value, EXACT_DIGITS)
    near = Fraction(value).limit_denominator(_DENOMINATOR)
    if near == value:
        return str(near) if near.denominator == 1 else f"{value:.12g} (= {near})"
    if value and abs(value - near) <= _CLOSE and near.denominator > 1:
        return f"{value:.12g} (= {near} up to rounding)"
    return f"{value:.12g}"
