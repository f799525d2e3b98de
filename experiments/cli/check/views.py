"""The results of `check`: a row for each verifier and scheme, the roots of a world, and the witness of a refutation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.check.work import Report, find_witness
from draftproof.experiments.cli.witnesses import scheme_flag, witness_path
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.experiments.inputs.worlds import FileWorld, World
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import NOT_PROVED, quiet, remark
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import Fails
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.law import moments
from draftproof.simulator.protocol import Context, DraftScheme
from draftproof.simulator.verdicts.compatibility import Cell
from draftproof.simulator.verdicts.lossless import ASSUMED
from draftproof.simulator.verdicts.standard import Standard
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
    Column("lossless", shown=False),
    Column("assumed", shown=False),
    Column("source", shown=False),
    Column("versions", shown=False),
)
_ROOTS = (Column("root"), Column("weight", "exact"), *_EFFICIENCY)
_WITNESS = (
    Column("verifier"),
    Column("vocab_size", "count", "V"),
    Column("scheme"),
    Column("context"),
    Column("token"),
    Column("expected", "exact", "must have mass D(c) p(y|c)"),
    Column("found", "exact", "the block gives it"),
    Column("deviation", "exact"),
    Column("shrunk"),
    Column("file"),
    Column("again", "command", "see it again"),
)
#: The verdict on a verifier that refuses trees of a scheme.
UNDEFINED = "NOT DEFINED"
#: What a row says where ranks of tokens depend on rounding.
_ROUNDED = (
    "decides E[tau+1]: tokens with (nearly) the same p/q are ranked by it; rational arithmetic ranks them exactly"
)


def joined(results: Sequence[Result]) -> Result:
    """One result of several checks: the worst verdict is that of all, and people see the main table alone."""
    if len(results) == 1:
        return results[0]
    tables = [_told_apart(table, result) for result in results for table in result.tables]
    names = dict.fromkeys(table.name for table in tables)
    made = [_stacked([table for table in tables if table.name == name]) for name in names]
    notes = tuple(dict.fromkeys(note for result in results for note in result.notes))
    verdicts = {result.verdict for result in results}
    worst = next(verdict for verdict in (1, NOT_PROVED, 0) if verdict in verdicts)
    files = {name: text for result in results for name, text in result.files.items()}
    return Result(f"{len(results)} checks", made, notes, worst, files)


def _told_apart(table: Table, result: Result) -> Table:
    """The table with the verifier and the scheme of the result in every row."""
    missing = [name for name in ("verifier", "scheme") if name not in [column.name for column in table.columns]]
    cells = [result.rows[0][name] for name in missing]
    return replace(table, columns=[*map(Column, missing), *table.columns], rows=[[*cells, *row] for row in table.rows])


def crossed(result: Result) -> Result:
    """The result of several checks: of several verifiers on several schemes people see one table, a line a verifier."""
    rows = result.rows
    verifiers, schemes = (list(dict.fromkeys(row[name] for row in rows)) for name in ("verifier", "scheme"))
    if len(rows) != len(verifiers) * len(schemes) or min(len(verifiers), len(schemes)) < 2:
        return result
    by_place = {(row["verifier"], row["scheme"]): _cell(row) for row in rows}
    lines = [[named, *(by_place[named, scheme] for scheme in schemes)] for named in verifiers]
    table = Table([Column("verifier"), *map(_scheme_column, schemes)], lines, name="table")
    tables = [replace(each, shown=False) for each in result.tables]
    fails = tuple(f"{row['verifier']} on {row['scheme']}: {row['fails']}" for row in rows if row["fails"])
    return replace(result, tables=[*tables, table], notes=(*result.notes, *fails))


def _scheme_column(scheme: str) -> Column:
    return Column(scheme, "verdict", title=scheme)


def _cell(row: Mapping[str, Any]) -> str:
    """The verdict of a row in a few words."""
    words = str(row["verdict"]).partition(" (")[0]
    count = f" on {row['instances']:,}" if row["lossless"] and row["instances"] else ""
    return words + count + (f", its card {row['card']}" if row["card"] else "")


def _stacked(tables: Sequence[Table]) -> Table:
    first = tables[0]
    rows = [row for table in tables for row in table.rows]
    return Table(first.columns, rows, first.title, first.name, shown=first.name == "rows")


def report_result(report: Report, worlds: Sequence[World], witness_file: str | None) -> Result:
    """The result of a check on worlds, with a witness where it fails."""
    world, scheme = worlds[0], report.scheme
    witness = None if report.failed is None else find_witness(report, world)
    about = report.stream.about
    if report.instances < report.stream.planned:
        about += f" ({report.stream.planned:,} instances), up to the first failure"
    row = {
        "verifier": report.named.label,
        "scheme": str(scheme),
        "verdict": _words(report.lossless, report.assumed, report.settings, "proved for the instances checked"),
        "world": about,
        "instances": report.instances,
        "arithmetic": report.settings.arithmetic,
        "engine": report.engine,
        "max_deviation": report.max_deviation,
        "total_variation": report.total_variation,
        **_efficiency(report.average()),
        "rounding_decides": _ROUNDED if report.rounding_decides else None,
        "lossless": report.lossless,
        "assumed": report.assumed,
        "source": [each.source for each in worlds],
        "versions": versions(),
    }
    tables = [Table.of(_ROWS, [row])]
    if not report.stream.stop_at_failure and report.instances > 1:
        roots = zip(report.labels, report.weights, report.distributions, strict=True)
        listed = [{"root": repr(label), "weight": weight, **_efficiency(masses)} for label, weight, masses in roots]
        tables.append(Table.of(_ROOTS, listed, title="by root context", name="roots"))
    kept = _same_file(world, scheme)
    files = {}
    if witness is not None:
        tables += witness_tables(witness, report.named, kept or witness_file)
        files = {} if kept else _file_of(witness.verifier, witness.instance, witness_file)
    elif not report.lossless:
        remark(
            "no witness was written: the instance has too many rows, and no smaller one is known; try smaller shapes"
        )
    return Result(f"{report.named.label} on {scheme}", tables, (), _code(report.lossless, report.assumed), files)


def undefined_result(named: NamedVerifier, scheme: DraftScheme, error: Exception) -> Result:
    """The result of a verifier that refuses trees of the scheme, or raises on them, beside others."""
    row = {"verifier": named.label, "scheme": str(scheme), "verdict": UNDEFINED, "fails": str(error)}
    return Result(f"{named.label} on {scheme}", [Table.of(_ROWS, [row])], (), NOT_PROVED)


def cell_result(named: NamedVerifier, cell: Cell, world: str, card: str | None) -> Result:
    """The result of a verifier on the conformance instances of a scheme. card: what is to be said about that."""
    words = {"witness": "REFUTED", "not defined": UNDEFINED, "lossless": "LOSSLESS (proved for the instances checked)"}
    row = {
        "verifier": named.label,
        "scheme": cell.scheme,
        "verdict": words[cell.status],
        "fails": cell.error,
        "world": world,
        "instances": cell.instances,
        "arithmetic": "rational",
        "engine": "enumerate",
        "card": card,
        "lossless": cell.status == "lossless",
        "versions": versions(),
    }
    tables = [Table.of(_ROWS, [row])]
    if cell.witness is not None:
        place = {"verifier": named.label, "shrunk": False, **_violation(cell.witness)}
        tables.append(Table.of(_WITNESS, [place], title="witness", name="witness"))
        tables.append(rows_table(cell.witness.instance, cell.witness.violation.context))
    code = {"lossless": 0, "witness": 1, "not defined": NOT_PROVED}[cell.status]
    return Result(f"{named.label} on {cell.scheme}", tables, (), code)


def _same_file(world: World, scheme: DraftScheme) -> str | None:
    """The instance file of a world that holds the witness as it is."""
    if isinstance(world, FileWorld) and world.samplings.is_identity and world.instance.scheme == scheme:
        return world.path
    return None


def _efficiency(masses: Sequence[Any]) -> dict[str, Any]:
    mean, variance = moments(list(masses))
    return {"block_efficiency": mean, "variance": variance, "depth_distribution": [float(mass) for mass in masses]}


def _code(lossless: bool, assumed: bool) -> int:
    return (NOT_PROVED if assumed else 0) if lossless else 1


def _words(lossless: bool, assumed: bool, settings: Settings, proved: str = "") -> str:
    if not lossless:
        return "REFUTED"
    if assumed:
        return f"LOSSLESS {ASSUMED}"
    if settings.arithmetic != "rational":
        return "LOSSLESS up to rounding (float64 proves nothing)"
    return f"LOSSLESS ({proved})" if proved else "LOSSLESS"


def standard_result(
    named: NamedVerifier, settings: Settings, result: Standard, witness: Witness | None, witness_file: str | None
) -> Result:
    """The result of the standard check; it has no block efficiency, as a mean over many shapes says nothing."""
    failed = None if result.failed is None else result.failed[1]
    row = {
        "verifier": named.label,
        "scheme": None if failed is None else str(failed.scheme),
        "verdict": _words(result.lossless, result.assumed, settings),
        "world": "the standard check",
        "covered": result.words if failed is None else None,
        "not_covered": "; ".join(result.missing) if failed is None else None,
        "instances": result.instances,
        "arithmetic": settings.arithmetic,
        "engine": "standard" if failed is None else failed.engine,
        "max_deviation": 0 if failed is None else failed.max_deviation,
        "total_variation": 0 if failed is None else failed.total_variation,
        "lossless": result.lossless,
        "assumed": result.assumed,
        "source": [{"standard": True}],
        "versions": versions(),
    }
    shapes = [
        {"vocab_size": size, "scheme": str(scheme), "instances": count}
        for (size, scheme), count in result.covered.items()
    ]
    tables = [Table.of(_ROWS, [row])]
    if failed is None:
        columns = [Column("vocab_size", "count", "V"), Column("scheme"), Column("instances", "count")]
        tables.append(Table.of(columns, shapes, name="covered", shown=False))
    files = {}
    if witness is not None:
        tables += witness_tables(witness, named, witness_file)
        files = _file_of(witness.verifier, witness.instance, witness_file)
    return Result(f"{named.label}, standard check", tables, (), _code(result.lossless, result.assumed), files)


def failure_result(
    named: NamedVerifier,
    settings: Settings,
    failure: Fails,
    worlds: Sequence[World] | None,
    witness_file: str | None,
) -> Result:
    """The result of a verifier that fails on an instance; raises the failure where the instance is not known."""
    if failure.instance is None:
        raise failure
    given = worlds[0] if worlds and isinstance(worlds[0], FileWorld) else None
    if given is None:
        from draftproof.simulator.verdicts.search import shrink_failure  # Hypothesis takes a while to import

        remark("refuted; shrinking the instance (Ctrl-C keeps it as it is)")
        with suppress(KeyboardInterrupt), quiet():
            failure = shrink_failure(named.verifier, failure)
    instance: Instance = failure.instance
    row = {
        "verifier": named.label,
        "scheme": str(instance.scheme),
        "verdict": "REFUTED, it fails",
        "fails": failure.what,
        "arithmetic": settings.arithmetic,
        "lossless": False,
        "versions": versions(),
    }
    file = given.path if given else witness_file or str(witness_path(named.label, instance))
    place = {"verifier": named.label, "vocab_size": instance.vocab_size, "scheme": str(instance.scheme)}
    place |= {"file": file, "again": _again(named, instance, file)}
    tables = [Table.of(_ROWS, [row]), Table.of(_WITNESS, [place], title="fails on", name="witness")]
    files = {} if given else {file: instance.dumps()}
    return Result(f"{named.label} on {instance.scheme}", [*tables, rows_table(instance, None)], (), 1, files)


def witness_tables(witness: Witness, named: NamedVerifier, file: str | None) -> list[Table]:
    """The violated balance equation, and the rows of the instance."""
    name = file or str(witness_path(witness.verifier, witness.instance))
    return tables_of_witness(witness, name, _again(named, witness.instance, name))


def tables_of_witness(witness: Witness, file: str, again: str | None) -> list[Table]:
    """The same with the command that shows it again, None where there is none."""
    place = {
        "verifier": witness.verifier,
        **_violation(witness),
        "shrunk": witness.shrunk,
        "file": file,
        "again": again,
    }
    table = Table.of(_WITNESS, [place], title="witness", name="witness")
    return [table, rows_table(witness.instance, witness.violation.context)]


def _violation(witness: Witness) -> dict[str, Any]:
    violation = witness.violation
    return {
        "vocab_size": witness.instance.vocab_size,
        "scheme": str(witness.instance.scheme),
        "context": list(violation.context),
        "token": violation.token,
        "expected": violation.expected,
        "found": violation.found,
        "deviation": violation.deviation,
    }


def rows_table(instance: Instance, marked: Context | None) -> Table:
    """The rows of an instance, one line for each context; marked: the context that gets an arrow."""
    fields = instance.as_dict()
    columns = [Column(key, title=name) for name, key in instance.columns.items()]
    rows = []
    for context in fields["target"]:
        mark = " <-" if marked is not None and context == ",".join(map(str, marked)) else ""
        cells = ["  ".join(fields[each.name].get(context, ())) for each in columns]
        rows.append([str(instance.scheme), f"({context}){mark}", *cells])
    return Table([Column("scheme", shown=False), Column("context"), *columns], rows, name="instance")


def _again(named: NamedVerifier, instance: Instance, file: str) -> str | None:
    """The command that shows it again; None for objects, which no command can name."""
    scheme = instance.scheme
    nameless = isinstance(scheme, UserScheme) and "file" not in scheme.as_dict()
    if nameless or (named.user_defined and not named.from_file):
        return None
    return f"draftproof check {shlex.quote(named.spec)} --world {shlex.quote(file)}{scheme_flag(scheme)}"


def _file_of(verifier: str, instance: Instance, file: str | None) -> dict[str, str]:
    return {file or str(witness_path(verifier, instance)): instance.dumps()}
