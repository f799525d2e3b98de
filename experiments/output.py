"""Files that are complete or not there, and numbers as programs and people read them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from simulator.errors import InvalidInput


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step: an interrupted run leaves the old file as it was. Raises `InvalidInput`."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path}: {error.strerror}; choose a folder that exists and is writable"
        ) from None


def check_writable(*paths: str | None) -> None:
    """Fail before the work, not after it: raises `InvalidInput` for a path that cannot be written."""
    for path in paths:
        if path is None or path == "-":
            continue
        folder = Path(path).parent
        if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(path).is_dir():
            raise InvalidInput(f"cannot write {path}: choose a file in a folder that exists and is writable")


def write_json(target: str | None, fields: Any) -> None:
    """JSON to a file, or to stdout for `-`; None writes nothing."""
    if target is None:
        return
    text = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_whole(target, text)


def number_fields(name: str, value: Fraction | float | None) -> dict[str, Any]:
    """An exact value as `"91/36"` with its float beside it under `NAME_float`; floats stand under both."""
    if value is None:
        return {name: None, f"{name}_float": None}
    return {name: str(value) if isinstance(value, Fraction) else value, f"{name}_float": float(value)}


def short(value: Fraction | float, digits: int = 5) -> str:
    """A number for a table cell: a short fraction as it is, anything else rounded."""
    if isinstance(value, Fraction) and len(str(value)) <= digits + 2:
        return str(value)
    if value != 0 and abs(value) < 10**-digits:
        return f"{float(value):.1e}"
    return f"{float(value):.{digits}f}"
