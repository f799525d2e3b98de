"""Functions of one or two numbers, some of them symbols; without symbols they follow IEEE floats and do not raise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.numbers.symbol import Symbol


def is_random(value: Any) -> bool:
    """Whether a number is random."""
    return isinstance(value, Symbol)


def _finite(value: Any) -> bool:
    """Whether a number is a symbol, and so finite; one that differs from run to run is refused."""
    if isinstance(value, Nondeterministic):
        value.refuse()
    return is_random(value)


def divide(x: Any, y: Any) -> Any:
    """`x / y`; infinite or NaN where y is 0."""
    if is_random(x) and not is_random(y) and y == 0:
        return x.divided_by_zero(np.float64(y))
    if is_random(x) or is_random(y):
        return x / y
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def power(x: Any, y: Any) -> Any:
    """`x ** y`."""
    if is_random(x) or is_random(y):
        return x**y
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(x), np.float64(y)))


def _unary(name: str, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if is_random(x):
            return getattr(x, name)()
        with np.errstate(all="ignore"):
            return float(plain(np.float64(x)))

    return function


def _extreme(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        if is_random(x):
            return getattr(x, name)(y)
        if is_random(y):
            return getattr(y, name)(x)
        return plain(x, y)

    return function


def _first_not(x: Any, y: Any, better: bool) -> Any:
    return x if better or math.isnan(x) else y


def _rounded(whole: Callable[[Any], int]) -> Callable[[Any], Any]:
    """A whole number, by such a function, as a float."""
    return lambda x: float(whole(x)) if is_random(x) or math.isfinite(x) else x


def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    return x if not is_random(x) and math.isnan(x) else float(x > 0) - float(x < 0)


def _signbit(x: Any) -> bool:
    return bool(x < 0) if is_random(x) else math.copysign(1, x) < 0


def _remainder(x: Any, y: Any) -> Any:
    if not is_random(y) and (y == 0 or (math.isinf(y) and is_random(x))):
        return math.nan if y == 0 else (x if (x >= 0) == (y > 0) else y)
    return x % y


def _without_nan(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def other(x: Any, y: Any) -> Any:
        if not is_random(x) and math.isnan(x):
            return y
        return x if not is_random(y) and math.isnan(y) else function(x, y)

    return other


def where(condition: Any, x: Any, y: Any) -> Any:
    """x if the condition holds, else y."""
    return x if condition else y


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": divide,
    "power": power,
    "floor_divide": lambda x, y: _rounded(math.floor)(divide(x, y)),
    "remainder": _remainder,
    "minimum": _extreme("minimum", lambda x, y: _first_not(x, y, x <= y)),
    "maximum": _extreme("maximum", lambda x, y: _first_not(x, y, x >= y)),
}
BINARY |= {"fmin": _without_nan(BINARY["minimum"]), "fmax": _without_nan(BINARY["maximum"])}
UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "absolute": abs,
    "reciprocal": lambda x: divide(1.0, x),
    "square": lambda x: x * x,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "trunc": _rounded(math.trunc),
    "rint": _rounded(round),
    "sign": sign,
} | {name: _unary(name, getattr(np, name)) for name in ("log", "exp", "sqrt", "log1p", "expm1", "log2")}
TESTS: dict[str, Callable[..., Any]] = {
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "isfinite": lambda x: _finite(x) or math.isfinite(x),
    "isnan": lambda x: not _finite(x) and math.isnan(x),
    "isinf": lambda x: not _finite(x) and math.isinf(x),
    "signbit": _signbit,
    "logical_not": lambda x: not x,
}
