"""`draftproof rows`."""

from collections import Counter
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.files import printable

StoreFile = Annotated[str, typer.Argument(metavar="STORE", help="A store, as --resume and sweep --store write it.")]
Imported = Annotated[
    str | None, typer.Option("--import", help="Add the rows of this .jsonl file; the store is created if needed.")
]
Exported = Annotated[
    str | None, typer.Option("--export", help="Write all rows to this .jsonl, .csv, .parquet, .md or .tex file.")
]


def rows(
    store: StoreFile, imported: Imported = None, export: Exported = None, json_target: opt.JsonTarget = None
) -> int:
    """Count the rows of a store by kind, add rows of JSON lines to it, write all rows to other files."""
    from draftproof.experiments.grid.exchange import check_export, import_lines
    from draftproof.experiments.grid.exchange import export as write
    from draftproof.experiments.grid.store import Store, stored_rows

    check_files((imported,), {"STORE": store, "--export": export, "--json": json_target})
    check_export(export)
    console = console_for(json_target)
    summary: dict[str, object] = {"store": store}
    if imported is not None:
        target = Store(store, any_code=True)
        summary["imported"] = import_lines(imported, target)
        target.close()
        console.print(f"{printable(imported)}: {summary['imported']:,} rows are new", soft_wrap=True)
    kinds = Counter(str(row.get("kind", "")) or "row" for row in stored_rows(store))
    summary["rows"] = dict(sorted(kinds.items()))
    shown = ", ".join(f"{count:,} {printable(kind)}" for kind, count in sorted(kinds.items()))
    console.print(f"{printable(store)}: {shown or 'no rows'}", soft_wrap=True)
    if export is not None:
        summary["exported"] = write(store, export)
        console.print(f"{printable(export)}: {summary['exported']:,} rows", soft_wrap=True)
    write_json(json_target, summary)
    return 0
