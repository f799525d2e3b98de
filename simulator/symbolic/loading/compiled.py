"""Functions compiled by torch (`torch.jit.script`, `torch.compile`) are audited by their Python source."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from draftproof.simulator.symbolic.patches import replaced

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


def decorators_left_out(notes: list[str]) -> AbstractContextManager[None]:
    """Within it these decorators return the function itself, with a note each."""
    loaded = ((sys.modules.get(module), module, name) for module, name in _TORCH)
    return replaced(
        (holder, name, _left_out(f"{module}.{name}", notes)) for holder, module, name in loaded if holder is not None
    )


def _left_out(name: str, notes: list[str]) -> Callable[..., Any]:
    def decorator(function: Any = None, *arguments: Any, **options: Any) -> Any:
        def itself(plain: Any) -> Any:
            notes.append(f"{plain.__name__} is compiled by {name}: its Python source is followed")
            return plain

        return itself(function) if isinstance(function, types.FunctionType) else itself

    return decorator
