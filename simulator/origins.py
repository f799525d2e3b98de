"""The origin of code: draftproof, Python and installed libraries, user code, or the package under audit."""

from __future__ import annotations

import logging
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from operator import is_
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

#: The folder of draftproof. In a checkout its subfolders are links, and modules have the paths through these links.
HOME = f"{Path(__file__).parents[1]}/"
#: The folders of the standard library and of installed packages, except editable installs.
_FOLDERS = (
    *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
    *site.getsitepackages(), site.getusersitepackages(),
)  # fmt: skip
_INSTALLED = tuple({f"{path}/" for folder in _FOLDERS for path in (folder, Path(folder).resolve())})
_SIMULATOR = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_ASIDE = (os.path.dirname(os.path.abspath(logging.__file__)) + os.sep, "<frozen importlib")
#: Packages whose own lines an audit never names, wherever they are installed.
_LIBRARIES = ("numpy", "scipy", "torch", "triton")
#: Set for classes that are made while Python runs (Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE = 1 << 9
#: Methods that `dataclasses` writes.
_GENERATED = frozenset(("<string>", name) for name in ("__init__", "__setattr__", "__delattr__"))
#: Attributes through which verifiers and schemes run code.
_ASKED = ("verify", "structure", "draw")


@cache
def is_trusted(file: str) -> bool:
    """Whether a file of code is of draftproof, of Python or installed."""
    if file.startswith("<frozen ") or file.endswith(".pyx"):
        return True
    return file.startswith((HOME, *_INSTALLED))


def in_simulator(file: str) -> bool:
    """Whether a file of code belongs to `draftproof.simulator`."""
    return file.startswith(_SIMULATOR)


def is_standard(file: str) -> bool:
    """Whether a file of code is of the standard library or of Python itself."""
    return file.startswith((_STANDARD, "<frozen")) and "-packages" not in file


def folder_of(package: str) -> str:
    """The folder that a loaded package was loaded from, with a separator at its end; any folder may be on the path."""
    file = getattr(sys.modules[package], "__file__", None)
    return os.path.dirname(os.path.abspath(file)) + os.sep if file else "<no file>"


#: `is_audited` of the files that were asked about.
_audited: dict[str, bool] = {}
#: Folders of the installed packages whose functions are under audit.
_audited_packages: list[str] = []


def is_audited(file: str) -> bool:
    """Whether an audit names lines of this file: neither the simulator nor Python or `_LIBRARIES` has it."""
    audited = _audited.get(file)
    if audited is None:
        library = any(file.startswith(folder_of(name)) for name in _LIBRARIES if name in sys.modules)
        audited = not (in_simulator(file) or file.startswith("<frozen") or is_standard(file) or library)
        _audited[file] = audited
    return audited


def is_user_code(file: str | None) -> bool:
    """Whether a file is user code under audit: `is_audited`, and not installed."""
    return file is not None and "site-packages" not in file and "dist-packages" not in file and is_audited(file)


def is_under_audit(file: str) -> bool:
    """Whether a file is user code, or of an installed package whose functions are under audit."""
    return is_user_code(file) or (is_audited(file) and file.startswith(tuple(_audited_packages)))


@contextmanager
def auditing_packages(modules: Iterable[str]) -> Iterator[None]:
    """Within it the files of these modules are `is_under_audit`, even if they are installed."""
    before = list(_audited_packages)
    loaded = (name for name in modules if name in sys.modules and name not in ("builtins", "__main__"))
    _audited_packages.extend(map(folder_of, loaded))
    try:
        yield
    finally:
        _audited_packages[:] = before


def acting(frame: FrameType | None) -> FrameType | None:
    """The frame that acts through the standard library at this one; None for what imports and logging do.

    Neither decides anything; a file of modules is written, too, when one is first imported.
    """
    while frame is not None and not frame.f_code.co_filename.startswith(_ASIDE):
        if not in_simulator(frame.f_code.co_filename) and not is_standard(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def is_generated(code: CodeType) -> bool:
    """Whether code is a method that `dataclasses` writes."""
    return (code.co_filename, code.co_name) in _GENERATED


def is_foreign(code: CodeType) -> bool:
    """Whether code is user code, such as a user-defined verifier or scheme."""
    return not is_trusted(code.co_filename) and not is_generated(code)


def is_ours(kind: type) -> bool:
    """Whether a class is of draftproof, of an installed library or of Python; one made by `exec` is not."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if file is not None:
        return is_trusted(file)
    made = bool(kind.__flags__ & _HEAP_TYPE) and getattr(module, kind.__name__, None) is not kind
    return kind.__module__ in sys.builtin_module_names and not made


def is_library(thing: Any) -> bool:
    """Whether a verifier or a scheme is draftproof's own, with no user code in the object, its class or its module.

    Only of these is the declared structure known to agree with `verify`.
    """
    kind = type(thing)
    home = sys.modules.get(kind.__module__)
    file = getattr(home, "__file__", None)
    held = getattr(thing, "__dict__", {})
    made_there = file is not None and file.startswith(HOME) and getattr(home, kind.__qualname__, None) is kind
    if not made_there or set(_ASKED) & set(held):
        return False
    methods = [item.__dict__[name] for item in kind.__mro__ for name in _ASKED if name in item.__dict__]
    return all(map(_is_library_part, (*held.values(), *methods))) and _is_library_module(home)


#: The code of the functions of a module when all of them were draftproof's, as `is_library` is called for every tree.
_known: dict[str, list[CodeType]] = {}


def _is_library_module(module: Any) -> bool:
    functions = [value for value in vars(module).values() if type(value) is FunctionType]
    codes = [function.__code__ for function in functions]
    known = _known.get(module.__name__, [])
    if len(codes) == len(known) and all(map(is_, codes, known)):
        return True
    unchanged = all(map(_is_library_part, functions))
    if unchanged:
        _known[module.__name__] = codes
    return unchanged


def _is_library_part(value: Any) -> bool:
    """Whether an attribute of a verifier or a scheme has no user code; a bound method counts as having some."""
    if isinstance(value, FunctionType):
        wrapped = value.__dict__.get("__wrapped__")
        return not is_foreign(value.__code__) and (wrapped is None or _is_library_part(wrapped))
    if isinstance(value, property):
        return _is_library_part(value.fget)
    if isinstance(value, partial):
        return all(map(_is_library_part, (value.func, *value.args, *value.keywords.values())))
    if hasattr(value, "verify") or hasattr(value, "draw"):
        return is_library(value)
    return is_ours(value) if isinstance(value, type) else is_ours(type(value)) and not callable(value)
