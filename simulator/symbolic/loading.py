"""Import of an audited file, with recording functions in place of random generators."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.origins import is_user_code
from draftproof.simulator.symbolic import patches, unfollowed
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, plain
from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.numbers.seeds import Seed
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import type_refused

_FLOAT, _INT, _TYPE = "_draftproof_float", "_draftproof_int", "_draftproof_type"


def load(path: str | Path, name: str) -> Callable[..., Any]:
    """The attribute `name` of the Python file, imported under recording functions and generators.

    Names that the file binds while it is imported (`from random import random`, a generator of the module) are
    recording ones; outside of `intercepted` they behave as the originals. In this file `float(x)` of a symbol is the
    symbol, and `type(x)` of one is refused.
    Raises `InvalidInput` if the file or the name is missing or the import fails.
    """
    file = Path(path)
    try:
        module = load_module(file)
    except ImportError as error:
        raise InvalidInput(f"{file} cannot be used: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise InvalidInput(f"{file} has no function {name!r}; it has {functions_of(module)}")
    return function  # type: ignore[no-any-return]


def functions_of(module: types.ModuleType) -> str:
    """The public names that a file defines, as text for errors."""
    own = (key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return ", ".join(key for key in own if not key.startswith("_")) or "none"


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
    return tree


def load_module(file: Path) -> types.ModuleType:
    """The whole file, see `load`. Raises `InvalidInput`, and `ImportError` where a package is not installed."""
    tree = parsed(file)
    folder = str(file.parent.resolve())
    if _imports(tree, "triton"):
        _interpret_triton(file)
    module = module_of(file)
    sys.path.insert(0, folder)  # as Python does for a script: its neighbours can be imported
    try:
        with patches.applied(), _recorded_imports():
            exec(compile(recorded(tree), str(file), "exec"), module.__dict__)
    except ImportError:
        del sys.modules[module.__name__]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise InvalidInput(f"{file} cannot be used: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    return module


class _RecordedLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of user code with the hooks of `recorded`; nothing of it is cached in a file."""

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.path)
        return compile(recorded(ast.parse(source, self.path)), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(_HOOKED)
        super().exec_module(module)


class _RecordedFinder:
    """Finds modules of user code, which get a `_RecordedLoader`."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not is_user_code(spec.origin):
            return None
        spec.loader = _RecordedLoader(fullname, spec.origin or "")
        return spec


@contextmanager
def _recorded_imports() -> Iterator[None]:
    """Within it modules of user code are loaded as the file is that imports them."""
    finder: Any = _RecordedFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def recorded(tree: ast.Module) -> ast.Module:
    """The syntax tree with hooks for symbols in the calls of `float`, `int` and `type`."""
    return ast.fix_missing_locations(_Floats().visit(tree))  # type: ignore[no-any-return]


def module_of(file: Path) -> types.ModuleType:
    """An empty module for a file, with the hooks that `recorded` puts into its source."""
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    module = types.ModuleType(f"draftproof_audited_{digest}_{file.stem}")
    module.__file__ = str(file)
    module.__dict__.update(_HOOKED)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    return module


def _imports(tree: ast.AST, package: str) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == package for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            return True
    return False


def _interpret_triton(file: Path) -> None:
    """Have kernels run in Triton's interpreter, which must be asked for before triton is first imported."""
    os.environ.setdefault("TRITON_INTERPRET", "1")
    _try_import("torch")
    _try_import("triton")
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


#: The hook in place of a call of this function with so many arguments.
_HOOKS = {("float", 1): _FLOAT, ("int", 1): _INT, ("type", 1): _TYPE}


class _Floats(ast.NodeTransformer):
    """Rewrites `float(x)` as `_draftproof_float(float, x)`, since the file may define `float`; `int` and `type`
    likewise.
    """

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and not node.keywords:
            hook = _HOOKS.get((node.func.id, len(node.args)))
            return node if hook is None else _through(hook, node)
        return node


def _through(hook: str, node: ast.Call) -> ast.Call:
    name = ast.copy_location(ast.Name(hook, ast.Load()), node.func)
    return ast.copy_location(ast.Call(name, [node.func, *node.args], []), node)


def type_of(ask: Any, value: Any) -> Any:
    """`ask(value)`; where `ask` is `type`, that of a symbol is refused."""
    if ask is type and isinstance(value, (Symbol, SymbolicArray)):
        raise type_refused()
    return ask(value)


def keep_seed(convert: Any, value: Any) -> Any:
    """`convert(value)`; where `convert` is `int`, a seed (also in a tensor of one element) stays as it is."""
    session = current()
    if convert is int and session is not None:
        single = value
        if session.tensors is not None and session.tensors.is_random(value):
            single = session.tensors.item(value)
        elif isinstance(value, SymbolicArray) and value.size == 1:
            single = plain(value).ravel()[0]
        if isinstance(single, Seed):
            return single
    return convert(value)


def keep_random(convert: Any, value: Any) -> Any:
    """`convert(value)`; where `convert` is `float`, a symbol (also in an array of one element) stays as it is."""
    if convert is float:
        if isinstance(value, Symbol):
            return value.as_python_float()
        if isinstance(value, SymbolicArray) and value.size == 1:
            return value.item()
        session = current()
        if session is not None and session.tensors is not None and session.tensors.is_random(value):
            return session.tensors.item(value)
    return convert(value)


#: The hooks by the names under which `recorded` calls them.
_HOOKED = {_FLOAT: keep_random, _TYPE: type_of, _INT: keep_seed}
