"""`draftproof rows`."""

from collections import Counter
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.files import printable

Place = Annotated[str, typer.Argument(metavar="STORE", help="What --resume or sweep --store made; made by --import.")]
Imported = Annotated[str | None, typer.Option("--import", help="Rows to take in, as .jsonl.")]
Exported = Annotated[str | None, typer.Option("--export", help="All rows, as .jsonl, .csv, .parquet, .md or .tex.")]


def rows(store: Place, imported: Imported = None, export: Exported = None, json_target: opt.JsonTarget = None) -> int:
    """What a store has, by kind; rows taken in from JSON lines, and all of them written to other files."""
    from draftproof.experiments.grid.exchange import check_export, import_lines
    from draftproof.experiments.grid.exchange import export as write
    from draftproof.experiments.grid.store import Store, stored_rows

    check_files((imported,), {"STORE": store, "--export": export, "--json": json_target})
    check_export(export)
    console = console_for(json_target)
    told: dict[str, object] = {"store": store}
    if imported is not None:
        kept = Store(store, any_code=True)
        told["imported"] = import_lines(imported, kept)
        kept.close()
        console.print(f"{printable(imported)}: {told['imported']:,} rows are new", soft_wrap=True)
    kinds = Counter(str(row.get("kind", "")) or "row" for row in stored_rows(store))
    told["rows"] = dict(sorted(kinds.items()))
    shown = ", ".join(f"{count:,} {printable(kind)}" for kind, count in sorted(kinds.items()))
    console.print(f"{printable(store)}: {shown or 'no rows'}", soft_wrap=True)
    if export is not None:
        told["exported"] = write(store, export)
        console.print(f"{printable(export)}: {told['exported']:,} rows", soft_wrap=True)
    write_json(json_target, told)
    return 0
