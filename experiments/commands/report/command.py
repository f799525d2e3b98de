"""`draftproof report`."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.shared import options as opt
from experiments.shared.consoles import console_for
from experiments.shared.output import check_files, write_json, write_whole

Place = Annotated[str, typer.Argument(metavar="STORE", help="The store of a sweep.")]
Page = Annotated[str | None, typer.Option("--page", "-o", help="The report, one file of HTML.")]


def report(store: Place, out: Page = None, json_target: opt.JsonTarget = None) -> int:
    """What the rows of a sweep show: the findings, tables that sort, figures; each number with what prints it."""
    from experiments.commands.report.page import page
    from experiments.commands.report.summary import summarise
    from experiments.commands.sweep.store import Store
    from experiments.shared.rows import versions
    from simulator.errors import InvalidInput

    check_files((store,), {"--page": out, "--json": json_target})
    kept = Store(store, create=False)
    if not kept.rows:
        raise InvalidInput(f"{store} has no rows yet; draftproof sweep FILE.toml --store {store} computes them")
    summary = summarise(kept)
    kept.close()
    console = console_for(json_target)
    for text in summary["findings"]:
        console.print(text, soft_wrap=True)
    if out is not None:
        write_whole(out, page(summary, store, versions()["draftproof"]))
        console.print(f"report: {out}", soft_wrap=True)
    write_json(json_target, summary)
    return 0
