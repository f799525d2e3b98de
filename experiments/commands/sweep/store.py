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
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from draftproof.experiments.shared.code import outside_files
from draftproof.experiments.shared.progress import counted, remark
from draftproof.experiments.shared.row_kinds import check_depth, check_row
from draftproof.experiments.shared.rows import CODE, code_fields, lock_byte, of_this_code, open_locks
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut, parse_json

FORMAT = "draftproof sweep 2"
_TABLES = """
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists rows (
    strong_id text primary key, question text not null, verifier text, scheme text not null, row text not null,
    code text not null, digest integer not null, seconds real not null
) without rowid;
"""
#: Seconds for which a writer waits for another, and for which a file may be locked before it is opened at all.
PATIENCE, AT_ONCE = 60.0, 1.0
Row = dict[str, Any]


class Store:
    """Rows by their `strong_id`. Raises `InvalidInput` for a file that is no store, or that cannot be written.

    rows: the ids of those that the code as it is now has computed, or would compute again.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._locks: int | None = None
        self._believed: dict[str, bool] = {}
        _is_made(path)
        with self._told():
            self._file = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
            self._file.execute("pragma journal_mode = wal")
            self._file.execute("pragma synchronous = normal")  # to wait for the disk took 9 % of rows of 100 ms
            self._file.executescript(_TABLES)  # a store that is just being made has none yet
            self._file.execute("insert or ignore into meta values ('format', ?)", (FORMAT,))
            self.rows = self._whole()

    def _whole(self) -> set[str]:
        """The ids of the rows of this code whose digest matches; what is damaged is named and forgotten."""
        found, damaged, other, loaded = set(), [], 0, outside_files()
        for name, text, code, digest in self._file.execute("select strong_id, row, code, digest from rows"):
            if not _is_whole(text, code, digest):
                damaged.append(name)
            elif self._of_this_code(code, loaded):
                found.add(name)
            else:
                other += 1
        for name in damaged:
            remark(f"{cut(self._path)}: row {cut(name)} was changed: its digest does not match; it is computed again")
            self._file.execute("delete from rows where strong_id = ?", (name,))
        if other:
            remark(f"{cut(self._path)}: {counted(other, 'row')} of other code or libraries are not taken")
        return found

    def _of_this_code(self, code: str, loaded: dict[str, str]) -> bool:
        if code not in self._believed:
            self._believed[code] = of_this_code({CODE: parse_json(code, "code")}, loaded)
        return self._believed[code]

    def add(self, rows: Sequence[Row], outside: Collection[str] = ()) -> None:
        """Keep rows, all or none; once this returns a kill loses none, a power cut the last ones at most.

        outside: ids of those that depend on code of others.
        """
        values = [_stored(row, row["strong_id"] in outside) for row in rows]
        with self._told():
            self._file.execute("begin immediate")
            try:
                self._file.executemany("insert or replace into rows values (?, ?, ?, ?, ?, ?, ?, ?)", values)
                self._file.execute("commit")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("rollback")
                raise
        self.rows.update(row["strong_id"] for row in rows)

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these rows are there, those of other writers too."""
        for name in names:
            if name not in self.rows:
                found = self._file.execute("select code from rows where strong_id = ?", (name,)).fetchone()
                if found is None or not self._of_this_code(found[0], outside_files()):
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

    def all_rows(self) -> Iterator[Row]:
        """Every row, in the order of ids."""
        return _read(self._file, self._path)

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


def stored_rows(path: str) -> Iterator[Row]:
    """Every row of a store, in the order of ids, by whatever code; nothing is written. Raises `InvalidInput`."""
    if _is_made(path):
        with closing(_opened(Path(path))) as file:
            yield from _read(file, Path(path))
    elif not os.path.lexists(path):
        raise InvalidInput(f"there is no store {cut(path)}; draftproof sweep FILE.toml --store {cut(path)} makes one")


def _read(file: sqlite3.Connection, path: Path) -> Iterator[Row]:
    damaged = 0
    try:
        for name, question, text, code, digest, seconds in file.execute(
            "select strong_id, question, row, code, digest, seconds from rows order by strong_id"
        ):
            if _is_whole(text, code, digest):  # a damaged one may be found in one way and not in another
                yield _checked(name, question, {**_object(text), "seconds": seconds})
            else:
                damaged += 1
    except sqlite3.Error as error:
        raise InvalidInput(f"cannot read {cut(path)}: {error}; it is damaged: sweep into a new one") from None
    except InvalidInput as error:
        raise InvalidInput(f"{cut(path)} row {cut(name)}: {error}; sweep into a new one") from None
    if damaged:
        remark(f"{cut(path)}: {counted(damaged, 'row')} changed: the digest does not match; draftproof sweep mends it")


def _object(text: str) -> Row:
    row = parse_json(text, "row")
    check_depth(row)
    return row if isinstance(row, dict) else {}


def _checked(name: object, question: object, row: Row) -> Row:
    row = check_row(row, "swept bound" if row.get("question") == "bound" else "swept law")
    if (name, question) != (row["strong_id"], row["question"]):
        raise InvalidInput("it is filed as another row")
    return row


def _stored(row: Row, outside: bool) -> tuple[object, ...]:
    kept = {key: value for key, value in row.items() if key != "seconds"}
    text, code = json.dumps(kept, sort_keys=True), json.dumps(code_fields(outside)[CODE], sort_keys=True)
    names = row["strong_id"], row["question"], row.get("verifier"), row["shape"]
    return (*names, text, code, _crc(text, code), row["seconds"])


def _crc(text: str, code: str) -> int:
    return zlib.crc32(f"{text}\n{code}".encode())


def _is_whole(text: object, code: object, digest: object) -> bool:
    return isinstance(text, str) and isinstance(code, str) and _crc(text, code) == digest


def _opened(path: Path) -> sqlite3.Connection:
    """A database to be read only. A store that nobody writes is taken as it is: locks would need files beside."""
    with path.open("rb") as file:
        ahead = file.read(20)[18:] == b"\x02\x02" and not Path(f"{path}-wal").exists()
    how = "mode=ro&immutable=1" if ahead else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=AT_ONCE, isolation_level=None)


def _schema(file: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(file.execute("select type, name, sql from sqlite_master where name not like 'sqlite_%'"))


def _is_made(path: str) -> bool:
    """Whether a store is there and has its tables; raises `InvalidInput` for anything else, at once.

    A run that is killed may leave an empty file, or the first table alone.
    """
    place = Path(path)
    if not path or path.startswith((":", "file:")):
        raise InvalidInput(f"{path!r} is no file for a store; give the name of one")
    foreign = InvalidInput(f"{cut(path)} is no store of a sweep, or one of another version; choose another file")
    if not os.path.lexists(place):
        return False
    if not place.is_file():
        raise foreign
    try:
        with closing(_opened(place)) as file:
            tables = _schema(file)
            form = file.execute("select value from meta where key = 'format'").fetchone() if tables else None
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InvalidInput(f"{cut(path)} is locked by another program; wait for that to end") from None
        if "no such" in str(error):
            raise foreign from None
        raise InvalidInput(f"cannot read {cut(path)}: {error}; choose another file") from None
    except sqlite3.Error:
        raise foreign from None
    except OSError as error:
        raise InvalidInput(f"cannot read {cut(path)}: {error.strerror}; choose another file") from None
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(_TABLES)
        wanted = _schema(ours)
    if not tables <= wanted or form not in (None, (FORMAT,)):
        raise foreign
    return tables == wanted
