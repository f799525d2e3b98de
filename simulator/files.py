"""Files from outside, read whole: regular files of a bounded size, and JSON with numbers of bounded length.

A pipe without a writer, a device without an end and a number of a million digits are told apart from input here.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import InvalidInput, cut

#: Bytes of a file at most, unless more is allowed.
MOST_BYTES = 64 * 2**20
#: Digits of a whole number in JSON at most; longer exact numbers are written as text.
MOST_DIGITS = 4_000

_allowed = MOST_BYTES


def allow(size: int) -> None:
    """Read files of up to so many bytes from now on."""
    global _allowed  # noqa: PLW0603 - one limit for the life of the process, set once on the command line
    _allowed = size


def check_size(size: int, what: str, path: str | Path) -> None:
    """Raises `InvalidInput` for a file of more bytes than are read."""
    if size > _allowed:
        raise InvalidInput(f"{what} {cut(path)} has {size:,} bytes, more than {_allowed:,}; allow larger files")


def read_bytes(path: str | Path, what: str) -> bytes:
    """The content of a regular file; what: how messages call it. Raises `InvalidInput`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {what} {cut(path)}: {getattr(error, 'strerror', None) or error}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise InvalidInput(f"cannot read {what} {cut(path)}: it is no regular file; save it as one first")
    with os.fdopen(descriptor, "rb") as file:
        check_size(status.st_size, what, path)
        return file.read(_allowed + 1)


def read_text(path: str | Path, what: str) -> str:
    """`read_bytes` as UTF-8."""
    try:
        return read_bytes(path, what).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"cannot read {what} {cut(path)}: it is not text in UTF-8") from None


def parse_json(text: str, what: str, **hooks: Callable[[Any], Any]) -> Any:
    """JSON from outside; hooks: those of `json.loads`. Raises `InvalidInput` for whatever is none."""
    try:
        return json.loads(text, parse_int=_whole, **hooks)  # type: ignore[arg-type]
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{what} is not JSON: {error.msg} at line {error.lineno}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from None
    except ValueError as error:
        raise InvalidInput(f"{what} cannot be read: {cut(error)}") from None
    except RecursionError:
        raise InvalidInput(f"{what} is nested too deeply; nothing in it needs more than a few levels") from None


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise InvalidInput(f"a whole number has too many digits ({len(text):,}, at most {MOST_DIGITS:,})")
    return int(text)
