"""A module, or a function, out of a file that is not in a package."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from draftproof.simulator.symbolic import locate_function


def module_of(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(path: str | Path, name: str) -> Callable[..., Any]:
    """The function of a file, loaded as an audit loads it."""
    return locate_function(path, name).function
