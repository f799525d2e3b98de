"""Functions compiled by torch (`torch.jit.script`, `torch.compile`) are audited by their Python source."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Decorators that an audit leaves out, by their module.
_TORCH = (("torch.jit", "script"), ("torch", "compile"))


def source_of(value: Any) -> Any:
    """The Python function from which a compiled one was made; None for anything else."""
    kind = type(value)
    if kind.__module__.startswith("torch.jit") or kind.__name__ == "ScriptFunction":
        return vars(value).get("_torchdynamo_inline") if hasattr(value, "__dict__") else None
    return None


def noted(name: str) -> str:
    """The note in a report about a compiled function."""
    return f"{name} is compiled, and was followed by its Python source"


@contextmanager
def decorators_left_out(notes: list[str]) -> Iterator[None]:
    """Within it these decorators return the function itself, with a note each."""
    undo: list[tuple[Any, str, Any]] = []
    try:
        for module, name in _TORCH:
            holder = sys.modules.get(module)
            if holder is not None:
                undo.append((holder, name, getattr(holder, name)))
                setattr(holder, name, _left_out(f"{module}.{name}", notes))
        yield
    finally:
        for holder, name, original in reversed(undo):
            setattr(holder, name, original)


def _left_out(name: str, notes: list[str]) -> Callable[..., Any]:
    def decorator(function: Any = None, *arguments: Any, **options: Any) -> Any:
        def itself(plain: Any) -> Any:
            notes.append(f"{plain.__name__} is compiled by {name}: its Python source is followed")
            return plain

        return itself(function) if isinstance(function, types.FunctionType) else itself

    return decorator
