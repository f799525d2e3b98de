"""Object arrays of numbers of which some are random: functions of numbers on them, element by element and along axes.

The rules of numpy and those of torch are made of these.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.numbers.functions import BINARY, is_random
from draftproof.simulator.symbolic.where import refused_operation


def objects(value: Any) -> Any:
    """Any number or array as object array of Python numbers and symbols."""
    if isinstance(value, np.ndarray):
        return value if value.dtype == object else value.astype(object)
    return boxed(value)


def boxed(value: Any) -> Any:
    """An object array from a number or nested sequences of numbers."""
    if isinstance(value, (list, tuple)):
        return np.array([objects(item) if isinstance(item, np.ndarray) else item for item in value], dtype=object)
    result = np.empty((), dtype=object)
    result[()] = value.item() if isinstance(value, np.generic) else value
    return result


@functools.cache
def _elementwise(function: Callable[..., Any], arity: int) -> Any:
    return np.frompyfunc(function, arity, 1)


def elementwise(function: Callable[..., Any], *arguments: Any) -> Any:
    """A function of numbers on arrays, broadcast; an object array."""
    with np.errstate(all="ignore"):  # numbers here say for themselves what is wrong with them; torch says nothing
        result = _elementwise(function, len(arguments))(*(objects(argument) for argument in arguments))
    return result if isinstance(result, np.ndarray) else boxed(result)


def tested(function: Callable[..., Any], *arguments: Any) -> Any:
    """A comparison on arrays, broadcast; an array of booleans."""
    return elementwise(function, *arguments).astype(bool)


def fetched(array: Any, fetch: int | None) -> Any:
    """The same numbers under the number of another fetch; an object array."""
    return elementwise(lambda x: x.fetched(fetch) if is_random(x) else x, array)


def along_axis(function: Callable[[Sequence[Any]], Any], array: Any, axis: int | None) -> Any:
    """A function of the rows along an axis (of everything, if None); an object array."""
    array = objects(array)
    if axis is None:
        return boxed(function(list(array.ravel())))
    moved = np.moveaxis(array, axis, -1)
    result = np.empty(moved.shape[:-1], dtype=object)
    for index in np.ndindex(*moved.shape[:-1]):
        result[index] = function(list(moved[index]))
    return result


def rows_along_axis(function: Callable[[Sequence[Any]], Sequence[Any]], array: Any, axis: int) -> Any:
    """A function from rows to rows along an axis; an object array."""
    moved = np.moveaxis(objects(array), axis, -1)
    rows = [list(function(list(moved[index]))) for index in np.ndindex(*moved.shape[:-1])]
    width = len(rows[0]) if rows else moved.shape[-1]
    result = np.empty((len(rows), width), dtype=object)
    for i, row in enumerate(rows):
        result[i] = row
    return np.moveaxis(result.reshape(*moved.shape[:-1], width), -1, axis)


def running(name: str, array: Any, axis: int, dtype: Any = None) -> Any:
    """The running reduction of rows by a function of two numbers, by its ufunc name."""
    _check_type(dtype)
    return rows_along_axis(lambda row: list(itertools.accumulate(row, BINARY[name])), array, axis)


def reduced(name: str, array: Any, axis: Any, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """A row, or what several axes span (None: all), reduced by a function of two numbers, by its ufunc name."""
    _check_type(dtype)
    result = objects(array)
    axes = range(result.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, result.ndim)
    for item in sorted(axes, reverse=True):
        result = along_axis(functools.partial(functools.reduce, BINARY[name]), result, item)
        result = np.expand_dims(result, item) if keepdims else result
    return result if initial is None else elementwise(BINARY[name], initial, result)


def _check_type(dtype: Any) -> None:
    """Refuse a reduction in a type that changes the numbers."""
    if dtype is not None and (np.dtype(dtype).kind != "f" or np.dtype(dtype).itemsize < 4):
        raise refused_operation(f"a reduction with dtype={np.dtype(dtype)}")
