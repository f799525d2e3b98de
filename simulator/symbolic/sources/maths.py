"""The functions of `math` that have an exact rule for random numbers; all others refuse them by name."""

from __future__ import annotations

import math
import random as _random
from typing import Any

from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import refused_operation

_METHODS = {"log1p": "log1p", "exp": "exp", "expm1": "expm1", "sqrt": "sqrt", "log2": "log2", "fabs": "__abs__"}


def _log(x: Any, base: Any = None) -> Any:
    return x.log() if base is None else x.log() / math.log(base)


def _checked(value: Any) -> Any:
    """What numpy calls infinite or NaN is an error of `math`."""
    if not isinstance(value, Symbol) and not math.isfinite(value):
        raise ValueError("math domain error")
    return value


def _apply(name: str, arguments: tuple[Any, ...]) -> Any:
    x = arguments[0]
    if name == "log":
        return _checked(_log(*arguments))
    if name == "pow":
        return _checked(arguments[0] ** arguments[1])
    if name in ("isnan", "isinf"):
        return False
    if name == "isfinite":
        return True
    if name in _METHODS and len(arguments) == 1 and isinstance(x, Symbol):
        return _checked(getattr(x, _METHODS[name])())
    raise refused_operation(f"math.{name}")


#: Types of arguments that are no symbols, which kernels have many of.
_PLAIN = frozenset((int, float, list, tuple))


def _recorded(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        for argument in arguments:
            if type(argument) not in _PLAIN and isinstance(argument, Symbol) and current() is not None:
                return _apply(name, arguments)
        return original(*arguments, **options)

    function.__name__ = name
    return function


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for the module `math`; floor, ceil and trunc ask the number itself."""
    asks = {"floor", "ceil", "trunc"}
    names = [name for name in dir(math) if not name.startswith("_") and callable(getattr(math, name))]
    replaced = [(math, name, _recorded(name, getattr(math, name))) for name in names if name not in asks]
    return [*replaced, (_random, "_log", _recorded("log", math.log))]  # of a generator with its own `random`
