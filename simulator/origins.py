"""Whose code it is: ours and that of installed libraries, or somebody else's."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

#: The folders of the library itself.
ROOMS = tuple(
    f"{Path(__file__).parents[1]}/{room}" for room in ("simulator/", "verifiers/", "lp_analysis/", "experiments/")
)
_PATHS = sysconfig.get_paths()
_INSTALLED = tuple(f"{_PATHS[name]}/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
#: Set for classes that are made while Python runs (Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE = 1 << 9
#: Methods that `dataclasses` writes.
_GENERATED = frozenset(("<string>", name) for name in ("__init__", "__setattr__", "__delattr__"))


@cache
def is_trusted(file: str) -> bool:
    """Whether a file of code is ours or installed."""
    if file.startswith("<frozen ") or file.endswith(".pyx"):
        return True
    return file.startswith((*ROOMS, *_INSTALLED))


def is_foreign(code: CodeType) -> bool:
    """Whether code is somebody else's, who wrote a verifier or a scheme."""
    return not is_trusted(code.co_filename) and (code.co_filename, code.co_name) not in _GENERATED


def is_ours(kind: type) -> bool:
    """Whether a class is ours, of an installed library, or Python's; one made by `exec` without a module is neither."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if file is not None:
        return is_trusted(file)
    made = bool(kind.__flags__ & _HEAP_TYPE) and getattr(module, kind.__name__, None) is not kind
    return kind.__module__ in sys.builtin_module_names and not made


def is_library(thing: Any) -> bool:
    """Whether a verifier or a scheme, with the verifiers that it holds, is one of the library itself."""
    file = getattr(sys.modules.get(type(thing).__module__), "__file__", None)
    held = getattr(thing, "__dict__", {}).values()
    return (
        file is not None and file.startswith(ROOMS) and all(map(is_library, (x for x in held if hasattr(x, "verify"))))
    )
