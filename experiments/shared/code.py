"""The code that a result was computed by: ours, and the files of others that are loaded and are no installed package.

A row of results keeps both (`draftproof.experiments.grid.rows`) and is believed only while both are as they were.
Files of data that somebody's code reads cannot be followed.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut
from draftproof.simulator.origins import is_trusted

T = TypeVar("T")
#: A text that names a Python file, or something in one.
PYTHON_FILE = re.compile(r"\.py(:|$)")
#: The folder of our rooms: of the checkout, or of the installed package.
ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("simulator/", "verifiers/", "lp_analysis/", "experiments/")
#: Files of ours that a result can depend on.
_SOURCES = (".py", ".npz", ".json", ".toml")
#: Modules that no verifier is in: the program itself.
_PROGRAM = ("__main__", "__mp_main__")


@cache
def own_digest() -> str:
    """A digest of all of our sources, as they were when it was first asked for."""
    total = hashlib.sha256()
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            if file.suffix in _SOURCES and file.is_file():
                total.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


#: Digests of the files of others that this process uses, by path, as they were when they were loaded.
_used: dict[str, str] = {}


def note(file: Path) -> None:
    """A file of somebody else is executed now, by name; from here on others that are executed or read are noted."""
    _notice_executed()
    path = str(file.resolve())
    _used[path] = file_digest(path)


@cache
def _notice_executed() -> None:
    sys.addaudithook(_note_executed)


def _note_executed(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep the file of code that is executed without an import, and a Python file that is opened."""
    if not _used or event not in ("exec", "open") or not arguments:
        return
    source = getattr(arguments[0], "co_filename", None) if event == "exec" else arguments[0]
    if isinstance(source, (str, Path)) and str(source).endswith(".py") and os.path.isfile(source):
        path = _outside(os.path.abspath(source))
        if path is not None and path not in _used and not path.startswith(tuple(f"{ROOT}/{room}" for room in ROOMS)):
            _used[path] = ""  # reading the file is an event, too
            _used[path] = file_digest(path)


def outside_files() -> dict[str, str]:
    """Digests, by path, of all loaded files that are neither ours nor the standard library's nor installed.

    Empty where no file was named that is executed: then nothing but ours computes.
    """
    if _used:
        for name, module in list(sys.modules.items()):
            source = getattr(module, "__dict__", {}).get("__file__")  # some modules import more when they are asked
            path = _outside(source) if isinstance(source, str) and name not in _PROGRAM else None
            if path is not None and path not in _used:
                _used[path] = file_digest(path)
    return dict(_used)


def add_used(files: Mapping[str, str]) -> None:
    """Files that another process used for this one; raises `InvalidInput` for one that was changed in between."""
    for path, digest in files.items():
        if _used.setdefault(path, digest) != digest:
            raise InvalidInput(f"{cut(path)} was changed while this run used it; run again: rows so far are kept")


def with_files(work: Callable[..., T], *call: Any) -> tuple[T, dict[str, str]]:
    """What `work(*call)` returns, with the files that its process uses, for `add_used`."""
    return work(*call), outside_files()


def unchanged(files: Mapping[str, str], loaded: Mapping[str, str]) -> bool:
    """Whether these files are as they were, and nothing else is loaded now. loaded: of `outside_files`."""
    return loaded.keys() <= files.keys() and all(
        (loaded[path] if path in loaded else file_digest(path)) == digest for path, digest in files.items()
    )


def file_digest(path: str) -> str:
    """A digest of a file as it is now; "" where there is none."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ""
    return _digest_at(path, found.st_mtime_ns, found.st_size, found.st_ino)


@lru_cache(maxsize=4096)
def _digest_at(path: str, *state: int) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


@cache
def _outside(source: str) -> str | None:
    """The file that a module is read from, an archive for those in one; None for ours and for what is installed."""
    path = Path(source).resolve()
    if is_trusted(source) or is_trusted(str(path)):
        return None
    return next((str(each) for each in (path, *path.parents) if each.is_file()), None)


def code_digest(modules: Iterable[str]) -> str:
    """A digest of these modules, as paths from the root, and of all of ours that they import."""
    files = sorted(set[Path]().union(*(_closure(module) for module in modules)))
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


@cache
def _closure(module: str) -> frozenset[Path]:
    """The files of a module and of all that it imports; not those of packages on the way, which only list things."""
    found: set[Path] = set()
    waiting = [_file(module)]
    while waiting:
        file = waiting.pop()
        if file is not None and file not in found:
            found.add(file)
            waiting += map(_file, _imports(file))
    return frozenset(found)


def _file(name: str) -> Path | None:
    """The file of a module, by its path from the root; None for what is not ours, or is no module."""
    name = name.removeprefix("draftproof/")
    base = ROOT / name
    files = (base.with_suffix(".py"), base / "__init__.py") if name.startswith(ROOMS) or f"{name}/" in ROOMS else ()
    return next((file for file in files if file.is_file()), None)


@cache
def _imports(file: Path) -> frozenset[str]:
    names: set[str] = set()
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []  # runs nowhere
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(name.replace(".", "/") for name in names)
