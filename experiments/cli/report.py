"""`draftproof report`."""

from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.files import printable

Stores = Annotated[
    list[str],
    typer.Argument(metavar="STORE...", help="Stores, as sweep --store and --resume write them."),
]
Page = Annotated[
    str | None,
    typer.Option("--page", "-o", help="Write the report to this HTML file; .csv or .md: a table of all rows instead."),
]


def report(stores: Stores, out: Page = None, json_target: opt.JsonTarget = None) -> int:
    """Summarise stored rows: findings, sortable tables and figures, each number with the command that computes it."""
    from draftproof.experiments.grid.exchange import FORMATS, export
    from draftproof.experiments.grid.report import page
    from draftproof.experiments.grid.report.summary import read, summarise
    from draftproof.experiments.grid.rows import versions

    check_files(stores, {"--page": out, "--json": json_target})
    console = console_for(json_target)
    if out is not None and Path(out).suffix in FORMATS:
        count = export(stores, out)
        console.print(f"{printable(out)}: {count:,} rows", soft_wrap=True)
        write_json(json_target, {"rows": count})
        return 0
    summary = summarise(read(stores))
    for text in summary["findings"]:
        console.print(printable(text), soft_wrap=True)
    if out is not None:
        write_whole(out, page(summary, stores, versions()["draftproof"]))
        console.print(f"report: {printable(out)}", soft_wrap=True)
    write_json(json_target, summary)
    return 0
