"""Whose code it is: ours and that of installed libraries, or somebody else's."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType

#: The folders of the library itself.
ROOMS = tuple(
    f"{Path(__file__).parents[2]}/{room}" for room in ("simulator/", "verifiers/", "lp_analysis/", "experiments/")
)
_PATHS = sysconfig.get_paths()
_INSTALLED = tuple(f"{_PATHS[name]}/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
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
    """Whether a class is ours, of an installed library, or Python's."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return (file is None and kind.__module__ in sys.builtin_module_names) or (file is not None and is_trusted(file))
