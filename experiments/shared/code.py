"""What a result was computed by: a digest of all the code that it depends on, found by following imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("simulator/", "verifiers/", "lp_analysis/", "experiments/")


def code_digest(modules: Iterable[str]) -> str:
    """A digest of these modules, as paths from the root, and of all of ours that they import."""
    files = sorted(set[Path]().union(*(_closure(module) for module in modules)))
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


def neighbours_digest(file: str) -> str:
    """A digest of somebody's file and of everything loaded from its folder and below."""
    folder = Path(file).resolve().parent
    loaded = {Path(file).resolve()}
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None)
        if source and Path(source).resolve().is_relative_to(folder) and Path(source).is_file():
            loaded.add(Path(source).resolve())
    total = hashlib.sha256()
    for each in sorted(loaded):
        total.update(each.read_bytes())
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
