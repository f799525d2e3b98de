"""What a report is made of: stores of sweeps and files of rows that `--resume` keeps, told apart by what they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from draftproof.experiments.commands.sweep.store import Row, stored_rows
from draftproof.experiments.shared.rows import RowFile
from draftproof.experiments.shared.schemes import scheme_spec
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import check_size, cut

_SQLITE = b"SQLite format 3\0"
#: Rows that a report shows: of `compare` and `sweep`, of `validate`, of the study of shares, and of `prove`.
KINDS = ("law", "bound", "cell", "share", "theorem")


def read(paths: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of all files by their kind; raises `InvalidInput` for a file without rows that a report shows."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for path in paths:
        shown = [row for row in _rows_of(path) if row["kind"] in KINDS]
        if not shown:
            raise InvalidInput(
                f"{cut(path)} has no rows that a report shows; draftproof sweep FILE.toml --store {cut(path)} computes "
                "some, or give a file of compare --resume or validate --resume"
            )
        for row in shown:
            rows[row["kind"]].append({**row, **_shape(row)} if "scheme" in row else row)
    return rows


def _rows_of(path: str) -> Iterator[Row]:
    """The rows of one file, a store or rows of `--resume`."""
    if _is_store(path):
        return stored_rows(path)
    return iter(RowFile(path, KINDS, any_code=True, write=False).rows.values())


def _is_store(path: str) -> bool:
    with suppress(OSError):
        if Path(path).is_file():
            check_size(Path(path).stat().st_size, "store", path)  # all of its rows are in memory at once
            with Path(path).open("rb") as file:
                return file.read(len(_SQLITE)) in (_SQLITE, b"")
    return True  # to be opened as one says what is wrong


def _shape(row: Row) -> Row:
    """The scheme as it is typed; of a user's own scheme the drafted tokens are those that its rows say."""
    if "file" in row["scheme"]:
        return {"shape": str(row["scheme"]["file"])}
    scheme = scheme_from_dict(row["scheme"])
    return {"shape": scheme_spec(scheme), "nodes": scheme.nodes}
