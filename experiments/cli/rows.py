"""`draftproof rows`."""

from collections import Counter
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.files import printable

StoreFile = Annotated[str, typer.Argument(metavar="STORE", help="A store, as --resume and sweep --store write it.")]
Exported = Annotated[str | None, typer.Option("--export", help="Write all rows to this .csv or .md file.")]


def rows(store: StoreFile, export: Exported = None, json_target: opt.JsonTarget = None) -> int:
    """Count the rows of a store by kind, write all rows to other files."""
    from draftproof.experiments.grid.exchange import check_export
    from draftproof.experiments.grid.exchange import export as write
    from draftproof.experiments.grid.store import stored_rows

    check_files((store,), {"--export": export, "--json": json_target})
    check_export(export)
    console = console_for(json_target)
    summary: dict[str, object] = {"store": store}
    kinds = Counter(str(row.get("kind", "")) or "row" for row in stored_rows(store))
    summary["rows"] = dict(sorted(kinds.items()))
    shown = ", ".join(f"{count:,} {printable(kind)}" for kind, count in sorted(kinds.items()))
    console.print(f"{printable(store)}: {shown or 'no rows'}", soft_wrap=True)
    if export is not None:
        summary["exported"] = write(store, export)
        console.print(f"{printable(export)}: {summary['exported']:,} rows", soft_wrap=True)
    write_json(json_target, summary)
    return 0
