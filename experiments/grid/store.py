"""The store of rows: one SQLite file; rows that were added survive a crash of the process.

Why SQLite with a write-ahead log: rows that are added together are stored all or none, even if the process is killed or
the disk is full; a second writer waits for milliseconds, readers never; it comes with Python. Rows are text with a
digest, so that a damaged one is detected and computed again. Several runs can share a store: at worst each computes the
same row, and the last one is kept.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.text import BUILT_IN
from draftproof.experiments.runtime import placed
from draftproof.experiments.shared.code import PYTHON_FILE, file_digest, outside_files, own_digest, unchanged
from draftproof.experiments.shared.progress import counted, remark
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.files import check_size, parse_json

#: In the digests of what a row was computed from the key of draftproof's own code, and the prefix of data files.
OURS, DATA = "draftproof", "data:"
FORMAT = "draftproof rows 2"
_TABLES = """
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists rows (
    strong_id text primary key, kind text not null, row text not null, code text not null, digest text not null
);
"""
_SELECT = "select strong_id, kind, row, code, digest from rows"
#: Seconds that a writer waits for another one, and that a reader waits for a lock on the file.
WRITER_WAIT, READER_WAIT = 60.0, 1.0
#: Seconds between two attempts to make a store that others make at the same time.
RETRY_SECONDS = 0.02
#: Damaged rows that are reported one by one; the others are counted.
MOST_REPORTED = 3
Row = dict[str, Any]


class Store(Mapping[str, Row]):
    """Rows by their `strong_id`; in memory where there is no path. Raises `InvalidInput` for any other file.

    It has the rows that the present code computed, also those that other runs add meanwhile. The file is made when the
    first row is added.
    """

    def __init__(self, path: str | None, kinds: Collection[str] = ()) -> None:
        """kinds: the kinds of rows that it has; all by default."""
        self._path = None if path is None else placed(path)
        self._kinds = kinds
        self._rows: dict[str, Row | None] = {}  # None: the row is in the file
        self._is_present_code: dict[object, bool] = {}
        self._file: sqlite3.Connection | None = None
        if path is not None and check_store(path):
            self._opened()

    def __getitem__(self, name: str) -> Row:
        if name not in self:
            raise KeyError(name)
        row = self._rows[name]
        if row is not None:
            return row
        assert self._path is not None
        with _sqlite_errors(self._path, "read"):
            [record] = self._opened().execute(f"{_SELECT} where strong_id = ?", (name,))
        if not self._is_wanted(record[1], record[3], outside_files()):
            raise InvalidInput(f"{cut(self._path)} row {cut(name)}: other code has replaced it meanwhile; run again")
        return _parsed_row(self._path, record[0], record[2])

    def __contains__(self, name: object) -> bool:
        if name not in self._rows and self._file is not None and self._path is not None:
            with _sqlite_errors(self._path, "read"):
                record = self._file.execute(f"{_SELECT} where strong_id = ?", (name,)).fetchone()
            if record is not None and _is_whole(*record) and self._is_wanted(record[1], record[3], outside_files()):
                self._rows[record[0]] = None
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, *rows: Row, user_defined: bool = True) -> None:
        """Add rows, all or none; afterwards a kill loses none of them, a power cut may lose the last ones.

        user_defined: whether they may depend on user-defined code that is loaded. Raises `InvalidInput` where the file
        cannot be written.
        """
        if self._path is None:
            self._rows.update((row["strong_id"], row) for row in rows)
            return
        code = code_fields(user_defined)
        values = [_stored(row, {**code, **_data_files(row)}) for row in rows]
        file = self._opened()
        with _sqlite_errors(self._path, "write"):
            file.execute("begin immediate")
            try:
                file.executemany("insert or replace into rows values (?, ?, ?, ?, ?)", values)
                file.execute("commit")
            except BaseException:
                if file.in_transaction:
                    file.execute("rollback")
                raise
        self._rows.update((row["strong_id"], None) for row in rows)

    def close(self) -> None:
        """Merge the write-ahead log into the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __del__(self) -> None:
        with suppress(AttributeError, sqlite3.Error):  # where opening it failed
            self.close()

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            assert self._path is not None
            with _sqlite_errors(self._path, "write"):
                file = _connected(str(self._path), timeout=WRITER_WAIT)
            try:
                with _sqlite_errors(self._path, "write"):
                    _make(file)
                with _sqlite_errors(self._path, "read"):
                    self._take(file)
            except BaseException:
                file.close()
                raise
            self._file = file
        return self._file

    def _take(self, file: sqlite3.Connection) -> None:
        """Take the rows of the wanted kinds and code; report damaged ones."""
        assert self._path is not None
        damaged, other, loaded = 0, 0, outside_files()
        for name, kind, text, code, digest in file.execute(_SELECT):
            if not _is_whole(name, kind, text, code, digest):
                damaged += 1
                if damaged <= MOST_REPORTED:
                    remark(f"{cut(self._path)}: row {cut(name)} does not match its digest; it is computed again")
            elif self._is_wanted(kind, code, loaded):
                self._rows[name] = None
            else:
                other += not self._kinds or kind in self._kinds
        if damaged > MOST_REPORTED:
            remark(f"{cut(self._path)}: {damaged - MOST_REPORTED:,} more rows like that")
        if other:
            remark(f"{cut(self._path)}: {counted(other, 'row')} of other code, files or libraries not taken")

    def _is_wanted(self, kind: str, code: str, loaded: Mapping[str, str]) -> bool:
        if self._kinds and kind not in self._kinds:
            return False
        state = code, frozenset(loaded.items())
        if state not in self._is_present_code:
            self._is_present_code[state] = _of_this_code(_parsed(code), loaded)
        return self._is_present_code[state]


def stored_rows(path: str, kinds: Collection[str] = (), changed: list[set[str]] | None = None) -> Iterator[Row]:
    """The rows of a store by id, whatever version computed them; nothing is written. Raises `InvalidInput`.

    Rows of files that have changed since are left out; changed: gets for each of these rows its changed files.
    """
    if not os.path.lexists(path):
        raise InvalidInput(f"there is no store {cut(path)}; give one that resume made")
    if not check_store(path):
        return
    damaged, place, changed_files = 0, Path(path), cache(_changed_files)
    with _sqlite_errors(place, "read"), closing(_read_only(place)) as file:
        for name, kind, text, by, digest in file.execute(f"{_SELECT} order by strong_id"):
            if not _is_whole(name, kind, text, by, digest):  # an index may be damaged where the table is not
                damaged += 1
            elif kinds and kind not in kinds:
                continue
            elif not (files := changed_files(by)):
                yield _parsed_row(place, name, text)
            elif changed is not None:
                changed.append(files)
    if damaged:
        remark(
            f"{cut(path)}: {counted(damaged, 'row')} left out: the digest does not match; the command that made the "
            "store computes such rows again"
        )


def check_store(path: str) -> bool:
    """Whether there is a store with its tables, False for no file; raises `InvalidInput` for any other file.

    A run that is killed may leave an empty file.
    """
    place = Path(path)
    if not path or path.startswith((":", "file:")):
        raise InvalidInput(f"{path!r} is no file for a store; give the name of one")
    if not os.path.lexists(place):
        return False
    foreign = InvalidInput(f"{cut(path)} is no store of rows, or one of another version; choose another file")
    if not place.is_file():
        raise foreign
    try:
        with closing(_read_only(place)) as file:
            tables = _schema(file)
            form = file.execute("select value from meta where key = 'format'").fetchone() if tables else None
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InvalidInput(f"{cut(path)} is locked by another program; wait for that to end") from None
        if "no such" in str(error):
            raise foreign from None
        raise InvalidInput(f"cannot read {cut(path)}: {error}; choose another file") from None
    except (sqlite3.Error, UnicodeDecodeError):  # SQLite's message can quote damaged bytes
        raise foreign from None
    except OSError as error:
        raise InvalidInput(f"cannot read {cut(path)}: {error.strerror}; choose another file") from None
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(_TABLES)
        wanted = _schema(ours)
    if not tables <= wanted or form not in (None, (FORMAT,)):
        raise foreign
    return tables == wanted


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection for reading, without locks where no process has the store open, as locks would make files."""
    with path.open("rb") as file:
        unused = file.read(20)[18:] == b"\x02\x02" and not Path(f"{path}-wal").exists()
    how = "mode=ro&immutable=1" if unused else "mode=ro"
    return _connected(f"{path.absolute().as_uri()}?{how}", timeout=READER_WAIT, uri=True)


def _connected(name: str, timeout: float, uri: bool = False) -> sqlite3.Connection:
    file = sqlite3.connect(name, timeout=timeout, isolation_level=None, uri=uri)
    file.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged byte makes one row unreadable, not all
    return file


def _make(file: sqlite3.Connection) -> None:
    """Make the tables where they are not there. SQLite does not wait for a process that changes the mode of the log."""
    end = time.monotonic() + WRITER_WAIT
    while True:
        try:
            file.execute("pragma journal_mode = wal")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)
    file.execute("pragma synchronous = normal")  # to wait for the disk took 9 % of rows of 100 ms
    file.executescript(f"begin immediate; {_TABLES} insert or ignore into meta values ('format', '{FORMAT}'); commit;")


def _schema(file: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(file.execute("select type, name, sql from sqlite_master where name not like 'sqlite_%'"))


@contextmanager
def _sqlite_errors(path: Path, what: str) -> Iterator[None]:
    """Turns errors of SQLite inside into `InvalidInput`. what: `read` or `write`."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        way = (
            "it is damaged: choose another file"
            if what == "read"
            else "the rows before are kept, make room and run again"
        )
        raise InvalidInput(f"cannot {what} {cut(path)}: {error}; {way}") from None


def _stored(row: Row, by: Mapping[str, str]) -> tuple[str, ...]:
    values = row["strong_id"], str(row.get("kind", "")), json.dumps(row), json.dumps(by, sort_keys=True)
    return *values, _digest(*values)


def _digest(*values: str) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]


def _is_whole(*values: object) -> bool:
    try:
        return all(isinstance(value, str) for value in values) and _digest(*map(str, values[:-1])) == values[-1]
    except UnicodeEncodeError:
        return False


def _parsed_row(path: Path, name: str, text: str) -> Row:
    """A row of a store, parsed; raises `InvalidInput` for one that is too large."""
    check_size(len(text), f"row {cut(name)} of", path)
    row: Row = parse_json(text, f"{cut(path)} row {cut(name)}")
    return row


#: Optional libraries with solvers, and their modules.
SOLVERS = {"scipy": "scipy", "highspy": "highspy", "z3-solver": "z3"}


@cache
def _ours() -> str:
    """A digest of draftproof's own code and of the versions of libraries."""
    solvers = {name: version(name) for name in SOLVERS if find_spec(SOLVERS[name])}
    return hashlib.sha256(f"{own_digest()} {json.dumps({**versions(), **solvers})}".encode()).hexdigest()[:16]


def code_fields(outside: bool = True) -> dict[str, str]:
    """Digests of the code that computes here: draftproof's own and, with `outside`, user-defined files."""
    return {OURS: _ours(), **(outside_files() if outside else {})}


def _data_files(row: Row) -> dict[str, str]:
    """Digests of the files that a row names, by path: instances and texts of its worlds, its verifier and scheme."""
    sources = row.get("source", [])
    files = {}
    for source in [sources] if isinstance(sources, dict) else sources if isinstance(sources, list) else []:
        if "instance_hash" in source:
            files[f"{DATA}{os.path.abspath(source['instance'])}"] = source["instance_hash"]
        elif (text := source.get("text", "")) not in BUILT_IN and os.path.isfile(text):
            files[f"{DATA}{os.path.abspath(text)}"] = file_digest(text)
    scheme = row.get("scheme")
    for name in (row.get("spec"), scheme.get("file") if isinstance(scheme, dict) else None):
        if isinstance(name, str) and (end := PYTHON_FILE.search(name)):
            path = os.path.realpath(name[: end.start() + len(".py")])
            files[f"{DATA}{path}"] = outside_files().get(path, "")
    return files


def _changed_files(code: str) -> set[str]:
    """The files that a row rests on and that are other ones now, by the code of its record; not those that are gone.

    A process records every user-defined file that it has used so far, also for other rows: a row rests on the files
    that it names, and on what lies beside them or below.
    """
    files = {name: digest for name, digest in _parsed(code).items() if name != OURS}
    named = tuple(os.path.dirname(name.removeprefix(DATA)) + os.sep for name in files if name.startswith(DATA))
    places = [(name.removeprefix(DATA), digest) for name, digest in files.items() if name.startswith((DATA, *named))]
    return {path for path, digest in places if file_digest(path) not in ("", digest)}


def left_out(changed: Collection[set[str]]) -> list[str]:
    """The sentence about the rows of files that have changed, if there are any; see `stored_rows`."""
    names = ", ".join(sorted({Path(file).name for files in changed for file in files}))
    return [f"{counted(len(changed), 'row')} left out, of files that have changed since: {names}."] if changed else []


def _parsed(code: str) -> dict[str, Any]:
    digests = parse_json(code, "code")
    return digests if isinstance(digests, dict) else {}


def _of_this_code(code: Mapping[str, Any], loaded: Mapping[str, str]) -> bool:
    """Whether a row's code (digests from `code_fields`) is the present one. loaded: `outside_files` of this process."""
    data = {name.removeprefix(DATA): digest for name, digest in code.items() if name.startswith(DATA)}
    files = {name: digest for name, digest in code.items() if name != OURS and not name.startswith(DATA)}
    return code.get(OURS) == _ours() and unchanged(data, {}) and (not files or unchanged(files, loaded))
