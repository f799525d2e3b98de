"""Rows of results: each knows its origin, so that runs can be resumed, merged and plotted later."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import finalize

from draftproof.experiments.shared.code import outside_files, own_digest, unchanged
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import counted, remark
from draftproof.experiments.shared.row_kinds import check_depth, check_row
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import check_size, cut, parse_json
from draftproof.simulator.laws.law import moments

try:
    import fcntl
except ImportError:  # a system without record locks: runs cannot share a file there
    fcntl = None  # type: ignore[assignment]


def versions() -> dict[str, str]:
    """Versions of everything that can change a number."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    return {
        "draftproof": version("draftproof"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "python-flint": version("python-flint"),
    }


def strong_id(fields: dict[str, Any]) -> str:
    """Hash of everything that defines a problem: equal exactly when the rows would be equal."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:24]


def mixture(weights: list[Fraction], values: list[Fraction | float]) -> Fraction | float:
    """The weighted mean; exact if all values are."""
    if all(isinstance(value, Fraction) for value in values):
        return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))
    return sum(float(w) * float(v) for w, v in zip(weights, values, strict=True))


def largest(values: Sequence[Fraction | float | None]) -> Fraction | float | None:
    """The largest value, None if one of them is not known or there is none."""
    known = [value for value in values if value is not None]
    return max(known, default=None) if len(known) == len(values) else None


def accepted_length(distribution: list[Fraction | float]) -> dict[str, Any]:
    """Mean of `tau + 1`, variance of `tau` and its distribution, as row fields."""
    mean, variance = moments(distribution)
    return {
        **number_fields("block_efficiency", mean),
        **number_fields("variance", variance),
        "depth_distribution": [float(mass) for mass in distribution],
    }


#: Libraries with solvers, and their modules, where they are installed.
SOLVERS = {"scipy": "scipy", "highspy": "highspy", "z3-solver": "z3"}


@cache
def _ours() -> str:
    """A digest of our own code and of the libraries that it computes with."""
    solvers = {name: version(name) for name in SOLVERS if find_spec(SOLVERS[name])}
    return hashlib.sha256(f"{own_digest()} {json.dumps({**versions(), **solvers})}".encode()).hexdigest()[:16]


def code_fields(outside: bool = True) -> dict[str, dict[str, str]]:
    """The field of a row that says by which code it was computed. outside: whether code of others took part."""
    return {CODE: {OURS: _ours(), **(outside_files() if outside else {})}}


def of_this_code(row: Mapping[str, Any], loaded: Mapping[str, str]) -> bool:
    """Whether a row was computed by the code that would compute it now. loaded: `outside_files` of this process."""
    code = row.get(CODE)
    if not isinstance(code, dict) or code.get(OURS) != _ours():
        return False
    files = {path: digest for path, digest in code.items() if path != OURS}
    return not files or unchanged(files, loaded)


#: The field of a row with the code that it was computed by, and what stands there for ours.
CODE, OURS = "computed_by", "draftproof"
FORMAT = "draftproof rows 1"
#: Bad lines that are named one by one.
NAMED = 3
#: Where in the file, far beyond its end, each row has the byte by whose lock a run says that it computes that row.
_CLAIMS = 2**40


class RowFile:
    """A file of rows, one JSON object a line after a header, appended to as they are computed.

    Only a file that begins with the header is opened, and nothing in it is ever changed or removed: a line that is no
    row or does not match its digest, such as one cut short by a crash, is named, and its row computed again. A line
    whose digest matches and that is no row of its kind is refused.
    Several runs can share one file: each computes what no other does, and sees what the others have added.
    """

    def __init__(
        self, path: str | None, kinds: Collection[str] = (), any_code: bool = False, write: bool = True
    ) -> None:
        """kinds: of rows that are wanted; all by default. any_code: also rows that other code has computed."""
        self._path = Path(path) if path else None
        self._kinds, self._any_code, self._write = kinds, any_code, write
        self.rows: dict[str, dict[str, Any]] = {}
        self._descriptor: int | None = None
        self._read_to = self._lines = self._bad = self._of_other_code = 0
        if self._path is not None and (not write or os.path.lexists(self._path)):
            self._open()
            self.refresh()

    def add(self, row: dict[str, Any], outside: bool = True) -> None:
        """Keep a row, on disk at once if there is a file; raises `InvalidInput` where that cannot be done.

        outside: whether it depends on code of others, if any is loaded.
        """
        self.rows[row["strong_id"]] = row
        if self._path is None:
            return
        whole = {**row, **code_fields(outside)}
        text = json.dumps({**whole, "digest": _digest(whole)}) + "\n"
        descriptor = self._open()
        try:
            with _locked(descriptor, 0):
                size = os.fstat(descriptor).st_size
                header = json.dumps({"format": FORMAT, "version": version("draftproof")}) + "\n" if size == 0 else ""
                cut_short = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                _write(descriptor, ("\n" * cut_short + header + text).encode(), size)
        except OSError as error:
            raise InvalidInput(
                f"cannot write {cut(self._path)}: {error.strerror}; the rows before are kept, make room and run again"
            ) from None

    def claim(self, strong_id: str) -> str:
        """`there` for a row that is kept, `theirs` for one that another run is computing now, else `ours` from now on.

        A claim ends with the process that made it.
        """
        if self._path is None:
            return "there" if strong_id in self.rows else "ours"
        ours = lock_byte(self._open(), _CLAIMS + int(strong_id[:10], 16))
        self.refresh()  # after the claim: whoever had it before has written by now
        if strong_id in self.rows:
            return "there"
        return "ours" if ours else "theirs"

    def refresh(self) -> None:
        """Take in what other runs have added."""
        if self._descriptor is None:
            return
        size = os.fstat(self._descriptor).st_size
        data = b""
        while len(data) < size - self._read_to:
            data += os.pread(self._descriptor, size - self._read_to - len(data), self._read_to + len(data))
        *lines, rest = data.split(b"\n")
        if rest and self._row(rest, self._lines + len(lines) + 1) is not None:  # whole but for its end
            lines, rest = [*lines, rest], b""
        first, loaded = self._lines == 0, outside_files()
        self._read_to = size - len(rest)
        for line in lines:
            self._lines += 1
            self._take(line, loaded)
        if rest and first:
            self._name(self._lines + 1)
        if first and self._bad > NAMED:
            remark(f"{cut(self._path)}: {self._bad - NAMED:,} more lines like that")
        if first and self._of_other_code:
            remark(f"{cut(self._path)}: {counted(self._of_other_code, 'row')} of other code or libraries are not taken")

    def _take(self, line: bytes, loaded: Mapping[str, str]) -> None:
        if not line or self._lines == 1:  # the header was looked at when the file was opened
            return
        row = self._row(line, self._lines)
        if row is None:
            if FORMAT.encode() not in line:  # a second header, of a run that began at the same time
                self._name(self._lines)
        elif not self._any_code and not of_this_code(row, loaded):
            self._of_other_code += 1
        elif not self._kinds or row.get("kind") in self._kinds:
            self.rows[row["strong_id"]] = {key: value for key, value in row.items() if key != CODE}

    def _row(self, line: bytes, number: int) -> dict[str, Any] | None:
        try:
            row = _whole(line)
            return None if row is None else check_row(row)
        except InvalidInput as error:
            raise InvalidInput(f"{cut(self._path)} line {number}: {error}; take that line out") from None

    def _name(self, number: int) -> None:
        self._bad += 1
        if self._bad <= NAMED:
            remark(
                f"{cut(self._path)} line {number} is cut short or was changed: its digest does not match; "
                "its row is computed again"
            )

    def _open(self) -> int:
        if self._descriptor is None:
            assert self._path is not None
            self._descriptor = _opened(self._path, self._write)
            finalize(self, os.close, self._descriptor)
        return self._descriptor


def _whole(line: bytes) -> dict[str, Any] | None:
    """What a line holds; None where it is none of JSON, or its digest does not match. Raises `InvalidInput`."""
    try:
        row = parse_json(line.decode("utf-8"), "row")
    except UnicodeDecodeError:
        return None
    except InvalidInput as error:
        if isinstance(error.__context__, json.JSONDecodeError):
            return None
        raise
    if not isinstance(row, dict) or "digest" not in row:
        return None
    check_depth(row)
    stated = row.pop("digest")
    return row if stated == _digest(row) else None


def check_rows(path: str | None) -> None:
    """Raises `InvalidInput` for what is there and is no file of rows; says nothing of its lines."""
    if path and os.path.lexists(path):
        os.close(_opened(Path(path)))


def _opened(path: Path, write: bool = True) -> int:
    how = os.O_RDWR | os.O_APPEND | os.O_CREAT if write else os.O_RDONLY
    descriptor = None
    try:
        descriptor = os.open(path, how | os.O_NONBLOCK, 0o666)
        found = os.fstat(descriptor)
        start = os.pread(descriptor, 4096, 0) if stat.S_ISREG(found.st_mode) else b"?"
        if not _is_header(start.split(b"\n")[0], whole=b"\n" in start):
            raise InvalidInput(f"{cut(path)} is no file of rows (line 1 does not say so); choose another file")
        check_size(found.st_size, "file of rows", path)
    except (OSError, ValueError) as error:
        if descriptor is not None:
            os.close(descriptor)
        if isinstance(error, InvalidInput):
            raise
        reason, wanted = getattr(error, "strerror", None) or error, "written" if write else "read"
        raise InvalidInput(f"cannot open {cut(path)} for rows: {reason}; choose a file that can be {wanted}") from None
    return descriptor


def _is_header(line: bytes, whole: bool) -> bool:
    """Whether a file may begin so; a header that was cut short, with rows after it or not, is one of ours, too."""
    if not line:
        return not whole
    beginning = json.dumps({"format": FORMAT}).encode()[:-1]
    return len(line) > len(b'{"format": "draftproof') and beginning.startswith(line[: len(beginning)])


def _digest(row: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]


def _write(descriptor: int, data: bytes, size: int) -> None:
    """Append all or nothing to a file of so many bytes: what came of it before an error is taken back."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        if os.fstat(descriptor).st_size == size + written:  # else somebody has written after it
            os.ftruncate(descriptor, size)
        raise


def open_locks(path: str) -> int:
    """A file beside another, for locks of its bytes alone; raises `InvalidInput` where it cannot be made."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InvalidInput(f"cannot open {cut(path)}: {error.strerror}; choose a folder that can be written") from None


def lock_byte(descriptor: int, place: int) -> bool:
    """Whether this process now has the lock of one byte, or had it before; it ends with the process."""
    if fcntl is None:
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # a file system without locks cannot share
    return True


@contextmanager
def _locked(descriptor: int, place: int) -> Iterator[None]:
    """The lock of one byte, waited for; nothing where the system has none."""
    if fcntl is None:
        yield
        return
    with suppress(OSError):
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, place)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)
