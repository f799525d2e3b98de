"""`draftproof claims`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for

_CORES = os.cpu_count() or 1
Names = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims; all where none is named.")]
Deep = Annotated[bool, typer.Option("--deep", help="Twenty times the instances, larger trees too; hours.")]
Resume = Annotated[str | None, typer.Option(help="Store of rows: kept as they come, reused next time.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Folder = Annotated[
    str | None, typer.Option("--folder", help="For instances that refute and do not come along (default: here).")
]


def claims(
    names: Names = None,
    deep: Deep = False,
    resume: Resume = None,
    jobs: Jobs = _CORES,
    folder: Folder = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """What papers claim, tested. Exit 0: each has the status it is known to have; 1: not so; 2: bad input."""
    from draftproof.experiments.claims import work
    from draftproof.experiments.claims.ledger import ledger
    from draftproof.experiments.claims.verdicts import RECORDED, verdict
    from draftproof.experiments.cli import claims_views as views
    from draftproof.experiments.grid.run import Executor, rows_of, run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target, "--resume": resume})
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInput(f"--folder {folder} is no folder; make it first")
    chosen = [work.claim_named(name) for name in dict.fromkeys(names)] if names else list(ledger())
    kept = Store(resume)
    tasks = work.tasks_of(chosen, views.recorded(RECORDED), deep)
    if not run(tasks, kept, Executor(work.compute, jobs), about=f"{len(chosen)} claim{'s' * (len(chosen) > 1)}"):
        return cut_short(len(rows_of(tasks, kept)), len(tasks), "rows", resume)
    found = [verdict(claim, [kept[part.strong_id] for part in work.parts_of(claim, deep)]) for claim in chosen]
    rows: list[dict[str, Any]] = [views.fields(each, views.kept_instance(each, folder)) for each in found]
    write_json(json_target, {"claims": rows})
    console = console_for(json_target)
    if names and len(rows) == 1:
        views.show_one(console, rows[0])
    else:
        views.show(console, rows)
    return 0 if all(each.as_expected for each in found) else 1
