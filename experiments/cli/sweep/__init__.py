"""`draftproof sweep`."""

import os
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.files import printable

_CORES = os.cpu_count() or 1
File = Annotated[str, typer.Argument(metavar="FILE.toml", help="Worlds, verifiers, schemes and questions.")]
Place = Annotated[str, typer.Option("--store", help="Store: rows are saved one by one and reused next time.")]
Planned = Annotated[
    bool, typer.Option("--plan", help="Print the number of rows and the expected hours; compute nothing.")
]
Allowed = Annotated[bool, typer.Option("--allow-code", help="Run the Python files that FILE.toml names.")]
Exported = Annotated[str | None, typer.Option("--export", help="All rows of the store, as .csv or .md.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")]
Cluster = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, as tcp://HOST:PORT, instead of --jobs.")
]


def sweep(
    file: File,
    store: Place = "sweep.db",
    plan: Planned = False,
    allow_code: Allowed = False,
    export: Exported = None,
    jobs: Jobs = _CORES,
    dask: Cluster = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every world and scheme of a file, into one store; run again to go on where it stopped."""
    from draftproof.experiments.cli.sweep import sweep_file, work
    from draftproof.experiments.grid.cluster import Cluster
    from draftproof.experiments.grid.exchange import check_export
    from draftproof.experiments.grid.exchange import export as write
    from draftproof.experiments.grid.run import Executor, missing_of, run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short, remark
    from draftproof.simulator.errors import InvalidInput

    check_files((file,), {"--store": store, "--export": export, "--json": json_target})
    check_export(export)
    if plan and allow_code:
        raise InvalidInput("--plan runs no code of a FILE.toml; leave out --plan, or --allow-code")
    console = console_for(json_target)
    planned = work.plan(sweep_file.read(file, allow_code))
    rows_store = Store(None if plan else store)
    missing = missing_of(planned.tasks, rows_store)
    left, seconds = sum(len(task.ids) for task in missing), sum(task.seconds or 0.0 for task in missing)
    executor = Cluster(work.compute, jobs, address=dask) if dask else Executor(work.compute, jobs)
    hours = seconds / executor.processes(len(missing), seconds) / 3600
    summary: dict[str, object] = {"store": store, "rows": planned.rows, "missing": left, "hours": round(hours, 4)}
    summary["left_out"] = list(planned.left_out)
    for line in planned.left_out[:5]:
        remark(f"left out: {line}: not declared on its card, or above a limit of the sweep")
    if plan:
        groups = f"{planned.rows:,} rows of {len(planned.tasks):,} groups, {left:,} to compute"
        console.print(f"{groups}: {_time(hours)} on {dask or f'{jobs} processes'}", soft_wrap=True)
        write_json(json_target, summary)
        return 0
    if not run(planned.tasks, rows_store, executor):
        done = sum(name in rows_store for task in planned.tasks for name in task.ids)
        return cut_short(done, planned.rows, "rows", store)
    summary["kept"] = len(rows_store)
    rows_store.close()
    console.print(f"{printable(store)}: {summary['kept']:,} rows", soft_wrap=True)
    if export is not None:
        summary["exported"] = write([store], export)
        console.print(f"{printable(export)}: {summary['exported']:,} rows", soft_wrap=True)
    write_json(json_target, summary)
    return 0


def _time(hours: float) -> str:
    from draftproof.experiments.shared.progress import duration

    return f"about {hours:.1f} hours" if hours >= 1 else duration(hours * 3600)
