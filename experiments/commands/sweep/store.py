"""The store of a sweep: one SQLite file whose finished rows outlive whatever happens to those who write.

Why SQLite with a write-ahead log: a group of rows is there whole or not at all, whatever is killed or full; a second
writer waits for milliseconds, readers for nobody; a column is summed without reading the rest; it comes with Python.
Rows stand as text with a digest, so that a damaged one is found and computed again. What a run computes now is told by
locks beside the store, which end with the process that holds them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from experiments.shared.progress import remark
from experiments.shared.rows import lock_byte, open_locks
from simulator.errors import InvalidInput
from simulator.files import cut

FORMAT = "draftproof sweep 1"
_TABLES = """
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists rows (
    strong_id text primary key, question text not null, verifier text, scheme text not null, row text not null,
    digest integer not null, seconds real not null
) without rowid;
"""
#: Seconds for which a writer waits for another.
PATIENCE = 60.0
Row = dict[str, Any]


class Store:
    """Rows by their `strong_id`. Raises `InvalidInput` for a file that is no store, or that cannot be written."""

    def __init__(self, path: str, create: bool = True) -> None:
        self._path = Path(path)
        if not create and not self._path.is_file():
            raise InvalidInput(
                f"there is no store {cut(path)}; draftproof sweep FILE.toml --store {cut(path)} makes one"
            )
        if self._path.exists() and not _is_ours(self._path):
            raise InvalidInput(f"{cut(path)} is no store of a sweep; choose another file")
        self._locks: int | None = None
        with self._told():
            self._file = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
            self._file.execute("pragma journal_mode = wal")
            self._file.execute("pragma synchronous = normal")  # to wait for the disk took 9 % of rows of 100 ms
            self._file.executescript(_TABLES)  # a store that is just being made has none yet
            self._file.execute("insert or ignore into meta values ('format', ?)", (FORMAT,))
            self.rows = self._whole()

    def _whole(self) -> set[str]:
        """The ids of the rows whose digest matches; the others are named and forgotten."""
        damaged = [
            name
            for name, text, digest in self._file.execute("select strong_id, row, digest from rows")
            if not _is_whole(text, digest)
        ]
        for name in damaged:
            remark(f"{cut(self._path)}: row {name} was changed: its digest does not match; it is computed again")
            self._file.execute("delete from rows where strong_id = ?", (name,))
        return {name for (name,) in self._file.execute("select strong_id from rows")}

    def add(self, rows: Sequence[Row]) -> None:
        """Keep rows, all or none; once this returns a kill loses none, a power cut the last ones at most."""
        with self._told():
            self._file.execute("begin immediate")
            try:
                self._file.executemany("insert or ignore into rows values (?, ?, ?, ?, ?, ?, ?)", map(_stored, rows))
                self._file.execute("commit")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("rollback")
                raise
        self.rows.update(row["strong_id"] for row in rows)

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these rows are there, those of other writers too."""
        missing = [name for name in names if name not in self.rows]
        for name in missing:
            if self._file.execute("select 1 from rows where strong_id = ?", (name,)).fetchone() is None:
                return False
            self.rows.add(name)
        return True

    def claim(self, name: str, rows: Sequence[str]) -> str:
        """`there` for a group whose rows are kept, `theirs` for one that another run computes now, else `ours`.

        A claim ends with the process that made it.
        """
        if self._locks is None:
            self._locks = open_locks(f"{self._path}.claims")
        ours = lock_byte(self._locks, int(name[:10], 16))
        if self.has(rows):
            return "there"
        return "ours" if ours else "theirs"

    def all_rows(self, question: str | None = None) -> Iterator[Row]:
        """Every row, in the order of ids; of one question if that is given."""
        where, given = ("", ()) if question is None else (" where question = ?", (question,))
        try:
            found = self._file.execute(f"select row, digest, seconds from rows{where} order by strong_id", given)
            for text, digest, seconds in found:
                if _is_whole(text, digest):  # a damaged one may be found in one way and not in another
                    yield {**json.loads(text), "seconds": seconds}
        except sqlite3.Error as error:
            raise InvalidInput(f"cannot read {cut(self._path)}: {error}; it is damaged: sweep into a new one") from None

    def texts(self) -> dict[str, str]:
        """The rows as they stand, without their seconds: equal in two stores of the same sweep."""
        return dict(self._file.execute("select strong_id, row from rows"))

    def __del__(self) -> None:
        with suppress(AttributeError, sqlite3.Error, OSError):  # where opening it failed, or it is closed
            self.close()

    def close(self) -> None:
        """Put everything into the one file."""
        self._file.close()
        if self._locks is not None:
            descriptor, self._locks = self._locks, None  # once: the number may be another file's afterwards
            os.close(descriptor)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InvalidInput(
                f"cannot write {cut(self._path)}: {error}; the rows before are kept, make room and run again"
            ) from None


def _stored(row: Row) -> tuple[object, ...]:
    kept = {key: value for key, value in row.items() if key != "seconds"}
    text = json.dumps(kept, sort_keys=True)
    names = row["strong_id"], row["question"], row.get("verifier"), row["shape"]
    return (*names, text, zlib.crc32(text.encode()), row["seconds"])


def _is_whole(text: object, digest: object) -> bool:
    return isinstance(text, str) and zlib.crc32(text.encode()) == digest


def _is_ours(path: Path) -> bool:
    """Whether a file is a store, or an empty one that a run was killed over."""
    if not path.is_file():
        return False
    if path.stat().st_size == 0:
        return True
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE)) as file:
            if file.execute("select count(*) from sqlite_master").fetchone()[0] == 0:
                return True
            found = file.execute("select value from meta where key = 'format'").fetchone()
    except sqlite3.Error:
        return False
    return found is None or found[0] == FORMAT
