"""`draftproof claims`: tests the claims of papers, prints them and writes them as JSON."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for

if TYPE_CHECKING:
    from draftproof.experiments.claims.verdicts import Verdict


def relative_path(path: Path) -> str:
    """The path relative to the current folder if it is below it, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def instance_file(judged: Verdict, folder: str | None) -> str | None:
    """The file of the refuting instance: the one in the repository if equal, else one written to the folder.

    Raises `InvalidInput` where it cannot be written.
    """
    from draftproof.experiments.claims.ledger import INSTANCES

    if judged.instance is None:
        return None
    path = INSTANCES / f"{judged.claim.id}.json"
    if path.is_file() and path.read_text(encoding="utf-8") == judged.instance.dumps():
        return relative_path(path)
    path = Path(folder or ".") / f"claim-{judged.claim.id}.json"
    write_whole(path, judged.instance.dumps())
    return str(path)


def command_of(judged: Verdict, file: str | None) -> str:
    """Shell commands that show the verdict: the refutation, or else the test of the claim."""
    from draftproof.experiments.claims.ledger import CLAIMS
    from draftproof.experiments.claims.runs import PLANTED
    from draftproof.experiments.claims.statements import INSTANCE

    planted = relative_path(CLAIMS / PLANTED)
    lines = [
        "draftproof " + shlex.join(word.replace(INSTANCE, file or "").replace(PLANTED, planted) for word in words)
        for words in judged.commands
    ]
    return " && ".join(lines) if lines else f"draftproof claims {judged.claim.id}"


def fields(judged: Verdict, file: str | None) -> dict[str, Any]:
    """A verdict as fields for JSON."""
    names = ("status", "evidence", "instances", "families", "shapes", "false_variant", "true_variant", "defects")
    return {
        "id": judged.claim.id,
        "source": judged.claim.paper,
        "statement": judged.claim.statement,
        "command": command_of(judged, file),
        "instance": file,
        **{name: getattr(judged, name) for name in (*names, "as_expected", "seconds")},
    }


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The number of claims by status."""
    statuses = ", ".join(f"{count} {status}" for status, count in Counter(row["status"] for row in rows).items())
    return f"{len(rows)} claims: {statuses} ({sum(row['instances'] for row in rows):,} instances)"


def _status(row: dict[str, Any]) -> str:
    return str(row["status"]) + ("" if row["as_expected"] else " (not as expected)")


def show(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of the claims, the commands of the refutations, and the claims that are not as expected."""
    table = Table(title=summary(rows), title_justify="left", show_lines=True)
    for heading in ("claim", "status", "statement", "evidence"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row["id"], _status(row), f"{row['statement']} ({row['source']})", row["evidence"])
    console.print(table)
    refuted = [row for row in rows if row["instance"]]
    if refuted:
        console.print("\nEach refutation from the shell:")
        for row in refuted:
            console.print(f"  {row['command']}", soft_wrap=True)
    for row in rows:
        if not row["as_expected"]:
            console.print(f"{row['id']}: {'; '.join(row['defects']) or 'not its recorded status'}")


def show_one(console: Console, row: dict[str, Any]) -> None:
    """Print everything about one claim."""
    from draftproof.experiments.claims.ledger import papers

    key = row["source"].partition(",")[0]
    for label, text in (
        (row["id"], _status(row)),
        ("statement", row["statement"]),
        ("source", f"{row['source']}: {papers()[key]}"),
        ("evidence", row["evidence"]),
        ("false variant", row["false_variant"]),
        ("true variant", row["true_variant"]),
        ("command", row["command"]),
        ("defects", "; ".join(row["defects"])),
    ):
        if text:
            console.print(f"{label}: {text}", soft_wrap=True)


_CORES = os.cpu_count() or 1
Names = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims (default: all).")]
Deep = Annotated[bool, typer.Option("--deep", help="Test twenty times the instances, and larger trees; takes hours.")]
Resume = Annotated[str | None, typer.Option(help="Store: rows are saved one by one and reused next time.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]
Folder = Annotated[
    str | None,
    typer.Option("--folder", help="Folder for refuting instances that are not in the repository (default: here)."),
]


def claims(
    names: Names = None,
    deep: Deep = False,
    resume: Resume = None,
    jobs: Jobs = _CORES,
    folder: Folder = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Test the claims of papers. Exit 0: each has its recorded status; 1: some have another; 2: bad input."""
    from draftproof.experiments.claims import work
    from draftproof.experiments.claims.ledger import claim_named, ledger
    from draftproof.experiments.claims.verdicts import verdict
    from draftproof.experiments.grid.run import Executor, rows_of, run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target, "--resume": resume})
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInput(f"--folder {folder} is not a folder; make it first")
    chosen = [claim_named(name) for name in dict.fromkeys(names)] if names else list(ledger())
    store = Store(resume)
    tasks = work.tasks_of(chosen, deep)
    if not run(tasks, store, Executor(work.compute, jobs), message=f"{len(chosen)} claim{'s' * (len(chosen) > 1)}"):
        return cut_short(len(rows_of(tasks, store)), len(tasks), "rows", resume)
    verdicts = [verdict(claim, [store[part.strong_id] for part in work.parts_of(claim, deep)]) for claim in chosen]
    rows: list[dict[str, Any]] = [fields(judged, instance_file(judged, folder)) for judged in verdicts]
    write_json(json_target, {"claims": rows})
    console = console_for(json_target)
    if names and len(rows) == 1:
        show_one(console, rows[0])
    else:
        show(console, rows)
    return 0 if all(judged.as_expected for judged in verdicts) else 1
