"""The verdict of an audit as programs read it, and what it rests on beside the enumeration."""

from __future__ import annotations

from typing import Any

from draftproof.experiments.cli.audit.report import Beside, Report
from draftproof.experiments.grid.rows import largest, versions
from draftproof.experiments.shared.output import number_fields
from draftproof.simulator.audit import Finding
from draftproof.simulator.laws.law import Violation


def rests(report: Report) -> list[str]:
    """What the verdict rests on beside the enumeration."""
    audited = report.request.audit.audited
    kind = audited.rows.kind
    lines = [audited.adapter, *audited.notes, *audited.log.notes]
    if report.rounding is not None:
        lines.append(
            f"it computes in {report.rounding.precision} by itself: without that its deviations are below "
            f"{kind.tolerance:g}{'' if report.request.strict else ' (--strict calls such a bias refuted)'}"
        )
    if not kind.arithmetic.exact:
        lines.append(f"deviations up to {kind.tolerance:g} count as rounding of the function's own {kind.name} numbers")
    if audited.log.sliver:
        lines.append(
            f"branches of probability up to {audited.log.sliver:.1g}, which only rounding makes possible, "
            "were not followed"
        )
    if audited.coins == "bisect":
        lines.append(
            "coins were bisected: the verdict rests on thresholds found on lines through midpoints, "
            "checked at the corners of all boxes and on a grid"
        )
    return lines


def as_json(report: Report) -> dict[str, Any]:
    """The fields that programs read."""
    audit, verdict = report.request.audit, report.verdict
    finding = verdict.refuted
    audited = audit.audited
    deviations = [each.check.max_deviation for each in report.findings]
    variations = [each.check.total_variation for each in report.findings]
    return {
        "function": report.request.spec,
        "interface": audited.interface.name,
        "library": audited.rows.library,
        "arithmetic": audited.rows.kind.name,
        "coins": audited.coins,
        "batch": audit.batch,
        "arguments": {name: repr(value) for name, value in audited.keywords.items()} | dict(audited.typed),
        "instances": len(report.findings),
        "calls": round(report.calls),
        "versions": versions(),
        "lossless": verdict.lossless,
        "tolerance": audited.rows.kind.tolerance,
        **number_fields("max_deviation", largest(deviations)),
        **number_fields("total_variation", largest(variations)),
        "exceeds_optimum": verdict.alarm,
        "cases": [
            _case_fields(case.name, case.title, each, beside)
            for case, each, beside in zip(report.judged, report.findings, report.beside, strict=False)
        ],
        "first_imbalance": _place_fields(finding.first) if finding else None,
        "hypotheses": [{"name": each.name, "text": each.text, "reason": each.reason} for each in report.hypotheses],
        "rounding": {"precision": report.rounding.precision, "bias": report.rounding.bias} if report.rounding else None,
        "failures": [
            {"case": each.case.name, "scheme": each.case.scheme.as_dict(), "error": each.error.what}
            | {"arguments": each.error.arguments}
            for each in report.failures
        ],
        "reuse": list(audited.log.reuse),
        "corners": [str(corner) for corner in report.corners] if report.request.boundary else None,
        "rests_on": rests(report),
    }


def _case_fields(name: str, title: str, finding: Finding, beside: Beside | None) -> dict[str, Any]:
    return {
        "case": name,
        "title": title,
        "scheme": finding.scheme.as_dict(),
        "lossless": finding.lossless,
        **number_fields("max_deviation", finding.check.max_deviation),
        **number_fields("total_variation", finding.check.total_variation),
        **number_fields("block_efficiency", finding.check.block_efficiency),
        **number_fields("dependence", finding.dependence),
        "zoo": {key: float(value) for key, value in beside.zoo.items()} if beside else {},
        **number_fields("optimum", beside.optimum if beside else None),
    }


def _place_fields(place: Violation | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "context": list(place.context),
        "token": place.token,
        **number_fields("expected", place.expected),
        **number_fields("found", place.found),
        **number_fields("deviation", place.deviation),
    }
