"""Looks into stores of rows, and damages them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from draftproof.experiments.grid.store import stored_rows


def rows_of(path: str | Path) -> dict[str, dict[str, Any]]:
    """The rows by id; none where there is no file."""
    return {row["strong_id"]: row for row in stored_rows(str(path))} if Path(path).exists() else {}


def timeless(path: str | Path) -> dict[str, dict[str, Any]]:
    """The same without their seconds: equal in two stores of the same grid."""
    return {name: {key: value for key, value in row.items() if key != "seconds"} for name, row in rows_of(path).items()}


def change(path: str | Path, script: str) -> None:
    """Run SQL on a store, whatever becomes of it."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript(script)
        file.commit()


#: One row is changed, and its digest not.
DAMAGE = "update rows set row = replace(row, '\"seconds\"', '\"second5\"') where rowid = (select min(rowid) from rows)"
