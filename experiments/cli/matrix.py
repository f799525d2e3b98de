"""`draftproof matrix`: whether every verifier is lossless on every draft scheme, computed."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftproof import verifiers
from draftproof.experiments.grid.cost import check_runs, expected_cost
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.run import Executor, Task, rows_of, run
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings, chosen_verifiers
from draftproof.experiments.inputs.worlds import World, told_note
from draftproof.experiments.shared.output import check_files, number_fields, write_json
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import SCHEMES, UserScheme, lossless_for
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, TooLarge, UnsupportedTree
from draftproof.simulator.instances.families import CORNER_CASES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances
from draftproof.simulator.verdicts.compatibility import compatibility

_MARKS = {"lossless": ("lossless", "green"), "witness": ("witness", "red"), "not defined": ("-", "dim")}
#: Characters of the frame of a table column.
_FRAME = 3

#: Vocabulary sizes of the cases of a scheme that is given with its parameters or as a file.
SIZES = (2, 3)

#: For larger tables the cost is estimated on smaller shapes first, as the tables take seconds to compute.
QUICK_ENTRIES = 100_000
#: Number of cells from whose duration that of all is estimated.
TRIAL = 4

#: Gives the instances of a case.
Rows: TypeAlias = Callable[[SizedScheme], Sequence[Instance]]


@dataclass(frozen=True)
class Column:
    """One scheme with its cases. declared: whether cards can declare it; conformance: on the conformance set."""

    name: str
    cases: tuple[SizedScheme, ...]
    declared: bool = True
    conformance: bool = True


def columns_of(specs: Sequence[str] | None) -> list[Column]:
    """The columns: a name has its conformance cases, any other text is one scheme. Raises `InvalidInput`."""
    return [_column(spec) for spec in specs or SCHEMES]


def _column(spec: str) -> Column:
    if spec in SCHEMES:
        return Column(spec, CASES[spec])
    scheme = find_scheme(spec)
    user_defined = isinstance(scheme, UserScheme)
    name = spec if user_defined else str(scheme)
    return Column(name, tuple((size, scheme) for size in SIZES), not user_defined)


def compute(
    chosen: Sequence[NamedVerifier],
    wanted: Sequence[Column],
    count: int,
    max_runs: int = 2_000_000,
    problem: World | None = None,
    jobs: int = 1,
    resume: str | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """All cells, verifier by verifier, and True; those so far and False after Ctrl-C.

    problem: its rows replace those of the conformance set. jobs: most processes. resume: a store of rows.
    Raises `TooLarge` for a scheme that is too large, `InvalidVerifier` for a user-defined verifier that fails in all of
    them.
    """
    settings, given = Settings("rational", "enumerate", max_runs), _given(problem)
    for column in wanted:
        for case in column.cases if column.name not in SCHEMES or given else ():
            _assert_size(chosen, case, count, settings, given)
    store = Store(resume, ("compatibility",))
    judged_on = [_judged_on(column, count, problem) for column in wanted]
    tasks = [
        Task((name,), (named, column, name))
        for named in chosen
        for column, about in zip(wanted, judged_on, strict=True)
        for name in [strong_id({**about, "verifier": named.identity})]
    ]
    if not run(tasks, store, Executor(_row, jobs, _start, (problem, count)), "cell", None, TRIAL):
        return rows_of(tasks, store), False
    rows = rows_of(tasks, store)
    for number, named in enumerate(chosen):
        line = rows[number * len(wanted) : (number + 1) * len(wanted)]
        if named.from_file and all(row["error"] and row["status"] != "witness" for row in line):
            raise InvalidVerifier(f"{named.label} on {line[0]['scheme']}: {line[0]['error']}")
    return rows, True


def _judged_on(column: Column, count: int, problem: World | None) -> dict[str, Any]:
    """What the cells of a column depend on beside the verifier: the trees, and the rows on which they are judged."""
    deepest = max(scheme.depth for _, scheme in column.cases)
    roots = [] if problem is None else problem.cases(deepest, RATIONAL)
    return {
        "kind": "compatibility",
        "version": version("draftproof"),
        "scheme": column.name,
        "cases": [[size, scheme.as_dict()] for size, scheme in column.cases],
        "instances": count if problem is None else None,
        "source": None if problem is None else problem.source,
        "roots": [root.identity(deepest, problem.source if problem else None) for root in roots],
    }


_rows: tuple[int, Rows | None]


def _start(problem: World | None, count: int) -> None:
    global _rows  # noqa: PLW0603 - a process works on one problem only
    _rows = count, _given(problem)


def _row(about: tuple[NamedVerifier, Column, str]) -> dict[str, Any]:
    """A cell as fields for JSON, with its witness."""
    (named, column, identity), (count, given), started = about, _rows, time.perf_counter()
    cell = compatibility(named.verifier, column.name, count, None, column.cases, given)
    fields: dict[str, Any] = {
        "verifier": named.label,
        "scheme": cell.scheme,
        "status": cell.status,
        "instances": cell.instances,
        "undefined": cell.undefined,
        "declared": cell.scheme.partition("(")[0] in lossless_for(named.verifier.card),
        "witness": None,
        "error": cell.error,
        "fails_on": None if cell.broken is None else cell.broken.as_dict(),
    }
    if cell.witness is not None:
        violation = cell.witness.violation
        fields["witness"] = {
            "scheme": cell.witness.instance.as_dict()["scheme"],
            "context": list(violation.context),
            "token": violation.token,
            **number_fields("expected", violation.expected),
            **number_fields("found", violation.found),
            "instance": cell.witness.instance.as_dict(),
        }
    return {
        **fields,
        "kind": "compatibility",
        "strong_id": identity,
        "seconds": round(time.perf_counter() - started, 4),
    }


def _given(problem: World | None) -> Rows | None:
    return None if problem is None else lru_cache(partial(_rows_of, problem))


def _rows_of(problem: World, case: SizedScheme) -> list[Instance]:
    """The exact rows of a problem for the trees of a case."""
    scheme = case[1]
    return [root.rows(scheme.depth) for root in problem.cases(scheme.depth, RATIONAL)]


def on_rows(wanted: Sequence[Column], problem: World) -> list[Column]:
    """The columns for the rows of a problem: each scheme once, at its vocabulary."""
    size = problem.vocab_size
    return [
        replace(
            column,
            declared=column.declared and not told_note(problem),
            conformance=False,
            cases=tuple((size, scheme) for scheme in dict.fromkeys(scheme for _, scheme in column.cases)),
        )
        for column in wanted
    ]


def _assert_size(
    chosen: Sequence[NamedVerifier], case: SizedScheme, count: int, settings: Settings, given: Rows | None
) -> None:
    """Raise `TooLarge` for more runs than the settings allow; for large tables smaller shapes are tried first."""
    size, scheme = case
    if given is not None and table_entries(size, scheme.depth) > QUICK_ENTRIES:
        shallower = {smaller.depth: smaller for smaller in scheme.reductions() if smaller.depth < scheme.depth}
        for smaller in sorted(shallower.values(), key=lambda smaller: smaller.depth):
            try:
                _assert_size(chosen, (size, smaller), count, settings, given)
            except TooLarge as error:
                raise TooLarge(f"{scheme} is larger than another shape that is too large: {error}") from None
    instances = list(case_instances(case, 1)) if given is None else given(case)
    sample, count = instances[0], count + len(CORNER_CASES) if given is None else len(instances)
    for named in chosen:
        try:
            cost = expected_cost(named, case[1], settings, [(sample.target, sample.draft)])
        except (UnsupportedTree, InvalidVerifier):
            continue  # the cell says so
        check_runs(named, case[1], settings, cost.steps * count, case[0])


def show(console: Console, wanted: Sequence[Column], rows: Sequence[Row], problem: World | None = None) -> None:
    """Print the matrix, one line for each verifier, split by the width; results unlike the card are marked."""
    title = "Verifier x draft scheme" + (f", {problem}" if problem else "")
    lines = [rows[start : start + len(wanted)] for start in range(0, len(rows), len(wanted))]
    shown = [[_shown(row, column) for row, column in zip(line, wanted, strict=True)] for line in lines]
    widths = [
        max(len(column.name), *(len(line[number]) for line in shown)) + _FRAME for number, column in enumerate(wanted)
    ]
    labels = max((len(row["verifier"]) for row in rows), default=0)
    for start, stop in _parts(widths, console.width - labels - _FRAME - 1):
        table = Table(title=title, title_justify="left")
        for heading in ("verifier", *(column.name for column in wanted[start:stop])):
            table.add_column(heading, no_wrap=True)
        for row, line in zip(rows[:: len(wanted)], shown, strict=True):
            table.add_row(row["verifier"], *line[start:stop])
        console.print(table)
        title = "Verifier x draft scheme, continued"
    proved = sum(row["instances"] for row in rows)
    left_out = [name for name in verifiers.REGISTRY if name not in verifiers.STANDALONE]
    console.print(f"lossless n: proved on n instances ({proved:,} in all); witness: refuted; -: not defined there.")
    if note := told_note(problem):
        console.print(note)
    for row in rows:
        if row["error"] is not None:
            console.print(f"{row['verifier']} on {row['scheme']} fails: {row['error']}", soft_wrap=True)
    console.print(f"Left out: {', '.join(left_out)} (computed for one instance each).")


def _parts(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns that fit side by side, at least one column each."""
    start = 0
    for stop in range(1, len(widths) + 1):
        if stop == len(widths) or sum(widths[start : stop + 1]) > room:
            yield start, stop
            start = stop


def _shown(row: Row, column: Column) -> Text:
    word, style = _MARKS[row["status"]]
    count = f" {row['instances']}" if row["status"] == "lossless" else ""
    if row["status"] == "witness" and row["undefined"]:
        count = ", -"  # it refuses some trees of the scheme
    # the rows of one problem can refute a declaration, but cannot prove one that is missing
    no_remark = not column.declared or not (column.conformance or row["declared"])
    otherwise = "" if no_remark or row["declared"] == (row["status"] == "lossless") else " (card says otherwise)"
    return Text(word + count + otherwise, style=style)


@with_groups()
def matrix(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all, of lossy ones those of engines.")
    ] = None,
    *,
    given: Given,
    instances: Annotated[
        int | None,
        typer.Option(min=1, help="Random instances for each case, in addition to the corner cases (default 8)."),
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as NAME, NAME:key=value,.. or FILE.py:NAME; may be repeated (default: all)."),
    ] = None,
    max_runs: opt.MaxRuns = 2_000_000,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = os.cpu_count() or 1,
    resume: opt.Resume = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every draft scheme: lossless (proved on n instances), a witness, or not defined.

    With an instance, a text or models, on their rows; else on the conformance set.
    """

    check_files(given.inputs, {"--json": json_target, "--resume": resume})
    if given != Given() and instances is not None:
        raise InvalidInput("--instances is for the conformance set; leave out it, or the options of the instance")
    named = chosen_verifiers(chosen)
    columns, problem = columns_of(scheme), None
    if given != Given():
        problem = choose_problem(given, small=True, told=True)  # every tree is enumerated
        columns = on_rows(columns, problem)
    rows, complete = compute(named, columns, 8 if instances is None else instances, max_runs, problem, jobs, resume)
    if not complete:
        return cut_short(len(rows), len(named) * len(columns), "cells", resume)
    left_out = ("kind", "undefined", "strong_id", "seconds")
    cells = [{key: value for key, value in row.items() if key not in left_out} for row in rows]
    write_json(json_target, {"cells": cells})
    show(console_for(json_target), columns, rows, problem)
    return 0
