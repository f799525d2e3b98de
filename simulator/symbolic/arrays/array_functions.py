"""The functions of numpy on arrays of random numbers: by a rule, or as numpy computes them on any Python objects.

What has no rule and needs floats is refused by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.symbolic.arrays.arrays import (
    SymbolicArray,
    accumulate,
    along,
    argbest,
    dispatched,
    fold,
    objects,
    plain,
    rows_along,
    searchsorted,
    selected,
    tested,
    wrapped,
)
from simulator.symbolic.numbers import race
from simulator.symbolic.numbers.functions import TESTS
from simulator.symbolic.numbers.symbol import Symbol
from simulator.symbolic.where import refused_operation

#: Functions whose answer does not depend on the numbers.
_SHAPES = {
    "shape", "ndim", "size", "zeros_like", "ones_like", "empty_like", "full_like", "iscomplexobj", "isrealobj",
    "copyto", "result_type",
}  # fmt: skip


#: Functions that write into their first argument.
_WRITES = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}


def settled(value: Any) -> Any:
    """An array that was followed and holds no random number any more as one of floats; anything else as it is."""
    if isinstance(value, SymbolicArray) and value.size and not any(isinstance(each, Symbol) for each in value.flat):
        return plain(value).astype(np.float64)
    return value


def applied(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """One numpy function with random numbers among its arguments; raises `InvalidVerifier` if it has no rule."""
    if name not in _WRITES:
        arguments = tuple(settled(each) for each in arguments)
        followed = (SymbolicArray, Symbol, list, tuple)
        if function is not None and not any(isinstance(each, followed) for each in arguments):
            return function(*arguments, **options)
    rule = _RULES.get(name)
    if rule is not None:
        return rule(*arguments, **options)
    if name in _SHAPES:
        return _shaped(name, function, arguments, options)
    if function is None:
        raise refused_operation(f"numpy.{name}")
    return _on_objects(name, function, arguments, options)


def _on_objects(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """Numpy's own function on object arrays: it moves elements, or asks Python's operators, which are exact."""
    try:
        return _wrapped_all(function(*(_stripped(each) for each in arguments), **options))
    except (TypeError, ValueError) as error:
        raise refused_operation(f"numpy.{name} ({error})") from error


def _stripped(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_stripped(each) for each in value)
    return plain(value)


def _wrapped_all(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_wrapped_all(each) for each in value)
    return wrapped(value) if isinstance(value, np.ndarray) and value.dtype == object else value


def _shaped(name: str, function: Any, arguments: Any, options: Any) -> Any:
    if name.endswith("_like"):  # floats, unless asked for otherwise: the numbers are
        options = {"dtype": np.float64} | options | {"subok": False}
        return function(np.empty(np.shape(plain(arguments[0]))), *arguments[1:], **options)
    return function(*(_stripped(each) for each in arguments), **options)


def _argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    if axis is None:
        a, axis = objects(a).ravel(), -1
    return rows_along(race.argsort, a, axis).astype(np.int64)


def _sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    if axis is None:
        a, axis = objects(a).ravel(), -1
    return wrapped(rows_along(lambda row: [row[i] for i in race.argsort(row)], a, axis))


def _reduction(name: str) -> Any:
    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any
    ) -> Any:
        if out is not None or options.get("where", True) is not True:
            raise refused_operation("a reduction with out= or where=")
        array = objects(a)
        found = along(fold(name), array, axis)
        if keepdims is True:
            found = found.reshape((1,) * array.ndim) if axis is None else np.expand_dims(found, axis)
        return wrapped(found)

    return function


def _mean(a: Any, axis: Any = None, **options: Any) -> Any:
    count = objects(a).size if axis is None else objects(a).shape[axis]
    return _reduction("add")(a, axis, **options) / count


def _running(name: str) -> Any:
    def function(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            a, axis = objects(a).ravel(), 0
        return wrapped(rows_along(accumulate(name), a, axis))

    return function


def _best(largest: bool) -> Any:
    def function(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Any:
        found = argbest(a, axis, largest)
        return np.expand_dims(found, axis) if keepdims is True and axis is not None else found

    return function


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    row = list(objects(a)) if sorter is None else list(objects(a)[sorter])
    found = searchsorted(row, v, side)
    return found[()] if found.shape == () else found


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return _searchsorted(bins, x, "left" if right else "right")


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return np.nonzero(tested(TESTS["not_equal"], condition, 0))
    if isinstance(condition, (SymbolicArray, Symbol)):
        condition = tested(TESTS["not_equal"], condition, 0)
    return selected(condition, x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    low = options.get("min", a_min)
    high = options.get("max", a_max)
    found = a if low is None else np.maximum(a, low)
    return found if high is None else np.minimum(found, high)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    if decimals:
        raise refused_operation(f"rounding to {decimals} digits")
    return np.rint(a)


_RULES: dict[str, Any] = {
    "argsort": _argsort,
    "sort": _sort,
    "argmax": _best(True),
    "argmin": _best(False),
    "nanargmax": _best(True),
    "nanargmin": _best(False),
    "nanmax": _reduction("maximum"),
    "nanmin": _reduction("minimum"),
    "searchsorted": _searchsorted,
    "digitize": _digitize,
    "where": _where,
    "clip": _clip,
    "round": _round,
    "around": _round,
    "mean": _mean,
    "sum": _reduction("add"),
    "prod": _reduction("multiply"),
    "max": _reduction("maximum"),
    "amax": _reduction("maximum"),
    "min": _reduction("minimum"),
    "amin": _reduction("minimum"),
    "cumsum": _running("add"),
    "cumprod": _running("multiply"),
    "count_nonzero": lambda a, axis=None, **options: np.count_nonzero(tested(TESTS["not_equal"], a, 0), axis=axis),
    "any": lambda a, axis=None, **options: np.any(tested(TESTS["not_equal"], a, 0), axis=axis),
    "all": lambda a, axis=None, **options: np.all(tested(TESTS["not_equal"], a, 0), axis=axis),
}


def _ufunc(self: Symbol, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    return dispatched(ufunc, method, inputs, out, options)


def _function(self: SymbolicArray | Symbol, function: Any, types: Any, arguments: Any, options: Any) -> Any:
    return applied(function.__name__, function, arguments, options)


def _method(name: str) -> Any:
    def method(self: SymbolicArray, *arguments: Any, **options: Any) -> Any:
        return applied(name, getattr(np, name, None), (self, *arguments), options)

    method.__name__ = name
    return method


def _sort_in_place(self: SymbolicArray, axis: int = -1, *arguments: Any, **options: Any) -> None:
    plain(self)[...] = plain(applied("sort", np.sort, (self, axis), {}))


_METHODS = (
    *("argmax", "argmin", "argsort", "searchsorted", "cumsum", "cumprod", "sum", "prod", "max", "min", "clip"),
    *(
        "any",
        "all",
        "mean",
        "dot",
        "std",
        "var",
        "take",
        "choose",
        "compress",
        "partition",
        "argpartition",
        "round",
        "trace",
    ),
)


def register() -> None:
    """Make what numpy does with random numbers come here: they stand below, and know nothing of arrays."""
    registered: dict[type, dict[str, Any]] = {
        Symbol: {"__array_ufunc__": _ufunc, "__array_function__": _function},
        SymbolicArray: {"__array_function__": _function, "sort": _sort_in_place} | {n: _method(n) for n in _METHODS},
    }
    for kind, methods in registered.items():
        for name, method in methods.items():
            setattr(kind, name, method)


register()
