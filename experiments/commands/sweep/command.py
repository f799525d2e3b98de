"""`draftproof sweep`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from draftproof.experiments.shared import options as opt
from draftproof.experiments.shared.consoles import console_for
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.simulator.files import printable

_CORES = os.cpu_count() or 1
File = Annotated[str | None, typer.Argument(metavar="[FILE.toml]", help="Worlds, verifiers, schemes and questions.")]
Place = Annotated[str, typer.Option("--store", help="File where rows are kept as they come, and found again.")]
Planned = Annotated[bool, typer.Option("--plan", help="Say rows and hours, and compute no row.")]
Allowed = Annotated[bool, typer.Option("--allow-code", help="Run the Python files that FILE.toml names.")]
Exported = Annotated[str | None, typer.Option("--export", help="All rows of the store, as .csv or .parquet.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes of this machine.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, as tcp://HOST:PORT, in place of them.")]


def sweep(
    file: File = None,
    store: Place = "sweep.db",
    plan: Planned = False,
    allow_code: Allowed = False,
    export: Exported = None,
    jobs: Jobs = _CORES,
    dask: Cluster = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every world and scheme of a file, into one store; run again to go on where it stopped."""
    from draftproof.experiments.commands.sweep import asked, work
    from draftproof.experiments.commands.sweep.cluster import on_cluster
    from draftproof.experiments.commands.sweep.export import check_export
    from draftproof.experiments.commands.sweep.export import export as write
    from draftproof.experiments.commands.sweep.store import Store
    from draftproof.experiments.shared.progress import INTERRUPTED, remark
    from draftproof.simulator.errors import InvalidInput

    check_files((file,), {"--store": store, "--export": export, "--json": json_target})
    check_export(export)
    if file is None and (export is None or plan):
        raise InvalidInput("there is nothing to do; give a FILE.toml, or --export FILE.csv for what a store has")
    if plan and allow_code:
        raise InvalidInput("--plan runs no code of a FILE.toml; leave out --plan, or --allow-code")
    console = console_for(json_target)
    told: dict[str, object] = {"store": store}
    # before a store is made: the file may be wrong
    planned = None if file is None else work.plan(asked.read(file, allow_code))
    kept = None if plan or file is None else Store(store)
    if planned is not None:
        missing = [group for group in planned.groups if kept is None or not kept.has(group.ids)]
        left = sum(len(group.asked) for group in missing)
        hours = planned.seconds * left / max(planned.rows, 1) / jobs / 3600
        about = f"{planned.rows:,} rows of {len(planned.groups):,} groups, {left:,} to compute: {_time(hours)}"
        where = f"on {dask}" if dask else f"on {jobs} process{'es' if jobs > 1 else ''}"
        told |= {"rows": planned.rows, "missing": left, "hours": round(hours, 4), "left_out": list(planned.left_out)}
        for line in planned.left_out[:5]:
            remark(f"left out: {line}: its card does not speak of that, or it is above a limit of the sweep")
        if kept is None:
            console.print(f"{about} {where}", soft_wrap=True)
            write_json(json_target, told)
            return 0
        remark(f"{about} {where}")
        if not work.run(missing, kept, on_cluster(dask) if dask else work.on_processes(min(jobs, len(missing) or 1))):
            remark(f"interrupted; {len(kept.rows):,} rows are kept in {store}: run again to go on")
            kept.close()
            return INTERRUPTED
    if kept is not None:
        told["kept"] = len(kept.rows)
        console.print(f"{printable(store)}: {len(kept.rows):,} rows", soft_wrap=True)
        kept.close()
    if export is not None:
        told["exported"] = write(store, export)
        console.print(f"{printable(export)}: {told['exported']:,} rows", soft_wrap=True)
    write_json(json_target, told)
    return 0


def _time(hours: float) -> str:
    """A rough time, in hours where it is long."""
    from draftproof.experiments.shared.progress import duration

    return f"about {hours:.1f} hours" if hours >= 1 else duration(hours * 3600)
