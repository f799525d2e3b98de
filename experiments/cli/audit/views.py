"""The result of an audit: the verdict, a row for each instance, what is said of a refutation, the witness."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.audit.work import COMPARED, Report
from draftproof.experiments.cli.witnesses import scheme_flag, violation_fields, witness_path, witness_tables
from draftproof.experiments.grid.rows import largest, versions
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import INTERRUPTED
from draftproof.simulator.audit import Audit, Ragged, SelfDrafted
from draftproof.simulator.audit.cells import MISSED
from draftproof.simulator.audit.judge import TOLERANCE
from draftproof.simulator.audit.program import Program
from draftproof.simulator.audit.said import reused, said
from draftproof.simulator.verdicts.witness import Witness

#: What people read of the row; programs get its other fields, too.
_ROWS = (
    Column("verdict", "verdict"),
    Column("instances", "count"),
    Column("bias", "exact"),
    Column("max_deviation", "exact"),
    Column("total_variation", "exact"),
)


def audit_result(report: Report, witness_file: str | None, is_object: bool = False) -> Result:
    """The result of an audit, also of one that was interrupted.

    is_object: whether the function is an object, so that no command shows the witness.
    """
    audit, verdict = report.request.audit, report.verdict
    first = verdict.refuted.first if verdict.refuted else None
    row = {
        **about(report.request.spec, audit),
        "batch": audit.batch,
        "verdict": _verdict(report),
        "instances": len(report.findings),
        "calls": round(report.calls),
        "lossless": verdict.lossless if report.complete else None,
        "bias": float(verdict.bias),
        "tolerance": audit.allowed,
        "max_deviation": largest([finding.check.max_deviation for finding in report.findings]),
        "total_variation": largest([finding.check.total_variation for finding in report.findings]),
        "exceeds_optimum": verdict.alarm,
        "first_imbalance": None if first is None else violation_fields(first),
        "reuse": reused(report),
        "corners": [str(corner) for corner in report.corners] if report.request.boundary else None,
        "rests_on": _rests(report),
        "versions": versions(),
    }
    tables = [Table.whole(_ROWS, [row]), *([_cases(report)] if report.findings else []), *_for_programs(report)]
    notes, files = [*said(report), *row["rests_on"]], {}
    notes += ["what is refused: docs/reference/audits.md"] if report.refusals else []
    if report.witness is not None:
        made, lines, file, text = _witness(report, report.witness, witness_file, is_object)
        tables, notes, files = [*tables, *made], [*notes, *lines], {file: text}
    title = f"{report.request.spec} ({audit.audited.interface.name} interface)"
    code = (0 if verdict.lossless else 1) if report.complete else INTERRUPTED
    return Result(title, tables, notes, code, files)


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


def _rests(report: Report) -> list[str]:
    """The assumptions of the verdict."""
    audited = report.request.audit.audited
    kind = audited.rows.kind
    lines = [audited.adapter, *audited.notes, *audited.log.notes]
    lines.append(
        f"lossless: a bias, the total variation of the first L + 1 tokens, of at most {report.request.audit.allowed:g}"
    )
    if not kind.arithmetic.exact:
        lines.append(f"up to {kind.tolerance:g} it counts as rounding of the function's own {kind.name} numbers")
    if isinstance(audited.function, Program):
        lines += audited.function.notes
    if audited.log.left_out:
        lines.append(
            f"branches of probability up to {audited.log.left_out:.1g}, which only rounding makes possible, "
            "were not followed"
        )
    return lines


def _verdict(report: Report) -> str:
    count = f"{len(report.findings)} instance{'s' if len(report.findings) != 1 else ''}"
    failed = len(report.failures)
    kind, verdict = report.request.audit.audited.rows.kind, report.verdict
    against = verdict.refuted or verdict.alarm
    if not report.complete:
        so_far = "it is refuted on one of them" if against else "no bias on these"
        return f"UNFINISHED, no verdict: {len(report.findings)} of {len(report.request.cases)} instances, {so_far}"
    if against:
        return "REFUTED"
    if failed:
        return f"FAILS on {failed} of {len(report.request.cases)} instances"
    if report.corners:
        return "REFUTED at a corner coin"
    if isinstance(report.request.audit.audited.function, Program):
        count += f" by bisecting, which can miss answers on less than {MISSED:.1%} of the numbers of a call"
    if verdict.bias > kind.tolerance:
        return f"LOSSLESS up to a bias of {float(verdict.bias):.2g} on {count}"
    return f"LOSSLESS on {count}{'' if kind.arithmetic.exact else ', up to the rounding of the function'}"


def _cases(report: Report) -> Table:
    """A row for every judged case: beside it verifiers of the registry, or what the requests of a batch show."""
    audit = report.request.audit
    batched = audit.batch > 1
    names = () if batched else COMPARED[audit.audited.interface.multi_path]
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
    for place, (case, finding) in enumerate(zip(report.judged, report.findings, strict=True)):
        check, bests = finding.check, report.optima[place]
        row = {
            "case": case.name,
            "instance": case.name + ("" if finding.lossless else " <-"),
            "title": case.title,
            "scheme": str(finding.scheme),
            "lossless": finding.lossless,
            "max_deviation": check.max_deviation,
            "total_variation": check.total_variation,
            "block_efficiency": finding.block_efficiency,
            "dependence": finding.dependence,
            "requests": None,
        }
        if batched:
            row["fails_most"] = None if check.lossless else f"request {finding.row}"
            row["requests"] = [
                {"scheme": str(own.scheme)} | number_fields("block_efficiency", tokens) | number_fields("optimum", best)
                for own, tokens, best in zip(audit.by_request(case), finding.efficiencies, bests, strict=True)
            ]
        else:
            row |= {**report.beside[place], "optimum": bests[0]}
        rows.append(row)
    return Table.whole(columns, rows, name="cases")


def _for_programs(report: Report) -> list[Table]:
    """Tables for programs; people read the same as notes."""
    hypotheses = [{"name": bug.name, "text": bug.text, "reason": bug.reason} for bug in report.hypotheses]
    failures = [
        {"case": failed.case.name, "scheme": str(failed.case.scheme), "error": failed.error.what}
        | {"arguments": failed.error.arguments}
        for failed in report.failures
    ]
    refusals = [
        {"case": refused.case.name, "scheme": str(refused.case.scheme), "error": str(refused.error)}
        for refused in report.refusals
    ]
    named = {"hypotheses": hypotheses, "failures": failures, "refusals": refusals}
    return [Table.whole((), rows, name=name, shown=False) for name, rows in named.items()]


def _witness(
    report: Report, witness: Witness, file: str | None, is_object: bool
) -> tuple[list[Table], list[str], str, str]:
    """The tables and notes of a witness, the name of its file and the text of it."""
    scheme, storable, audit = witness.instance.scheme, witness, report.request.audit
    if isinstance(scheme, (SelfDrafted, Ragged)):  # a file cannot name these schemes
        storable = replace(witness, instance=replace(witness.instance, scheme=None))
    name = file or str(witness_path(storable.verifier, storable.instance))
    function = report.request.audit.audited.function
    subject = ["--program"] if isinstance(function, Program) else []
    again = ["draftproof", "audit", *subject, report.request.spec, *_flags(report), "--world", name]
    again += ["--L2", str(scheme.length)] if isinstance(scheme, SelfDrafted) else []
    again += ["--lengths", ",".join(map(str, scheme.lengths))] if isinstance(scheme, Ragged) else []
    flag = scheme_flag(scheme)
    command = None if is_object or flag is None else shlex.join(again) + flag
    shown, notes = witness, []
    if audit.batch > 1:
        request, shown = _request_shown(audit, witness)
        notes = [f"request {request} of the batch fails; its rows are shown, the file has those of request 0"]
    return witness_tables(shown, name, command), notes, name, storable.instance.dumps()


def _request_shown(audit: Audit, witness: Witness) -> tuple[int, Witness]:
    """The request of the batch that fails most, and the witness with the rows that it sees."""
    instance, scheme = witness.instance, witness.instance.scheme
    assert scheme is not None
    row = audit.judge(instance, scheme).row or 0
    seen, shape = audit.requests(instance, scheme)[row]
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
    if isinstance(audited.function, Program) and audited.function.numbers:
        flags += ["--numbers", ",".join(audited.function.numbers)]
    flags += ["--tolerance", f"{audit.tolerance:g}"] if audit.tolerance != TOLERANCE else []
    for name, text in _arguments(audit).items():
        flags += ["--argument", f"{name}={text}"]
    return flags if audit.processing.is_identity else [*flags, "--processing", audit.processing.text]
