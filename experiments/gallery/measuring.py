"""Audits an entry of the gallery from a checkout and compares the outcome with the recorded one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from draftproof.experiments.cli.audit.work import Report, carry_out
from draftproof.experiments.gallery.entries import ENTRIES, Entry
from draftproof.experiments.result import Column, Interrupted, Result, Table
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.verdict import Request
from draftproof.simulator.errors import InvalidInput

MEASURED = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class Outcome:
    """The result of one audit of an entry.

    source: hash of the file, or the version of the package. verdict: in words. deviation: the largest one. place: where
    the balance equation fails first. hypothesis: the known bug that fits, "" if none does. day: of the measurement.
    """

    name: str
    source: str
    verdict: str
    instances: int
    refuted: int
    deviation: float
    place: str
    hypothesis: str
    day: str

    def agrees_with(self, other: Outcome) -> bool:
        """Whether both give the same verdict with the same numbers, up to the rounding of another machine."""
        same = (self.verdict, self.instances, self.refuted) == (other.verdict, other.instances, other.refuted)
        return same and abs(self.deviation - other.deviation) <= 1e-9 + 1e-6 * abs(other.deviation)


def entry_named(name: str) -> Entry:
    """The entry of that name; raises `InvalidInput` for any other."""
    named = next((entry for entry in ENTRIES if entry.name == name), None)
    if named is None:
        known = ", ".join(entry.name for entry in ENTRIES)
        raise InvalidInput(f"the gallery has no {name!r}; choose {known}")
    return named


def measured() -> dict[str, Outcome]:
    """The outcomes that were recorded, by the names of their entries."""
    return {row["name"]: Outcome(**row) for row in json.loads(MEASURED.read_text(encoding="utf-8"))}


def record(file: Path) -> None:
    """Record the outcomes in the JSON of `audit --gallery`, and keep the recorded ones of other entries."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    outcomes = [Outcome(**{field.name: row[field.name] for field in fields(Outcome)}) for row in rows]
    by_name = {**measured(), **{outcome.name: outcome for outcome in outcomes}}
    listed = [asdict(by_name[entry.name]) for entry in ENTRIES if entry.name in by_name]
    MEASURED.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


def project_folder(entry: Entry, checkout: Path) -> Path | None:
    """The folder of the entry's project: the checkout, or a folder in it of that name; None if there is none."""
    if entry.is_installed:
        return checkout
    owner, _, name = entry.repository.partition("/")
    folders = (checkout, checkout / name, checkout / f"{owner}+{name}", checkout / owner / name)
    return next((folder for folder in folders if (folder / entry.path).is_file()), None)


_ROWS = (
    Column("name"),
    Column("verdict", "verdict"),
    Column("instances", "count"),
    Column("refuted", "count"),
    Column("deviation", "exact", "largest imbalance"),
    Column("recorded"),
)


def measure(name: str | None, checkout: Path) -> Result:
    """Audit an entry, or all that the checkout has, and compare with what was recorded; verdict 1 where one differs.

    checkout: of the project, or a folder of checkouts. Raises `InvalidInput` where it has no file of the entries. At
    Ctrl-C raises `Interrupted` with the entries that are done, if there are any.
    """
    known, rows = measured(), list[dict[str, Any]]()
    today = datetime.now(UTC).date().isoformat()
    for entry in ENTRIES if name is None else (entry_named(name),):
        folder = project_folder(entry, checkout)
        if folder is None:
            remark(f"{entry.name}: no {entry.path} of {entry.repository} below {checkout}")
            continue
        try:
            outcome, before = run(entry, folder, today), known.get(entry.name)
        except KeyboardInterrupt:
            if not rows:
                raise
            remark(f"interrupted at {entry.name}, which is not judged")
            raise Interrupted(_result(rows)) from None
        same = before is not None and outcome.agrees_with(before)
        recorded = "the same" if same else "nothing" if before is None else before.verdict
        rows.append(asdict(outcome) | {"recorded": recorded, "agrees": same})
    if not rows:
        raise InvalidInput(
            f"{checkout} has no file of these entries; draftproof list gallery says which repositories to check out"
        )
    return _result(rows)


def _result(rows: Sequence[Mapping[str, Any]]) -> Result:
    return Result("gallery", [Table.whole(_ROWS, rows)], (), 0 if all(row["agrees"] for row in rows) else 1)


def run(entry: Entry, folder: Path, day: str) -> Outcome:
    """The audit of an entry; raises as audits do."""
    function = entry.build(folder, entry.path)
    audit = make_audit(function, entry.interface, name=entry.name, **entry.options)
    cases = default_cases(audit.audited.interface, entry.scheme, entry.cases)
    cases = [case for case in cases if case.scheme.depth]  # engines call these functions only where there are drafts
    report = carry_out(Report(Request(entry.name, audit, cases)))
    return Outcome(entry.name, source_of(entry, folder), **_fields(report), day=day)


def source_of(entry: Entry, folder: Path) -> str:
    """The hash or the version of the audited code."""
    if entry.is_installed:
        package = entry.path.partition(".")[0]
        return f"{package} {version(package)}"
    return "sha256 " + hashlib.sha256((folder / entry.path).read_bytes()).hexdigest()[:16]


def _fields(report: Report) -> dict[str, Any]:
    refuted = report.verdict.refuted
    failed: Sequence[Any] = [finding for finding in report.findings if not finding.lossless]
    verdict = "lossless" if report.verdict.lossless else "lossy"
    if report.verdict.lossless and report.verdict.bias > report.request.audit.audited.rows.kind.tolerance:
        verdict = "lossless up to a bias"
    if report.failures:
        verdict = f"fails: {report.failures[0].error.what}"
    largest = max((float(finding.check.max_deviation) for finding in report.findings), default=0.0)
    return {
        "verdict": verdict,
        "instances": len(report.findings) + len(report.failures),
        "refuted": len(failed),
        "deviation": largest,
        "place": "" if refuted is None else f"{refuted.scheme}: {refuted.first}",
        "hypothesis": "".join(hypothesis.text for hypothesis in report.hypotheses[:1]),
    }
