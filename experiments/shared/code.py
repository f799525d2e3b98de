"""Digests of the code that computes a result: draftproof's own, and loaded user-defined files.

A stored row has both (`draftproof.experiments.grid.store`) and is used only while both are unchanged. Data files that
user-defined code reads are not tracked.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.origins import is_trusted

T = TypeVar("T")
#: A text that names a Python file, or something in one.
PYTHON_FILE = re.compile(r"\.py(:|$)")
#: The folder that contains `ROOMS`: the checkout, or the installed package.
ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("simulator/", "verifiers/", "lp_analysis/", "experiments/")
#: Kinds of draftproof's own files that a result can depend on.
_SOURCES = (".py", ".npz", ".json", ".toml")
#: The modules of the running program, which contain no verifier.
_PROGRAM = ("__main__", "__mp_main__")


@cache
def own_digest() -> str:
    """A digest of all of draftproof's sources, computed once a process."""
    total = hashlib.sha256()
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            if file.suffix in _SOURCES and file.is_file():
                total.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


#: Digests of the user-defined files that this process uses, by path, from the time when they were loaded.
_used: dict[str, str] = {}


def track_files(file: Path) -> None:
    """Record a user-defined file that is about to be executed, and from then on others that are executed or read."""
    _notice_executed()
    path = str(file.resolve())
    _used[path] = file_digest(path)


@cache
def _notice_executed() -> None:
    sys.addaudithook(_note_executed)


def _note_executed(event: str, arguments: tuple[Any, ...]) -> None:
    """Record the file of code that is executed without an import, and a Python file that is opened."""
    if not _used or event not in ("exec", "open") or not arguments:
        return
    source = getattr(arguments[0], "co_filename", None) if event == "exec" else arguments[0]
    if isinstance(source, (str, Path)) and str(source).endswith(".py") and os.path.isfile(source):
        path = _outside(os.path.abspath(source))
        if path is not None and path not in _used and not path.startswith(tuple(f"{ROOT}/{room}" for room in ROOMS)):
            _used[path] = ""  # computing the digest opens the file, which is an event, too
            _used[path] = file_digest(path)


def outside_files() -> dict[str, str]:
    """Digests, by path, of all loaded files that are not draftproof's, not the standard library's and not installed.

    Empty where no user-defined file was named.
    """
    if _used:
        for name, module in list(sys.modules.items()):
            source = getattr(module, "__dict__", {}).get("__file__")  # getattr on some modules imports more
            path = _outside(source) if isinstance(source, str) and name not in _PROGRAM else None
            if path is not None and path not in _used:
                _used[path] = file_digest(path)
    return dict(_used)


def add_used(files: Mapping[str, str]) -> None:
    """Record files that another process used for this one; raises `InvalidInput` for one that has changed meanwhile."""
    for path, digest in files.items():
        if _used.setdefault(path, digest) != digest:
            raise InvalidInput(f"{cut(path)} was changed while this run used it; run again: rows so far are kept")


def with_used_files(work: Callable[..., T], *call: Any) -> tuple[T, dict[str, str]]:
    """The result of `work(*call)`, and the user-defined files that its process uses, for `add_used`."""
    return work(*call), outside_files()


def unchanged(files: Mapping[str, str], loaded: Mapping[str, str]) -> bool:
    """Whether these files have these digests, and no other file is loaded now. loaded: from `outside_files`."""
    return loaded.keys() <= files.keys() and all(
        (loaded[path] if path in loaded else file_digest(path)) == digest for path, digest in files.items()
    )


def file_digest(path: str) -> str:
    """A digest of a file as it is now; "" for no file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return ""
    return _digest_at(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=4096)
def _digest_at(path: str, *state: int) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


@cache
def _outside(source: str) -> str | None:
    """The file, or archive, that a module is read from; None for draftproof's own and installed ones."""
    path = Path(source).resolve()
    if is_trusted(source) or is_trusted(str(path)):
        return None
    return next((str(place) for place in (path, *path.parents) if place.is_file()), None)
