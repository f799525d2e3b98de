"""The rows of `check`, one for each verifier and scheme with the witness of its refutation, and their result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.witnesses import (
    WITNESS,
    WITNESSED,
    check_again,
    instance_rows,
    instance_table,
    scheme_flag,
    witness_fields,
    witness_path,
)
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.experiments.shared.progress import NOT_PROVED
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
    Column("covered_by", title="checked on"),
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
CODES = {"refuted": 1, "undefined": NOT_PROVED, "assumed": NOT_PROVED, "lossless": 0}
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


def checked_row(
    named: NamedVerifier,
    status: str,
    fields: Mapping[str, Any],
    witness: Witness | None = None,
    failed: Instance | None = None,
    file: str | None = None,
    **beside: Sequence[Mapping[str, Any]],
) -> Row:
    """The row of a check, as a store keeps it.

    status: a key of `CODES`. witness: where the balance fails; failed: the instance on which the verifier fails. file:
    the instance file that is the witness. beside: `roots` of a world that has several, or the shapes `covered`.
    """
    instance = failed if witness is None else witness.instance
    violated = None
    if instance is not None:
        about = {"verifier": named.label, "vocab_size": instance.vocab_size, "scheme": str(instance.scheme)}
        violated = about if witness is None else witness_fields(witness)
    return {
        "kind": "check",
        "verifier": named.label,
        "status": status,
        **fields,
        **{name: list(rows) for name, rows in beside.items()},
        "witness": violated,
        "instance": None if instance is None else instance.as_dict(),
        "flag": None if instance is None else scheme_flag(instance.scheme),
        "file": file,
        "versions": versions(),
    }


def result_of(rows: Sequence[tuple[NamedVerifier, Row]], witness: str | None, saved: bool = True) -> Result:
    """The result of one check or of several. witness: its file; saved: whether witnesses are written to files."""
    alone = len(rows) == 1
    tables = [Table.of(_ROWS, [row for _, row in rows])]
    for name, title, columns in _BESIDE:
        listed = [{**row, **line} for _, row in rows for line in row.get(name, ())]
        if listed:
            about = [] if alone else [column for column in _ROWS[:2] if column not in columns]
            shown = alone and bool(title)
            tables.append(Table.of([*about, *columns], listed, title=title, name=name, shown=shown))
    files: dict[str, str | bytes] = {}
    witnesses, instances = [], []
    for named, row in rows:
        if row["instance"] is None:
            continue
        violated, instance = row["witness"], Instance.from_dict(row["instance"])
        file = row["file"] or witness or str(witness_path(violated["verifier"], instance)) if saved else None
        again = file and check_again(named, row["flag"], file)
        if file and not row["file"]:
            files[file] = instance.dumps()
        witnesses.append({**violated, "file": file, "again": again})
        lines = instance_rows(instance, violated.get("context"))
        instances += [{**line, "verifier": violated["verifier"], "scheme": violated["scheme"]} for line in lines]
    if witnesses:
        title = WITNESSED if any("context" in violated for violated in witnesses) else "fails on"
        tables.append(Table.of(WITNESS, witnesses, title=title, name="witness", shown=alone))
        tables.append(instance_table(instances, shown=alone))
    [(named, row), *_] = rows
    code = next(code for status, code in CODES.items() if any(row["status"] == status for _, row in rows))
    on = ", standard check" if row.get("world") == STANDARD or row["scheme"] is None else f" on {row['scheme']}"
    title = f"{named.label}{on}" if alone else f"{len(rows)} checks"
    return _crossed(Result(title, tables, (), code, files))


def _crossed(result: Result) -> Result:
    """Of several verifiers on several schemes people see one table, a line a verifier."""
    rows = result.rows
    verifiers, schemes = (list(dict.fromkeys(row[name] for row in rows)) for name in ("verifier", "scheme"))
    if len(rows) != len(verifiers) * len(schemes) or min(len(verifiers), len(schemes)) < 2:
        return result
    cells = {(row["verifier"], row["scheme"]): _cell(row) for row in rows}
    lines = [[named, *(cells[named, scheme] for scheme in schemes)] for named in verifiers]
    table = Table([Column("verifier"), *(Column(scheme, "verdict", scheme) for scheme in schemes)], lines, name="table")
    fails = [f"{row['verifier']} on {row['scheme']}: {row['fails']}" for row in rows if row["fails"]]
    return replace(result, tables=[*(replace(made, shown=False) for made in result.tables), table], notes=fails)


def _cell(row: Mapping[str, Any]) -> str:
    """The verdict of a row in a few words."""
    count = f" on {row['instances']:,}" if row["lossless"] and row["instances"] else ""
    return str(row["verdict"]).partition(" (")[0] + count + (f", its card {row['card']}" if row["card"] else "")
