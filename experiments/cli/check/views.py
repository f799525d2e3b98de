"""The result of `check`: a row for each verifier and scheme, and the witness of a refutation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from draftproof.experiments.cli.witnesses import (
    WITNESS,
    WITNESSED,
    check_again,
    instance_rows,
    instance_table,
    witness_path,
    witness_row,
)
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Column, Interrupted, Result, Table, hidden
from draftproof.experiments.shared.progress import INTERRUPTED, NOT_PROVED, counted, remark
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.verdicts.lossless import ASSUMED
from draftproof.simulator.verdicts.witness import Witness

_EFFICIENCY = (
    Column("block_efficiency", "exact", "E[tau+1]"),
    Column("variance", "exact", "Var[tau]"),
    Column("depth_distribution", "exact", "P(tau = 0, 1, ..)"),
)
_ROWS = (
    Column("verifier"),
    Column("scheme"),
    Column("verdict", "verdict"),
    Column("fails"),
    Column("world"),
    Column("covered", title="checked on"),
    Column("not_covered"),
    Column("instances", "count"),
    Column("arithmetic"),
    Column("engine"),
    Column("max_deviation", "exact"),
    Column("total_variation", "exact"),
    *_EFFICIENCY,
    Column("rounding_decides", title="rounding"),
    Column("card"),
    *hidden("lossless", "assumed", "source", "versions"),
)
#: Tables beside that of the rows: name, title and columns.
_BESIDE = (
    ("roots", "by root context", (Column("root"), Column("weight", "exact"), *_EFFICIENCY)),
    ("covered", "", (Column("vocab_size", "count", "V"), Column("scheme"), Column("instances", "count"))),
)
#: The exit code of a verdict; the first of several is that of all.
CODES = {"unfinished": INTERRUPTED, "refuted": 1, "undefined": NOT_PROVED, "assumed": NOT_PROVED, "lossless": 0}


@dataclass(frozen=True)
class Found:
    """What the check of one verifier found.

    status: a key of `CODES`. row: its fields. roots: of a world that has several. covered: shapes of the standard
    check. witness: where the balance fails; failed: the instance on which the verifier fails. file: the instance file
    that is the witness; saved: whether a witness without one is written to a file.
    """

    named: NamedVerifier
    status: str
    row: Mapping[str, Any]
    roots: Sequence[Mapping[str, Any]] = ()
    covered: Sequence[Mapping[str, Any]] = ()
    witness: Witness | None = None
    failed: Instance | None = None
    file: str | None = None
    saved: bool = True

    @property
    def place(self) -> str:
        """Where it was checked, in the title."""
        scheme = self.row.get("scheme")
        return ", standard check" if self.row.get("world") == STANDARD or scheme is None else f" on {scheme}"


#: The world of the standard check.
STANDARD = "the standard check"
#: The text of the world of the conformance instances.
CONFORMANCE = "conformance"


def words(status: str, arithmetic: str, proved: str = "") -> str:
    """A verdict in words. proved: what a proof is about, where it is not said elsewhere."""
    if status != "lossless":
        return {"refuted": "REFUTED", "undefined": "NOT DEFINED", "assumed": f"LOSSLESS {ASSUMED}"}[status]
    if arithmetic != "rational":
        return "LOSSLESS up to rounding (float64 proves nothing)"
    return f"LOSSLESS ({proved})" if proved else "LOSSLESS"


def result_of(checks: Iterator[Found], witness_file: str | None) -> Result:
    """The result of one check or of several; raises `Interrupted` with it where one is unfinished."""
    found: list[Found] = []
    try:
        for each in checks:
            found.append(each)
            if each.status == "unfinished":
                break
    except KeyboardInterrupt:
        if not found:
            raise
        remark(f"interrupted after {counted(len(found), 'check')}")
        raise Interrupted(_result(found, witness_file)) from None
    result = _result(found, witness_file)
    if found[-1].status == "unfinished":
        raise Interrupted(result)
    return result


def _result(found: Sequence[Found], witness_file: str | None) -> Result:
    alone = len(found) == 1
    rows = [{"verifier": each.named.label, **each.row, "versions": versions()} for each in found]
    tables = [Table.of(_ROWS, rows)]
    for name, title, columns in _BESIDE:
        listed = [
            {"verifier": each.named.label, "scheme": each.row.get("scheme"), **line}
            for each in found
            for line in getattr(each, name)
        ]
        if listed:
            about = [] if alone else [column for column in _ROWS[:2] if column not in columns]
            shown = alone and bool(title)
            tables.append(Table.of([*about, *columns], listed, title=title, name=name, shown=shown))
    files: dict[str, str | bytes] = {}
    witnesses, instances = [], []
    for each in found:
        instance = each.failed if each.witness is None else each.witness.instance
        if instance is None:
            continue
        label = each.named.label if each.witness is None else each.witness.verifier
        file = each.file or witness_file or str(witness_path(label, instance)) if each.saved else None
        again = file and check_again(each.named, instance, file)
        if file and not each.file:
            files[file] = instance.dumps()
        if each.witness is None:
            size, scheme = instance.vocab_size, str(instance.scheme)
            witnesses.append({"verifier": label, "vocab_size": size, "scheme": scheme, "file": file, "again": again})
        else:
            witnesses.append(witness_row(each.witness, file, again))
        marked = None if each.witness is None else each.witness.violation.context
        instances += [{"verifier": label, **line} for line in instance_rows(instance, marked)]
    if witnesses:
        title = "fails on" if alone and found[0].witness is None else WITNESSED
        tables.append(Table.of(WITNESS, witnesses, title=title, name="witness", shown=alone))
        tables.append(instance_table(instances, shown=alone))
    code = next(code for status, code in CODES.items() if any(each.status == status for each in found))
    title = f"{found[0].named.label}{found[0].place}" if alone else f"{len(found)} checks"
    return _crossed(Result(title, tables, (), code, files))


def _crossed(result: Result) -> Result:
    """Of several verifiers on several schemes people see one table, a line a verifier."""
    rows = result.rows
    verifiers, schemes = (list(dict.fromkeys(row[name] for row in rows)) for name in ("verifier", "scheme"))
    if len(rows) != len(verifiers) * len(schemes) or min(len(verifiers), len(schemes)) < 2:
        return result
    cells = {(row["verifier"], row["scheme"]): _cell(row) for row in rows}
    lines = [[named, *(cells[named, scheme] for scheme in schemes)] for named in verifiers]
    table = Table([Column("verifier"), *(Column(each, "verdict", each) for each in schemes)], lines, name="table")
    fails = [f"{row['verifier']} on {row['scheme']}: {row['fails']}" for row in rows if row["fails"]]
    return replace(result, tables=[*(replace(each, shown=False) for each in result.tables), table], notes=fails)


def _cell(row: Mapping[str, Any]) -> str:
    """The verdict of a row in a few words."""
    count = f" on {row['instances']:,}" if row["lossless"] and row["instances"] else ""
    return str(row["verdict"]).partition(" (")[0] + count + (f", its card {row['card']}" if row["card"] else "")
