"""Rules of torch operations by their names in aten: functions of numbers and object arrays, with arguments of torch.

Floats come back as an object array, indices and answers as an array of whole numbers or of booleans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.elements import elementwise, rows_along_axis, tested
from draftproof.simulator.symbolic.arrays.rules import RULES as NUMPY
from draftproof.simulator.symbolic.arrays.rules import bisected, increasing, searchsorted
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, sign, where
from draftproof.simulator.symbolic.where import refused_operation


def _map(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(*numbers: Any, **options: Any) -> Any:
        if any(value not in (None, 0) for value in options.values()):
            raise refused_operation(f"torch with {', '.join(options)}")
        return elementwise(function, *numbers)

    return rule


def _test(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *numbers: tested(function, *numbers)


def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return elementwise(BINARY["add"], x, y if alpha == 1 else elementwise(lambda v: v * alpha, y))


def _div(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    quotient = elementwise(BINARY["divide"], x, y)
    return quotient if rounding_mode is None else elementwise(UNARY[rounding_mode], quotient)


def _axis(x: Any, dim: Any) -> Any:
    """The axes that torch means; None for all, which is what it has for the one number of a tensor without any."""
    if not x.ndim or dim is None or dim == []:
        return None
    return dim if isinstance(dim, int) else tuple(dim)


def _numpy(name: str) -> Callable[..., Any]:
    """A reduction by the rule of numpy."""
    return lambda x, dim=None, keepdim=False: NUMPY[name](x, axis=_axis(x, dim), keepdims=keepdim)


def _run(name: str) -> Callable[..., Any]:
    return lambda x, dim: NUMPY[name](x, axis=dim) if x.ndim else x


def _best(name: str) -> Callable[..., Any]:
    """`max` and `min`: of everything, along a dimension with indices, or of two tensors."""

    def rule(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return elementwise(BINARY[f"{name}imum"], x, dim)
        if dim is None:
            return _numpy(name)(x)
        if not x.ndim:
            return x, np.zeros((), dtype=np.int64)
        places = NUMPY[f"arg{name}"](x, axis=dim, keepdims=True)
        both = np.take_along_axis(x, places, dim), places
        return both if keepdim else tuple(item.squeeze(dim) for item in both)

    return rule


def _sort(x: Any, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    return _ordered(x, dim, lambda row: race.argsort(row, descending))


def _topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return _ordered(x, dim, lambda row: _first(row, largest, k))


def _ordered(x: Any, dim: int, order: Callable[[Any], list[int]]) -> Any:
    places = rows_along_axis(order, x, dim).astype(np.int64)
    return np.take_along_axis(x, places, dim), places


def _first(row: Any, largest: bool, count: int) -> list[int]:
    left = list(range(len(row)))
    order = []
    for _ in range(count):
        numbers = [] if largest else [i for i in left if not race.is_nan(row[i])]  # NaN counts as the largest
        among = numbers or left
        order.append(among[(race.argmax if largest else race.argmin)([row[i] for i in among])])
        left.remove(order[-1])
    return order


def _searchsorted(
    edges: Any, values: Any, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Any:
    if sorter is not None:
        raise refused_operation("torch searchsorted with a sorter")
    values, side = np.asarray(values, dtype=object), side or ("right" if right else "left")
    if edges.ndim == 1:
        places = _places(list(edges), values, side)
    else:
        rows = [_places(list(edges[i]), values[i], side) for i in np.ndindex(*edges.shape[:-1])]
        places = np.array(rows).reshape(values.shape)
    return places.astype(np.int32 if out_int32 else np.int64)


def _places(row: list[Any], values: Any, side: str) -> Any:
    if increasing(row):
        return searchsorted(row, values, side)
    # As torch searches, which shows in a row that is not sorted, or has a NaN in it.

    def place(x: Any) -> int:
        passed: Callable[[Any], bool] = (lambda edge: not edge >= x) if side == "left" else (lambda edge: not edge > x)
        return bisected(passed, row, 0, len(row))

    return elementwise(place, values)


def _matmul(x: Any, y: Any) -> Any:
    return np.asarray(np.matmul(x, y), dtype=object)


_UNARY = {
    "neg": "negative", "reciprocal": "reciprocal", "log": "log", "log1p": "log1p", "exp": "exp", "expm1": "expm1",
    "sqrt": "sqrt", "square": "square", "abs": "absolute", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "rint", "log2": "log2", "positive": "positive",
}  # fmt: skip
_BINARY = {
    "mul": "multiply", "pow": "power", "minimum": "minimum", "maximum": "maximum", "fmin": "fmin", "fmax": "fmax",
    "remainder": "remainder", "floor_divide": "floor_divide", "clamp_min": "maximum", "clamp_max": "minimum",
}  # fmt: skip
_TESTS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit", "logical_not": "logical_not",
}  # fmt: skip
#: Rules of comparisons, in which torch rounds numbers to the type of the tensors.
COMPARISONS: dict[str, Callable[..., Any]] = {name: _test(TESTS[rule]) for name, rule in _TESTS.items()}
RULES: dict[str, Callable[..., Any]] = {
    **{name: _map(UNARY[rule]) for name, rule in _UNARY.items()},
    **{name: _map(BINARY[rule]) for name, rule in _BINARY.items()},
    **COMPARISONS,
    "add": _add,
    "sub": lambda x, y, alpha=1: _add(x, y, -alpha),
    "rsub": lambda x, y, alpha=1: _add(y, x, -alpha),
    "div": _div,
    "true_divide": _div,
    "rsqrt": _map(lambda x: UNARY["reciprocal"](UNARY["sqrt"](x))),
    "sign": _map(lambda x: 0.0 if race.is_nan(x) else sign(x)),
    "clamp": lambda x, min=None, max=None: NUMPY["clip"](x, min, max),
    "where": _map(where),
    "zero": lambda x: np.zeros(x.shape),
    **{name: _numpy(name) for name in ("sum", "prod", "amax", "amin", "mean", "argmax", "argmin", "any", "all")},
    **{name: _run(name) for name in ("cumsum", "cumprod")},
    **{name: _best(name) for name in ("max", "min")},
    "sort": _sort,
    "topk": _topk,
    "searchsorted": _searchsorted,
    "bucketize": lambda x, edges, **options: _searchsorted(edges, x, **options),
    **dict.fromkeys(("mm", "mv", "bmm", "dot"), _matmul),
    "nonzero": lambda x: np.argwhere(tested(TESTS["not_equal"], x, 0)),
}
