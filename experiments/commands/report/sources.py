"""What a report is made of: the store of a sweep, and files of rows of `--resume`, told apart by what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draftproof.experiments.commands.sweep.store import Row, stored_rows
from draftproof.experiments.shared.rows import RowFile
from draftproof.experiments.shared.schemes import scheme_spec
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import check_size, cut

_SQLITE = b"SQLite format 3\0"


@dataclass
class Found:
    """Rows by what they tell. compared: of `sweep` and `compare`, as a store has them; cells: of `validate`; shares: of
    the study of shares.
    """

    compared: list[Row] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    shares: list[Row] = field(default_factory=list)


def read(paths: Sequence[str]) -> Found:
    """The rows of all files; raises `InvalidInput` for what is neither store nor rows, and for rows of no section."""
    found = Found()
    for path in paths:
        rows = list(stored_rows(path) if _is_store(path) else _resumed(path))
        compared = [row for row in rows if row["kind"] in ("law", "bound")]
        cells = [row for row in rows if row["kind"] == "cell"]
        shares = [row for row in rows if row["kind"] == "share"]
        if not (compared or cells or shares):
            raise InvalidInput(
                f"{cut(path)} has no rows that a report shows; draftproof sweep FILE.toml --store {cut(path)} computes "
                "some, or give a file of compare --resume or validate --resume"
            )
        found.compared += compared
        found.cells += cells
        found.shares += shares
    return found


def _is_store(path: str) -> bool:
    if not Path(path).is_file():
        return True  # which says that there is none
    try:
        check_size(Path(path).stat().st_size, "store", path)  # all of its rows are in memory at once
        with Path(path).open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError as error:
        raise InvalidInput(f"cannot read {cut(path)}: {error.strerror}; choose a file that can be read") from None
    return start in (_SQLITE, b"")


def _resumed(path: str) -> Iterator[Row]:
    """The rows of a file, those of `compare` as a store has them."""
    for row in RowFile(path, ("law", "bound", "cell", "share"), any_code=True, write=False).rows.values():
        if row["kind"] in ("law", "bound"):
            yield {**row, "question": "bound" if row["kind"] == "bound" else "check", **_shape(row)}
        else:
            yield row


def _shape(row: Row) -> dict[str, Any]:
    if "file" in row["scheme"]:
        return {"shape": row["scheme"]["file"], "nodes": row["nodes"]}
    scheme = scheme_from_dict(row["scheme"])
    return {"shape": scheme_spec(scheme), "nodes": scheme.nodes}
