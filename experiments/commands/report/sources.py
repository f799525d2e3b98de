"""What a report is made of: the store of a sweep, and files of rows of `--resume`, told apart by what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.commands.sweep.store import Row, Store
from experiments.shared.rows import RowFile, check_rows
from experiments.shared.schemes import scheme_spec
from simulator.drafts import scheme_from_dict
from simulator.errors import InvalidInput

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
        rows = list(_stored(path) if _is_store(path) else _resumed(path))
        compared = [row for row in rows if "question" in row]
        cells = [row for row in rows if "predicted" in row and "measured" in row]
        shares = [row for row in rows if "shares" in row]
        if not (compared or cells or shares):
            raise InvalidInput(
                f"{path} has no rows that a report shows; draftproof sweep FILE.toml --store {path} computes some, "
                "or give a file of compare --resume or validate --resume"
            )
        found.compared += compared
        found.cells += cells
        found.shares += shares
    return found


def _is_store(path: str) -> bool:
    place = Path(path)
    if not place.is_file():
        raise InvalidInput(f"there is no store {path}; draftproof sweep FILE.toml --store {path} makes one")
    with place.open("rb") as file:
        start = file.read(len(_SQLITE))
    return start in (_SQLITE, b"")


def _stored(path: str) -> Iterator[Row]:
    store = Store(path, create=False)
    try:
        yield from store.all_rows()
    finally:
        store.close()


def _resumed(path: str) -> Iterator[Row]:
    """The rows of a file, those of `compare` as a store has them."""
    check_rows(path)
    for row in RowFile(path).rows.values():
        if "source" in row and "scheme" in row and ("upper_float" in row or "block_efficiency_float" in row):
            scheme = scheme_from_dict(row["scheme"])
            bound = "upper_float" in row
            about = {"question": "bound" if bound else "check", "shape": scheme_spec(scheme), "nodes": scheme.nodes}
            yield {**row, **about}
        else:
            yield row
