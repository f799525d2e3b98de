"""Functions that were compiled are followed by their Python source: numba's, and torch's scripts and compiled ones."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Decorators whose function is taken as it is written, by their module.
_NUMBA = ("jit", "njit")
_TORCH = (("torch.jit", "script"), ("torch", "compile"))


def source_of(value: Any) -> Any:
    """The Python function that a compiled one was made of; None for anything else."""
    kind = type(value)
    if kind.__module__.startswith("numba.") and hasattr(value, "py_func"):
        return value.py_func
    if kind.__module__.startswith("torch.jit") or kind.__name__ == "ScriptFunction":
        return vars(value).get("_torchdynamo_inline") if hasattr(value, "__dict__") else None
    return None


def noted(name: str) -> str:
    """What a report says of it."""
    return f"{name} is compiled, and was followed by its Python source"


@contextmanager
def decorators_left_out(notes: list[str]) -> Iterator[None]:
    """Within it these decorators return the function itself, which is noted; numba need not be installed."""
    undo: list[tuple[Any, str, Any]] = []
    stub = None
    try:
        if "numba" not in sys.modules and not _installed("numba"):
            stub = sys.modules["numba"] = _numba(notes)
        for module, name in (*(("numba", name) for name in _NUMBA if stub is None), *_TORCH):
            holder = sys.modules.get(module)
            if holder is not None:
                undo.append((holder, name, getattr(holder, name)))
                setattr(holder, name, _left_out(f"{module}.{name}", notes))
        yield
    finally:
        for holder, name, original in reversed(undo):
            setattr(holder, name, original)
        if stub is not None:
            del sys.modules["numba"]


def _installed(name: str) -> bool:
    from importlib.util import find_spec  # noqa: PLC0415 - rarely asked

    return find_spec(name) is not None


def _numba(notes: list[str]) -> types.ModuleType:
    """What stands for numba where it is not installed: its decorators, and loops that it would run in parallel."""
    stub = types.ModuleType("numba")
    for name in _NUMBA:
        setattr(stub, name, _left_out(f"numba.{name}", notes))
    stub.prange = range  # type: ignore[attr-defined]
    return stub


def _left_out(name: str, notes: list[str]) -> Callable[..., Any]:
    def decorator(function: Any = None, *arguments: Any, **options: Any) -> Any:
        def kept(plain: Any) -> Any:
            notes.append(f"{plain.__name__} is compiled by {name}: its Python source is followed")
            return plain

        return kept(function) if isinstance(function, types.FunctionType) else kept

    return decorator
