"""Arrays of numbers of which some are random: what numpy does to them, element by element, and exactly.

`SymbolicArray` is an object array whose ufuncs and functions come here; the torch side uses the same functions on
plain object arrays. Comparisons give real arrays of booleans, searches and orders real indices.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, is_random
from draftproof.simulator.symbolic.numbers.symbol import PLAIN, Symbol
from draftproof.simulator.symbolic.where import refusal, refused_operation, text_of


def plain(value: Any) -> Any:
    """A symbolic array as object array, any other number or array as it is."""
    return value.view(np.ndarray) if isinstance(value, SymbolicArray) else value


def objects(value: Any) -> Any:
    """Any number or array as object array of Python numbers and symbols."""
    if isinstance(value, np.ndarray):
        return plain(value) if isinstance(value, SymbolicArray) or value.dtype == object else value.astype(object)
    return boxed(value)


def random_inside(value: Any) -> bool:
    """Whether a number, an array, a tensor or nested lists of them hold a random number."""
    if type(value) in PLAIN:
        return False
    if isinstance(value, (list, tuple)):
        return any(map(random_inside, value))
    if isinstance(value, (Symbol, SymbolicArray)):
        return True
    session = current()
    return session is not None and session.tensors is not None and bool(session.tensors.is_random(value))


def boxed(value: Any) -> Any:
    """An object array from a number or nested sequences of numbers."""
    if isinstance(value, (list, tuple)):
        return np.array([objects(item) if isinstance(item, np.ndarray) else item for item in value], dtype=object)
    result = np.empty((), dtype=object)
    result[()] = value.item() if isinstance(value, np.generic) else value
    return result


def wrapped(array: Any) -> Any:
    """The result of an operation: a symbolic array, if anything in it is random; a number for a scalar.

    Without random numbers an array of floats, or of the exact numbers that are in it.
    """
    if not isinstance(array, np.ndarray):
        return array
    if array.shape == ():
        value: Any = array[()]
        return value.as_array_element() if is_random(value) else value
    if any(is_random(value) for value in array.flat):
        return array.view(SymbolicArray)
    return array.astype(np.float64) if all(isinstance(value, (int, float)) for value in array.flat) else array


def as_floats(array: Any, known: bool = False) -> Any:
    """An object array as the array of floats that it stands for; as it is where something in it is no number.

    known: every number in it is random or a float already.
    """
    for index in () if known else np.ndindex(*array.shape):
        value = array[index]
        if is_random(value):
            continue
        if not isinstance(value, numbers.Real):
            return array
        array[index] = float(value)
    return array.view(SymbolicArray)


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
    return wrapped(rows_along_axis(lambda row: list(itertools.accumulate(row, BINARY[name])), array, axis))


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


class SymbolicArray(np.ndarray):
    """An object array with at least one random number; see the module."""

    __array_priority__ = 2000.0
    fetches: Any = None  # the session, if this is an argument whose every fetch counts

    def __array_finalize__(self, source: Any) -> None:
        self.fetches = getattr(source, "fetches", None)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` and whatever asks like it take it for."""
        return np.ndarray

    @property
    def dtype(self) -> Any:
        """The type of the numbers that it stands for, as long as all that were asked for have one."""
        session = current()
        if session is not None and session.region.narrowed:
            raise refusal("the type of an array of random numbers cannot be followed once it is not float64")
        return np.dtype(np.float64)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        return dispatched(ufunc, method, inputs, out, options)

    def __getitem__(self, index: Any) -> Any:
        element = super().__getitem__(index)
        if isinstance(element, Symbol):
            element.as_array_element()
        if self.fetches is None:
            return element
        fetch = self.fetches.region.next_argument_fetch()
        if isinstance(element, Symbol):
            return element.fetched(fetch).as_array_element()
        copied = elementwise(lambda x: x.fetched(fetch) if is_random(x) else x, element).view(SymbolicArray)
        copied.fetches = self.fetches
        copied.flags.writeable = False  # it stands for a part of the coins, and what is written would not reach them
        return copied

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)  # lists of random numbers too, which numpy takes from here only

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> Any:
        """Floats of Python, in lists."""
        return elementwise(lambda x: x.as_python_float() if is_random(x) else x, self).tolist()

    def item(self, *index: Any) -> Any:
        """One float of Python."""
        element = super().item(*index)
        return element.as_python_float() if is_random(element) else element

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """A float type keeps the numbers random; whole numbers and booleans are decided now."""
        kind = np.dtype(dtype).kind
        if kind == "O":
            return plain(self.copy())
        if kind == "f" and np.dtype(dtype).itemsize > 2:
            note_narrow_type(dtype)
            return self.copy()
        if kind == "b":
            return tested(TESTS["not_equal"], self, 0)
        if kind in "iu":
            whole = elementwise(UNARY["trunc"], self)  # NaN and infinite numbers become what numpy makes of them
            return whole.astype(dtype if all(map(math.isfinite, whole.flat)) else np.float64).astype(dtype)
        raise refused_operation(f"astype({np.dtype(dtype)})")

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def _bytes(self, *arguments: Any, **options: Any) -> Any:
        raise refused_operation("the bytes")

    tobytes = tofile = dump = dumps = byteswap = getfield = _bytes

    def __repr__(self) -> str:
        return text_of(f"<array {self.shape} of random numbers>", "a text is made of an array of random numbers")

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return repr(self)


def note_narrow_type(dtype: Any) -> None:
    """Note that from now on arrays of symbols may have another type than float64."""
    session = current()
    if session is not None and np.dtype(dtype) != np.float64:
        session.region.narrowed = True


def note_float_types(values: Sequence[Any]) -> None:
    """Likewise, where arrays of other floats or of objects are among these values."""
    for value in values:
        if (
            isinstance(value, (np.ndarray, np.generic))
            and type(value) is not SymbolicArray
            and value.dtype.kind in "fO"
        ):
            note_narrow_type(value.dtype)


def without_symbols(value: Any) -> Any:
    """A symbolic array that no longer holds symbols as an array of floats; anything else as it is."""
    if isinstance(value, SymbolicArray) and not any(isinstance(element, Symbol) for element in value.flat):
        return plain(value).astype(np.float64)
    return value


def dispatched(ufunc: Any, method: str, inputs: Sequence[Any], out: Any, options: dict[str, Any]) -> Any:
    """A ufunc with a symbol among its inputs, as numpy's `__array_ufunc__` calls it."""
    inputs = tuple(without_symbols(item) for item in inputs)
    note_float_types(inputs)
    if not any(isinstance(element, (SymbolicArray, Symbol, list, tuple)) for element in inputs):
        result = getattr(ufunc, method)(*inputs, **options)
    else:
        result = ufunc_applied(ufunc.__name__, method, inputs, options)
    return result if out is None else stored(result, out[0])


def stored(result: Any, target: Any) -> Any:
    """The target of `out=`, with the result written into it."""
    if plain(target).dtype != object and any(is_random(value) for value in objects(result).flat):
        raise refused_operation("storing in an array of floats")
    plain(target)[...] = plain(result)
    return target


def ufunc_applied(name: str, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """One ufunc, its `reduce` or its `accumulate`, with random numbers among the inputs."""
    name = {"true_divide": "divide", "float_power": "power", "fabs": "absolute", "mod": "remainder"}.get(name, name)
    if method == "__call__" and options.get("where", True) is True:
        if name in TESTS:
            truth = tested(TESTS[name], *inputs)
            return truth[()] if truth.shape == () else truth
        if name in BINARY or name in UNARY:
            return wrapped(elementwise((BINARY | UNARY)[name], *inputs))
        if name == "clip":
            smaller = elementwise(BINARY["maximum"], inputs[0], inputs[1])
            return wrapped(elementwise(BINARY["minimum"], smaller, inputs[2]))
    if method == "__call__" and name == "matmul":
        return wrapped(np.matmul(*(objects(item) for item in inputs)))
    axis, dtype = options.get("axis", 0), options.get("dtype")
    if method == "reduce" and name in BINARY:
        if options.get("where", True) is not True:
            raise refused_operation(f"numpy.{name}.reduce with where=")
        keepdims, initial = options.get("keepdims", False), options.get("initial")
        return wrapped(reduced(name, inputs[0], axis, dtype, keepdims, initial))
    if method == "accumulate" and name in BINARY:
        return running(name, inputs[0], axis, dtype)
    raise refused_operation(f"numpy.{name}{'' if method == '__call__' else '.' + method}")
