"""The result of an audit: the verdict, a row for each instance, the refutation with its hypotheses, the witness."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.audit.work import COMPARED, Comparison, Report
from draftproof.experiments.cli.check.views import tables_of_witness
from draftproof.experiments.cli.witnesses import scheme_flag, violation_fields, witness_path
from draftproof.experiments.grid.rows import largest, versions
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.output import EXACT_DIGITS, distinguishable, number_fields, short
from draftproof.simulator.audit import Audit, Finding, Ragged, SelfDrafted
from draftproof.simulator.audit.diagnosis.catalogue import decided_twice
from draftproof.simulator.audit.function import REUSE_SHOWN
from draftproof.simulator.audit.judge import TOLERANCE
from draftproof.simulator.audit.verdict import way_out
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.verdicts.witness import Witness

#: What people read of the row; programs get its other fields, too.
_ROWS = (
    Column("verdict", "verdict"),
    Column("instances", "count"),
    Column("bias", "exact"),
    Column("max_deviation", "exact"),
    Column("total_variation", "exact"),
)
#: A float this close to a fraction of at most this denominator is shown with the fraction.
_CLOSE, _DENOMINATOR = 1e-12, 100_000


def audit_result(report: Report, witness_file: str | None, is_object: bool = False) -> Result:
    """The result of an audit. is_object: whether the function is an object, so that no command shows the witness."""
    audit, verdict = report.request.audit, report.verdict
    refuted = verdict.refuted
    reuse = decided_twice(audit, report.hypotheses) if refuted else []
    row = {
        **about(report.request.spec, audit),
        "batch": audit.batch,
        "verdict": _verdict(report),
        "instances": len(report.findings),
        "calls": round(report.calls),
        "lossless": verdict.lossless,
        "bias": float(verdict.bias),
        "tolerance": audit.allowed,
        "max_deviation": largest([finding.check.max_deviation for finding in report.findings]),
        "total_variation": largest([finding.check.total_variation for finding in report.findings]),
        "exceeds_optimum": verdict.alarm,
        "first_imbalance": None if refuted is None or refuted.first is None else violation_fields(refuted.first),
        "reuse": reuse,
        "corners": [str(corner) for corner in report.corners] if report.request.boundary else None,
        "rests_on": rests(report),
        "versions": versions(),
    }
    tables = [Table.whole(_ROWS, [row]), *([_cases(report)] if report.findings else []), *_listed(report)]
    notes, files = list(_notes(report, reuse)), {}
    if report.witness is not None:
        made, lines, file, text = _witness(report, report.witness, witness_file, is_object)
        tables, notes, files = [*tables, *made], [*notes, *lines], {file: text}
    title = f"{report.request.spec} ({audit.audited.interface.name} interface)"
    return Result(title, tables, notes, 0 if verdict.lossless else 1, files)


def about(spec: str, audit: Audit) -> dict[str, Any]:
    """What every result about a function has beside its verdict."""
    audited = audit.audited
    return {
        "function": spec,
        "interface": audited.interface.name,
        "library": audited.rows.library,
        "arithmetic": audited.rows.kind.name,
        "arguments": _arguments(audit),
    }


def _arguments(audit: Audit) -> dict[str, str]:
    return {name: repr(value) for name, value in audit.audited.keywords.items()} | dict(audit.audited.typed)


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


def _verdict(report: Report) -> str:
    count = f"{len(report.findings)} instance{'s' if len(report.findings) != 1 else ''}"
    failed, others = len(report.failures), len(report.findings) + len(report.refusals)
    kind, verdict = report.request.audit.audited.rows.kind, report.verdict
    if verdict.refuted or verdict.alarm:
        return "REFUTED"
    if failed:
        return f"FAILS on {failed} of {failed + others} instances"
    if report.corners:
        return "REFUTED at a corner coin"
    if verdict.bias > kind.tolerance:
        return f"LOSSLESS up to a bias of {float(verdict.bias):.2g} on {count}"
    return f"LOSSLESS on {count}{'' if kind.arithmetic.exact else ', up to the rounding of the function'}"


def _cases(report: Report) -> Table:
    """A row for every judged case: beside it verifiers of the registry, or what the requests of a batch show."""
    batched = report.request.audit.batch > 1
    names = () if batched else COMPARED[report.request.audit.audited.interface.multi_path]
    columns = [
        Column("instance"),
        Column("scheme"),
        Column("max_deviation", "exact"),
        Column("total_variation", "exact"),
        Column("block_efficiency", "exact", "mean E[tau+1]" if batched else "E[tau+1]"),
        *(Column(name, "exact") for name in names),
        Column("optimum", "exact"),
        Column("fails_most"),
        Column("dependence", "exact"),
    ]
    rows = []
    comparisons = report.comparisons or [None] * len(report.findings)  # none for a batch
    for case, finding, comparison, optima in zip(
        report.judged, report.findings, comparisons, report.optima, strict=False
    ):
        check = finding.check
        rows.append(
            {
                "case": case.name,
                "instance": case.name + ("" if finding.lossless else " <-"),
                "title": case.title,
                "scheme": str(finding.scheme),
                "lossless": finding.lossless,
                "max_deviation": check.max_deviation,
                "total_variation": check.total_variation,
                "block_efficiency": finding.block_efficiency,
                **(_compared(comparison) if comparison else {}),
                "fails_most": None if check.lossless or not batched else f"request {finding.row}",
                "dependence": finding.dependence,
                "requests": _requests_fields(report, case, finding, optima) if batched else None,
            }
        )
    return Table.whole(columns, rows, name="cases")


def _compared(comparison: Comparison) -> dict[str, Any]:
    return {**comparison.verifiers, "optimum": comparison.optimum}


def _requests_fields(
    report: Report, case: Case, finding: Finding, optima: Sequence[Fraction | None]
) -> list[dict[str, Any]]:
    """E[tau + 1] and the certified optimum of every request of a batch."""
    requests = report.request.audit.by_request(case)
    return [
        {"scheme": str(own.scheme), **number_fields("block_efficiency", tokens), **number_fields("optimum", best)}
        for own, tokens, best in zip(requests, finding.efficiencies, optima, strict=True)
    ]


def _listed(report: Report) -> Iterator[Table]:
    """Tables for programs; people read the same as notes."""
    hypotheses = [{"name": each.name, "text": each.text, "reason": each.reason} for each in report.hypotheses]
    failures = [
        {"case": each.case.name, "scheme": str(each.case.scheme), "error": each.error.what}
        | {"arguments": each.error.arguments}
        for each in report.failures
    ]
    refusals = [
        {"case": each.case.name, "scheme": str(each.case.scheme), "error": str(each.error)} for each in report.refusals
    ]
    yield Table.whole((), hypotheses, name="hypotheses", shown=False)
    yield Table.whole((), failures, name="failures", shown=False)
    yield Table.whole((), refusals, name="refusals", shown=False)


def _notes(report: Report, reuse: Sequence[str]) -> Iterator[str]:
    """What people read after the tables: failures, the refutation, hypotheses, and what the verdict rests on."""
    yield from (f"fails here: {failure}" for failure in report.failures)
    yield from (f"not judged {refusal}" for refusal in report.refusals)
    refuted = report.verdict.refuted
    if refuted is not None:
        yield from _refutation(report, refuted)
    for rank, hypothesis in enumerate(report.hypotheses):
        yield f"{'hypothesis' if rank == 0 else 'it also fits'}: {hypothesis}"
    if refuted is not None and not report.hypotheses:
        yield "hypothesis: none of the catalogue fits"
    yield from (f"corner coin: {corner}" for corner in report.corners)
    if report.request.boundary and not report.corners:
        yield "corner coins (0, the largest float below 1, the threshold): no token of probability zero"
    if report.verdict.alarm:
        yield "more tokens a block than the certified optimum of all lossless verifiers (second alarm)"
    yield from (f"one random number decides twice: {lines}" for lines in reuse[:REUSE_SHOWN])
    if len(reuse) > REUSE_SHOWN:
        yield f"and {len(reuse) - REUSE_SHOWN} more such places (JSON lists them)"
    yield from rests(report)


def _refutation(report: Report, finding: Finding) -> Iterator[str]:
    case = report.judged[report.findings.index(finding)]
    scheme, of_batch = finding.scheme, ""
    if finding.row is not None:
        scheme = report.request.audit.request(finding.instance, finding.scheme, finding.row)[1]
        of_batch = f", request {finding.row} of the batch"
    yield f"refuted where {case.title}, {scheme}{of_batch}"
    first = finding.first
    if first is not None:
        yield f"first imbalance: {_violation_text(first)}"
        if finding.check.metrics.worst != first:
            yield f"largest imbalance: {_violation_text(finding.check.metrics.worst)}"
    yield f"exact total variation of the first L + 1 tokens: {precise(finding.check.total_variation)}"
    yield from way_out(report.verdict)
    if finding.dependence is not None:
        yield f"requests of the batch together: total variation {precise(finding.dependence)} from independence"


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


def _witness(
    report: Report, witness: Witness, file: str | None, is_object: bool
) -> tuple[list[Table], list[str], str, str]:
    """The tables and notes of a witness, the name of its file and the text of it."""
    scheme, storable, audit = witness.instance.scheme, witness, report.request.audit
    if isinstance(scheme, (SelfDrafted, Ragged)):  # a file cannot name these schemes
        storable = replace(witness, instance=replace(witness.instance, scheme=None))
    name = file or str(witness_path(storable.verifier, storable.instance))
    again = ["draftproof", "audit", report.request.spec, *_flags(report), "--world", name]
    again += ["--L2", str(scheme.length)] if isinstance(scheme, SelfDrafted) else []
    again += ["--lengths", ",".join(map(str, scheme.lengths))] if isinstance(scheme, Ragged) else []
    nameless = is_object or (isinstance(scheme, UserScheme) and "file" not in scheme.as_dict())
    command = None if nameless else shlex.join(again) + scheme_flag(scheme)
    shown, notes = witness, []
    if audit.batch > 1:
        request, shown = _request_shown(audit, witness)
        notes = [f"request {request} of the batch fails; its rows are shown, the file has those of request 0"]
    return tables_of_witness(shown, name, command), notes, name, storable.instance.dumps()


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
    for name, text in _arguments(audit).items():
        flags += ["--argument", f"{name}={text}"]
    return flags if audit.processing.is_identity else [*flags, "--processing", audit.processing.text]
