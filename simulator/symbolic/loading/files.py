"""Import of an audited file, with recording functions in place of random generators."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.origins import HOME, is_user_code
from draftproof.simulator.symbolic import patches
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, plain
from draftproof.simulator.symbolic.decide.session import current, suspended
from draftproof.simulator.symbolic.loading import unfollowed
from draftproof.simulator.symbolic.numbers.seeds import Seed
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.sources import numpy as numpy_random
from draftproof.simulator.symbolic.sources import python as python_random
from draftproof.simulator.symbolic.where import type_refused

_HOOK = "_draftproof_called"


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file; torch and what `unfollowed` names are imported if the file imports them
    and they are installed.

    Functions of numpy may not be replaced yet: these packages register theirs when they are first imported.

    Raises `InvalidInput` for what is no Python file.
    """
    if not file.is_file():
        raise InvalidInput(f"no file {file}; give the function as FILE.py:FUNCTION")
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise InvalidInput(f"{file} is no Python: {error}") from None
    for package in ("torch", *unfollowed.LIBRARIES):  # also where only the function imports it
        if _imports(tree, package):
            _try_import(package)
    if _imports(tree, "triton"):  # kernels run in its interpreter, which must be asked for before it is first imported
        os.environ.setdefault("TRITON_INTERPRET", "1")
        _try_import("torch")
        _try_import("triton")
    return tree


def load_module(file: Path) -> types.ModuleType:
    """The whole file. Raises `InvalidInput`, and `ImportError` where a package is not installed."""
    tree = parsed(file)
    if _imports(tree, "triton"):
        _assert_interpreted(file)
    module = module_of(file)
    folder = str(file.parent.resolve())
    if folder not in _folders:
        _folders.insert(0, folder)
    try:
        with imports_followed():
            _execute(tree, file, module)
    except (ImportError, InvalidInput):
        del sys.modules[module.__name__]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise InvalidInput(f"{file} cannot be used: {type(error).__name__}: {error}") from error
    return module


class _RecordedLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of user code with the hooks of `recorded`; nothing of it is cached in a file."""

    def exec_module(self, module: types.ModuleType) -> None:
        file = Path(self.path)
        with patches.lifted():
            tree = parsed(file)
        module.__dict__.update(HOOKED)
        _execute(tree, file, module)


def _execute(tree: ast.Module, file: Path, module: types.ModuleType) -> None:
    code = compile(recorded(tree), str(file), "exec", dont_inherit=True)
    with patches.applied(keep=True), _apart():
        exec(code, module.__dict__)


class _LibraryLoader:
    """Loads a module of a library while nothing is replaced."""

    def __init__(self, spec: Any) -> None:
        self._spec, self._loader = spec, spec.loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        with patches.lifted(), _apart():
            return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self._spec.loader = module.__loader__ = self._loader
        with patches.lifted(), _apart():
            self._loader.exec_module(module)


#: The files of modules that have names of their own, and the places where a package has its modules.
FILES: dict[str, tuple[str | None, list[str] | None]] = {}
#: The folders of audited files: as Python does for a script, their neighbours can be imported.
_folders: list[str] = []


class _Finder:
    """Finds modules of user code, which get a `_RecordedLoader`, and modules of libraries, which get the other one."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        spec = self._spec(fullname, path, target)
        if type(getattr(spec, "loader", None)) is importlib.machinery.SourceFileLoader and is_theirs(spec.origin):
            spec.loader = _RecordedLoader(fullname, spec.origin)
        elif hasattr(spec, "loader") and hasattr(spec.loader, "exec_module") and patches.in_place():
            spec.loader = _LibraryLoader(spec)
        return spec

    def _spec(self, fullname: str, path: Any, target: Any) -> Any:
        if fullname in FILES:
            file, places = FILES[fullname]
            if file is not None:
                return importlib.util.spec_from_file_location(fullname, file, submodule_search_locations=places)
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = places or []
            return spec
        beside = importlib.machinery.PathFinder.find_spec(fullname, _folders, target) if path is None else None
        if beside is not None and beside.loader is not None:
            return beside
        others: Any = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        return next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)


_FINDER: Any = _Finder()


def is_theirs(file: str | None) -> bool:
    """Whether a module of this file is user code: neither installed nor of draftproof."""
    return is_user_code(file) and not str(file).startswith(HOME)


@contextmanager
def imports_followed() -> Iterator[None]:
    """Within it modules of user code are loaded as audited files are, and those of libraries as ever."""
    if _FINDER in sys.meta_path:
        yield
        return
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)


@contextmanager
def _apart() -> Iterator[None]:
    """Within it a module that is imported in a call draws for itself."""
    if current() is None:
        yield
        return
    states = [(put, get()) for get, put in (python_random.STATE, numpy_random.STATE)]
    try:
        with suspended():
            yield
    finally:
        for put, state in states:
            put(state)


def recorded(tree: ast.Module) -> ast.Module:
    """The syntax tree with hooks for symbols in the calls of `float`, `int` and `type`."""
    return ast.fix_missing_locations(_Hooks().visit(tree))  # type: ignore[no-any-return]


def module_of(file: Path) -> types.ModuleType:
    """An empty module for a file, with the hooks that `recorded` puts into its source."""
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    module = types.ModuleType(f"draftproof_audited_{digest}_{file.stem}")
    module.__file__ = str(file)
    module.__dict__.update(HOOKED)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    return module


def _imports(tree: ast.AST, package: str) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == package for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            return True
    return False


def _assert_interpreted(file: Path) -> None:
    if "triton" not in sys.modules:
        raise InvalidInput(f"{file} has Triton kernels; install it with: pip install 'draftproof[kernels]'")
    if os.environ["TRITON_INTERPRET"] != "1" or type(sys.modules["triton.language"].rand).__name__ == "JITFunction":
        raise InvalidInput(
            f"{file} has Triton kernels, and triton was imported without its interpreter; set TRITON_INTERPRET=1"
        )


def _try_import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return  # the file will say so itself, where it needs it


class _Hooks(ast.NodeTransformer):
    """Rewrites `float(x)`, `int(x)` and `type(x)` as `_draftproof_called(float, x)`: the file may define `float`."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        hooked = isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "type")
        if not hooked or node.keywords or len(node.args) != 1:
            return node
        name = ast.copy_location(ast.Name(_HOOK, ast.Load()), node.func)
        return ast.copy_location(ast.Call(name, [node.func, *node.args], []), node)


def called(function: Any, value: Any) -> Any:
    """`function(value)`, but `float` keeps a symbol and `int` a seed as they are, and `type` refuses both.

    The symbol may also be in a tensor or an array of one element.
    """
    if function is type and isinstance(value, (Symbol, SymbolicArray)):
        raise type_refused()
    if function is float and isinstance(single := _single(value), Symbol):
        return single.as_python_float()
    if function is int and isinstance(single := _single(value), Seed):
        return single
    return function(value)


def _single(value: Any) -> Any:
    """The one number of a tensor or an array of random numbers; any other value as it is."""
    session = current()
    if session is not None and session.tensors is not None and session.tensors.is_random(value):
        return session.tensors.item(value)
    return plain(value).ravel()[0] if isinstance(value, SymbolicArray) and value.size == 1 else value


#: The hook by the name under which `recorded` calls it.
HOOKED = {_HOOK: called}
