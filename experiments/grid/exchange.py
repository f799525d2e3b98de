"""Rows in other files than a store: CSV, Parquet, Markdown and LaTeX as tables."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from draftproof.experiments.grid.store import Row, stored_rows
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.runtime import temporary
from draftproof.experiments.shared.output import csv_cell, latex_text, write_whole
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable

#: The columns of laws and bounds, with their types; exact numbers are text such as 91/36, with a column for the float.
COLUMNS: Mapping[str, type] = {
    "question": str, "world": str, "family": str, "vocab_size": int, "seed": int, "verifier": str, "scheme": str,
    "K": int, "L1": int, "L2": int, "nodes": int, "arithmetic": str, "lossless": bool,
    "block_efficiency": str, "block_efficiency_float": float, "variance_float": float,
    "max_deviation": str, "max_deviation_float": float, "lower": str, "lower_float": float, "upper": str,
    "upper_float": float, "gap_float": float, "seconds": float, "strong_id": str,
}  # fmt: skip
FORMATS = (".csv", ".parquet", ".md", ".tex")
_QUESTIONS = {"law": "check", "swept law": "check", "bound": "bound", "swept bound": "bound"}


def check_export(path: str | None) -> None:
    """Raises `InvalidInput` for a suffix of no known format, and for Parquet without pyarrow."""
    if path is None:
        return
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise InvalidInput(f"--export {path}: the name must end in one of {', '.join(FORMATS)}")
    if suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InvalidInput(f"--export {path}: Parquet needs pyarrow; install it, or export a .csv") from None


def export(store: str, path: str) -> int:
    """Write all rows of a store to a file in one step; returns their number."""
    check_export(path)
    suffix = Path(path).suffix
    table = [cells(row) for row in stored_rows(store)]
    columns = COLUMNS if all(row.keys() == COLUMNS.keys() for row in table) else _columns_of(table)
    if suffix == ".parquet":
        _parquet(table, columns, Path(path))
    else:
        write_whole(path, _TEXTS[suffix](table, list(columns)))
    return len(table)


def cells(row: Row) -> dict[str, Any]:
    """One row as cells: for laws and bounds the columns `COLUMNS`, for other kinds every field that is no container."""
    kind = str(row.get("kind"))
    if kind not in _QUESTIONS:
        return {name: value for name, value in row.items() if isinstance(value, str | int | float)}
    source, scheme, shape = row["source"], row["scheme"], shape_fields(row)
    found = {
        **row, **{key: scheme.get(key) for key in ("K", "L1", "L2")}, "world": json.dumps(source, sort_keys=True),
        "family": source.get("family"), "vocab_size": source.get("vocab_size"), "seed": source.get("seed"),
        "scheme": shape["shape"], "nodes": shape["nodes"], "question": _QUESTIONS[kind],
    }  # fmt: skip
    return {name: found.get(name) for name in COLUMNS}


def shape_fields(row: Row) -> dict[str, Any]:
    """The scheme of a law or a bound as text, and its number of drafted tokens."""
    if "file" in row["scheme"]:
        return {"shape": row["scheme"]["file"], "nodes": row.get("nodes")}
    scheme = scheme_from_dict(row["scheme"])
    return {"shape": scheme_spec(scheme), "nodes": scheme.nodes}


def _columns_of(table: Sequence[Row]) -> dict[str, type]:
    """All columns of rows of several kinds; a column with values of several types is text."""
    kinds: dict[str, set[type]] = {}
    for row in table:
        for name, value in row.items():
            kinds.setdefault(name, set()).update(() if value is None else (type(value),))
    return {name: COLUMNS.get(name) or (types.pop() if len(types) == 1 else str) for name, types in kinds.items()}


def _csv(table: Sequence[Row], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in table)
    return text.getvalue()


def _markdown(table: Sequence[Row], columns: Sequence[str]) -> str:
    body = [[_shown(row.get(name)).replace("|", "\\|") for name in columns] for row in table]
    return "".join(f"| {' | '.join(line)} |\n" for line in (columns, ["---"] * len(columns), *body))


def _latex(table: Sequence[Row], columns: Sequence[str]) -> str:
    body = [columns, *([_shown(row.get(name)) for name in columns] for row in table)]
    text = "".join(" & ".join(map(latex_text, line)) + " \\\\\n" for line in body)
    return f"\\begin{{tabular}}{{{'l' * len(columns)}}}\n{text}\\end{{tabular}}\n"


def _shown(value: Any) -> str:
    return "" if value is None else printable(str(value))


_TEXTS: Mapping[str, Callable[[Sequence[Row], Sequence[str]], str]] = {
    ".csv": _csv,
    ".md": _markdown,
    ".tex": _latex,
}


def _parquet(table: Sequence[Row], columns: Mapping[str, type], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    rows = [{name: _value(row.get(name), kind) for name, kind in columns.items()} for row in table]
    with temporary(path.parent, path.name) as new:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema), new)
        new.replace(path)


def _value(value: Any, kind: type) -> Any:
    return str(value) if kind is str and value is not None else value
