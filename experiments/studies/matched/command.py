"""The matched comparison: a sweep over its grids, then the tables of its rows.

`python -m draftproof.experiments.studies.matched --store runs/matched.db --markdown runs/matched.md`

The grids stand beside this file; each is a sweep of its own, which `draftproof sweep FILE --store STORE` (or `--dask`)
computes as well. An interrupted run goes on where it stopped.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from draftproof.experiments.cli.sweep import asked, work
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import cut_short
from draftproof.experiments.studies.matched import views

HERE = Path(__file__).parent
#: The cells, or more worlds of each; then all shapes to depth 8 on one world of each kind.
CELLS, LARGE, DEEP = "cells.toml", "large.toml", "deep.toml"
_PAIR = """
[[worlds]]
pair = {folder!r}
vocab = 3
roots = 1
sampling = ["temperature=0.25", "temperature=0.5", "temperature=1", "temperature=2"]
"""


def main(
    store: Annotated[str, typer.Option(help="Where rows are kept as they come, and found again.")] = "matched.db",
    large: Annotated[bool, typer.Option("--large", help="A hundred worlds of each family and temperature.")] = False,
    pair: Annotated[str | None, typer.Option(help="Folder that train made: four cells more.")] = None,
    deep: Annotated[bool, typer.Option("--deep/--no-deep", help="Shapes to depth 8, too.")] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    markdown: Annotated[str | None, typer.Option(help="The tables, as Markdown.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Compute what is missing of the matched comparison, and print its tables."""
    from draftproof.experiments.grid.report.summary import by_kind, summarise
    from draftproof.experiments.shared.progress import console_for

    check_files((), {"--store": store, "--markdown": markdown, "--json": json_target})
    grids = [grid(LARGE if large else CELLS, pair), *([grid(DEEP)] if deep else ())]
    tasks, kept = [task for each in grids for task in work.plan(each).tasks], Store(store)
    names = sorted({name for task in tasks for name in task.ids})
    if not run(tasks, kept, Executor(work.compute, jobs)):
        return cut_short(sum(name in kept for name in names), len(names), "rows", store)
    summary = summarise(by_kind(kept[name] for name in names))
    kept.close()
    text = views.markdown(summary)
    console_for(json_target).print(text, soft_wrap=True, markup=False, highlight=False)
    if markdown is not None:
        write_whole(markdown, text)
    write_json(json_target, summary)
    return 0


def grid(name: str, pair: str | None = None) -> asked.Asked:
    """A grid; pair: the folder of a trained pair, for a world at each temperature of the grids."""
    if pair is None:
        return asked.read(str(HERE / name))
    more = _PAIR.format(folder=os.path.abspath(pair))
    with TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text((HERE / name).read_text(encoding="utf-8") + more, encoding="utf-8")
        return asked.read(str(file))
