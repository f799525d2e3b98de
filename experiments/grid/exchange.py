"""The rows of stores as one table, which CSV and Markdown files hold."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from draftproof.experiments.grid.store import Row, left_out, stored_rows
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.result import Column, Table
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.drafts import scheme_from_dict

#: The columns of laws and bounds; exact numbers are text such as 91/36, with a column for the float.
COLUMNS = (
    "question", "world", "family", "vocab_size", "seed", "verifier", "scheme", "K", "L1", "L2", "nodes", "arithmetic",
    "lossless", "block_efficiency", "block_efficiency_float", "variance_float", "max_deviation", "max_deviation_float",
    "lower", "lower_float", "upper", "upper_float", "gap_float", "seconds", "strong_id",
)  # fmt: skip
_QUESTIONS = {"law": "check", "bound": "bound"}


def stored_table(stores: Sequence[str]) -> Table:
    """All rows of stores, each once, but those of files that have changed since."""
    changed: list[set[str]] = []
    rows = {row["strong_id"]: cells(row) for store in stores for row in stored_rows(store, (), changed)}
    for sentence in left_out(changed):
        remark(sentence)
    columns = list(dict.fromkeys(name for row in rows.values() for name in row)) or COLUMNS
    return Table.of([Column(name) for name in columns], list(rows.values()))


def cells(row: Row) -> dict[str, Any]:
    """One row as cells: for laws and bounds the columns `COLUMNS`, for other kinds every field that is no container."""
    kind = str(row.get("kind"))
    if kind not in _QUESTIONS:
        return {name: value for name, value in row.items() if isinstance(value, str | int | float)}
    source, scheme, shape = row["source"], row["scheme"], shape_fields(row)
    fields = {
        **row, **{key: scheme.get(key) for key in ("K", "L1", "L2")}, "world": json.dumps(source, sort_keys=True),
        "family": source.get("family"), "vocab_size": source.get("vocab_size"), "seed": source.get("seed"),
        "scheme": shape["shape"], "nodes": shape["nodes"], "question": _QUESTIONS[kind],
    }  # fmt: skip
    return {name: fields.get(name) for name in COLUMNS}


def shape_fields(row: Row) -> dict[str, Any]:
    """The scheme of a law or a bound as text, and its number of drafted tokens."""
    if "file" in row["scheme"]:
        return {"shape": row["scheme"]["file"], "nodes": row.get("nodes")}
    shape, nodes = _shape(json.dumps(row["scheme"]))
    return {"shape": shape, "nodes": nodes}


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[str, int]:
    """The text and the drafted tokens of a scheme of the library, from its JSON."""
    scheme = scheme_from_dict(json.loads(text))
    return scheme_spec(scheme), scheme.nodes
