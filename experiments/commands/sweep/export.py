"""The rows of a store as a table: CSV, or Parquet where pyarrow is at hand; pandas reads both back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from draftproof.experiments.commands.sweep.store import Row, stored_rows
from draftproof.experiments.runtime import temporary
from draftproof.experiments.shared.output import csv_cell, write_whole
from draftproof.simulator.errors import InvalidInput

#: The columns, with their kinds; exact numbers are text such as 91/36, with a float beside them.
COLUMNS: dict[str, type] = {
    "question": str, "world": str, "family": str, "vocab_size": int, "seed": int, "verifier": str, "scheme": str,
    "K": int, "L1": int, "L2": int, "nodes": int, "arithmetic": str, "lossless": bool,
    "block_efficiency": str, "block_efficiency_float": float, "variance_float": float,
    "max_deviation": str, "max_deviation_float": float, "lower": str, "lower_float": float, "upper": str,
    "upper_float": float, "gap_float": float, "seconds": float, "strong_id": str,
}  # fmt: skip
FORMATS = (".csv", ".parquet")


def check_export(path: str | None) -> None:
    """Raises `InvalidInput` for a name that says no format, or one that needs what is not installed."""
    if path is None:
        return
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise InvalidInput(f"--export {path}: the name must end in {' or '.join(FORMATS)}")
    if suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InvalidInput(f"--export {path}: Parquet needs pyarrow; install it, or export a .csv") from None


def export(store: str, path: str) -> int:
    """Write all rows of a store to a file, whole or not at all; returns how many there are."""
    check_export(path)
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for row in stored_rows(store):
            count += 1
            yield cells(row)

    if path.endswith(".csv"):
        text = io.StringIO()
        writer = csv.DictWriter(text, list(COLUMNS), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in counted())
        write_whole(path, text.getvalue())
    else:
        _parquet(list(counted()), Path(path))
    return count


def _parquet(rows: list[dict[str, Any]], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    with temporary(path.parent, path.name) as new:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema), new)
        new.replace(path)


def cells(row: Row) -> dict[str, Any]:
    """One row as cells; None where it has none."""
    source, scheme = row["source"], row["scheme"]
    found = {
        **row, **{key: scheme.get(key) for key in ("K", "L1", "L2")}, "world": json.dumps(source, sort_keys=True),
        "family": source.get("family"), "vocab_size": source.get("vocab_size"), "seed": source.get("seed"),
        "scheme": row["shape"],
    }  # fmt: skip
    return {name: found.get(name) for name in COLUMNS}
