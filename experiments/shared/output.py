"""Files that are written in one step, and the formats of numbers and texts in them."""

import json
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from draftproof.experiments.runtime import placed, temporary
from draftproof.simulator.errors import InvalidInput


def _utf8(text: str) -> bytes:
    """The text in UTF-8. Bytes of file names that the locale could not decode are kept where they are UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step: an interrupted run leaves the old file as it was. Raises `InvalidInput`."""
    path = placed(path).resolve()  # writes to the file that a link points to
    data = _utf8(content) if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has no old content to keep
            path.write_bytes(data)
            return
        with temporary(path.parent, path.name) as new:
            new.write_bytes(data)
            umask = os.umask(0)
            os.umask(umask)
            new.chmod(0o666 & ~umask)
            os.replace(new, path)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path}: {error.strerror}; choose a folder that exists and is writable"
        ) from None


def check_files(inputs: Any, outputs: Mapping[str, str | None]) -> None:
    """Checks the files of a command before its work.

    inputs: texts that may name files that are read, as `FILE.py:NAME` or `text:FILE,vocab=4`, and lists of them.
    outputs: path by flag. Raises `InvalidInput` for a path that cannot be written, and for one that is an input or
    another output as well.
    """
    taken = {os.path.realpath(path): path for path in _parts(inputs)}
    for flag, path in outputs.items():
        if path is None:
            continue
        if path == "-":
            raise InvalidInput(f"{flag} - is no file: give it a name; --json writes to stdout")
        resolved = os.path.realpath(path)
        folder = Path(resolved).parent
        if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(resolved).is_dir():
            raise InvalidInput(f"cannot write {flag} {path}: choose a file in a folder that exists and is writable")
        if resolved in taken:
            raise InvalidInput(f"{flag} {path} is also {taken[resolved]}; give every file its own name")
        taken[resolved] = f"{flag} {path}"


def _parts(values: Any) -> list[str]:
    """The texts among values, and in lists of them, and every part of these that may name a file."""
    if isinstance(values, str):
        return [part for part in (values, *re.split("[:,=]", values)) if part and "\0" not in part]
    return [part for value in values for part in _parts(value)] if isinstance(values, (list, tuple)) else []


def printable_json(text: str) -> str:
    """The same JSON with escapes for unprintable characters, which can only be in strings."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)


#: Numbers in rows; and the characters at which a spreadsheet takes a text for a formula.
_NUMBER, _FORMULA = re.compile(r"[-+]?\d[\d./]*([eE][-+]?\d+)?"), ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """A value for a cell of CSV: a text that a spreadsheet would take for a formula gets a leading quote."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def number_fields(name: str, value: Fraction | float | None) -> dict[str, Any]:
    """Two fields of a row: `NAME`, an exact value as `"91/36"`, and `NAME_float`; a float is the value of both."""
    if value is None:
        return {name: None, f"{name}_float": None}
    return {name: str(value) if isinstance(value, Fraction) else value, f"{name}_float": float(value)}


#: From this many digits on, `short` shows a fraction of moderate length beside the rounded number.
EXACT_DIGITS = 6


def short(value: Fraction | float, digits: int = 5) -> str:
    """A number for a table cell: a short fraction as it is, anything else rounded."""
    if isinstance(value, Fraction) and len(str(value)) <= digits + 2:
        return str(value)
    if isinstance(value, Fraction) and value != 0 and len(str(value)) <= 24 and digits >= EXACT_DIGITS:
        return f"{value} = {float(value):.{digits}f}"
    if value != 0 and abs(value) < 10**-digits:
        return f"{float(value):.1e}"
    return f"{float(value):.{digits}f}"
