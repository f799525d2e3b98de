"""Temporary files and folders; what a killed run left of them is removed by the next run that makes one of that name.

A run holds a lock on what it is writing. Nobody holds one on what is left over.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without locks: nothing can be told to be left over
    fcntl = None  # type: ignore[assignment]

#: The end of every name, and how `tempfile` makes its middle.
_END, _MIDDLE = ".part", r"[a-z0-9_]{8}"
#: Characters of the wanted name that the temporary one begins with: file systems have a longest name.
_BEGINNING = 50


@contextmanager
def temporary(place: Path, name: str, folder: bool = False) -> Iterator[Path]:
    """A new empty file or folder in `place`, named after `name`; removed at the end if it is still there then.

    Those of earlier runs that were killed are removed first. Raises `OSError`.
    """
    prefix = f".{name[:_BEGINNING]}."
    _sweep(place, prefix)
    path, descriptor = _new(place, prefix, folder)
    try:
        yield path
    finally:
        _remove(path)
        os.close(descriptor)


def _new(place: Path, prefix: str, folder: bool) -> tuple[Path, int]:
    """A path and the descriptor that holds its lock."""
    while True:
        if folder:
            path = Path(tempfile.mkdtemp(_END, prefix, place))
        else:
            handle, made = tempfile.mkstemp(_END, prefix, place)
            os.close(handle)
            path = Path(made)
        with suppress(FileNotFoundError):  # another run took it for a remainder before it was locked
            descriptor = os.open(path, os.O_RDONLY)
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks keeps remainders
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _sweep(place: Path, prefix: str) -> None:
    """Remove what nobody holds."""
    known = re.compile(re.escape(prefix) + _MIDDLE + re.escape(_END))
    with suppress(OSError):
        for name in os.listdir(place):
            if known.fullmatch(name) and fcntl is not None:
                with suppress(OSError):
                    _remove_unheld(place / name)


def _remove_unheld(path: Path) -> None:
    """Raises `OSError` where somebody holds it, or it is another user's."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.getuid():
            _remove(path)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
