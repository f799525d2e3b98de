"""What a report is made of: stores of rows, told apart by what they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from draftproof.experiments.grid.exchange import shape_fields
from draftproof.experiments.grid.store import Row, stored_rows
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import check_size, cut

#: Rows that a report shows: of `compare` and `sweep`, of `validate`, of the study of shares, and of `prove`.
KINDS = ("law", "bound", "swept law", "swept bound", "cell", "share", "theorem")


def read(paths: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of all stores by their kind; raises `InvalidInput` for one without rows that a report shows."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for path in paths:
        if Path(path).is_file():
            check_size(Path(path).stat().st_size, "store", path)  # all of its rows are in memory at once
        found = by_kind(stored_rows(path, KINDS))
        if not found:
            raise InvalidInput(
                f"{cut(path)} has no rows that a report shows; draftproof sweep FILE.toml --store {cut(path)} computes "
                "some, as compare and validate do with --resume"
            )
        for kind, some in found.items():
            rows[kind] += some
    return rows


def by_kind(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their kind, those of `compare` and `sweep` alike, with their scheme as it is typed."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kind = row["kind"].removeprefix("swept ")
        found[kind].append({**row, "kind": kind, **shape_fields(row)} if "scheme" in row else row)
    return found
