"""Arrays of numbers of which some are random: what numpy does to them, element by element, and exactly.

`SymbolicArray` is an object array whose ufuncs and functions come here. A function has a rule, or numpy itself does it
on object arrays; one that has no rule and needs floats is refused by name. Comparisons give real arrays of booleans,
searches and orders real indices.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.arrays.elements import boxed, elementwise, fetched, objects, reduced, running, tested
from draftproof.simulator.symbolic.arrays.rules import RULES
from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, is_random
from draftproof.simulator.symbolic.numbers.symbol import PLAIN, Symbol
from draftproof.simulator.symbolic.where import refusal, refused_operation, text_of


def plain(value: Any) -> Any:
    """A symbolic array as object array, any other number or array as it is."""
    return value.view(np.ndarray) if isinstance(value, SymbolicArray) else value


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


def wrapped(array: Any) -> Any:
    """The result of an operation: a symbolic array, if anything in it is random; a number for a scalar.

    Without random numbers an array of floats, or of the exact numbers that are in it.
    """
    if isinstance(array, (list, tuple)):
        return type(array)(map(wrapped, array))
    if not isinstance(array, np.ndarray) or plain(array).dtype != object:
        return array[()] if isinstance(array, np.ndarray) and array.shape == () else array
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

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return applied(function.__name__, function, arguments, options)

    def __getitem__(self, index: Any) -> Any:
        element = super().__getitem__(index)
        if isinstance(element, Symbol):
            element.as_array_element()
        if self.fetches is None:
            return element
        fetch = self.fetches.region.next_argument_fetch()
        if isinstance(element, Symbol):
            return element.fetched(fetch).as_array_element()
        copied = fetched(element, fetch).view(SymbolicArray)
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
    inputs = tuple(map(plain, inputs))
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
        return wrapped(running(name, inputs[0], axis, dtype))
    raise refused_operation(f"numpy.{name}{'' if method == '__call__' else '.' + method}")


#: Functions whose answer does not depend on the numbers.
_SHAPES = {
    "shape", "ndim", "size", "zeros_like", "ones_like", "empty_like", "full_like", "iscomplexobj", "isrealobj",
    "copyto", "result_type",
}  # fmt: skip


#: Functions that only move numbers, whatever they are.
_MOVES = {
    "concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "append", "insert", "delete", "copy",
    "reshape", "ravel", "transpose", "matrix_transpose", "permute_dims", "swapaxes", "moveaxis", "rollaxis", "roll",
    "expand_dims", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "broadcast_arrays", "repeat",
    "tile", "flip", "fliplr", "flipud", "rot90", "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack",
    "take", "take_along_axis", "choose", "compress", "extract", "diag", "diagflat", "diagonal", "tril", "triu", "pad",
    "resize", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "select", "meshgrid", "nonzero",
    "argwhere", "flatnonzero", "dot", "matmul", "inner", "outer", "vdot", "kron", "tensordot", "einsum", "trace",
    "diff", "ediff1d",
}  # fmt: skip

#: Functions whose argument is a list of arrays, not one array.
OF_LISTS = {
    "concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "broadcast_arrays", "meshgrid", "select",
    "choose", "einsum",
}  # fmt: skip

#: Functions that write into their first argument.
_WRITES = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}


def applied(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """One numpy function with random numbers among its arguments; raises `InvalidVerifier` if it has no rule."""
    note_float_types(arguments)
    if name not in _WRITES:
        arguments = tuple(without_symbols(argument) for argument in arguments)
        followed = (SymbolicArray, Symbol, list, tuple)
        if function is not None and not any(
            isinstance(argument, followed) for argument in (*arguments, *options.values())
        ):
            return function(*arguments, **options)
    if name in RULES:
        return _by_rule(name, function, arguments, options)
    if name in _SHAPES:
        return _shaped(name, function, arguments, options)
    if function is None:
        raise refused_operation(f"numpy.{name}")
    return _on_objects(name, function, arguments, options)


@functools.cache
def _signature(name: str, function: Any) -> inspect.Signature:
    """The parameters of a function of numpy; of these two its versions say less, or other things."""
    return inspect.signature(RULES[name] if name in ("clip", "where") else function)


def _by_rule(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """The result of a rule, which gets what differs from the defaults of numpy's function, by name."""
    with _errors_of_numbers(name, function, arguments, options):
        signature = _signature(name, function)
        given = signature.bind(*arguments, **options).arguments
        given = {key: value for key, value in given.items() if value is not signature.parameters[key].default}
        out = given.pop("out", None)
        result = RULES[name](**{key: _stripped(name, value) for key, value in given.items()})
    return wrapped(result) if out is None else stored(result, out)


@contextmanager
def _errors_of_numbers(name: str, function: Any, arguments: Any, options: Any) -> Iterator[None]:
    """Within it an error that numpy raises for real numbers, too, is the audited code's own; others are refusals."""
    try:
        yield
    except InvalidVerifier:
        raise
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        if function is not None:
            with np.errstate(all="ignore"):
                function(*map(_example, arguments), **{key: _example(value) for key, value in options.items()})
        what = "with these arguments" if isinstance(error, TypeError) else f"({error})"
        raise refused_operation(f"numpy.{name} {what}") from error


def _example(value: Any) -> Any:
    """The value with 0.5 in place of every symbol."""
    if isinstance(value, (list, tuple)):
        return type(value)(_example(item) for item in value)
    if isinstance(value, SymbolicArray):
        return np.array([0.5 if isinstance(element, Symbol) else element for element in value.flat]).reshape(
            value.shape
        )
    return 0.5 if isinstance(value, Symbol) else value


def _on_objects(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """Numpy's own function on object arrays: it moves elements, or applies Python's operators, which are exact.

    Those treat NaN differently from float arrays, so a NaN is refused in all functions but those that move elements.
    """
    if name not in _MOVES and any(map(_nan_inside, (*arguments, *options.values()))):
        raise refused_operation(f"numpy.{name}, of NaN and")
    with _errors_of_numbers(name, function, arguments, options):
        named = {key: _stripped(name, value) for key, value in options.items()}
        return wrapped(function(*(_stripped(name, argument) for argument in arguments), **named))


def _nan_inside(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_nan_inside, value))
    if isinstance(value, np.ndarray) and plain(value).dtype.kind in "fO":
        return any(map(race.is_nan, plain(value).flat))
    return isinstance(value, float) and math.isnan(value)


def _stripped(name: str, value: Any) -> Any:
    """An argument with object arrays in place of arrays of symbols; a list of arrays stays a list."""
    if isinstance(value, (list, tuple)) and random_inside(value):
        return type(value)(map(objects, value)) if name in OF_LISTS else objects(value)
    return boxed(value) if isinstance(value, Symbol) else plain(value)


def _shaped(name: str, function: Any, arguments: Any, options: Any) -> Any:
    if name.endswith("_like"):  # symbols stand for floats, so the default type is float64
        options = {"dtype": np.float64} | options | {"subok": False}
        return function(np.empty(np.shape(plain(arguments[0]))), *arguments[1:], **options)
    return function(*(_stripped(name, argument) for argument in arguments), **options)


def _method(name: str) -> Any:
    def method(self: SymbolicArray, *arguments: Any, **options: Any) -> Any:
        return applied(name, getattr(np, name, None), (self, *arguments), options)

    method.__name__ = name
    return method


def _in_place(name: str) -> Any:
    def method(self: SymbolicArray, *arguments: Any, **options: Any) -> None:
        plain(self)[...] = plain(_method(name)(self, *arguments, **options))

    return method


for _name in (
    "argmax", "argmin", "argsort", "searchsorted", "cumsum", "cumprod", "sum", "prod", "max", "min", "clip", "any",
    "all", "mean", "dot", "std", "var", "take", "choose", "compress", "argpartition", "round", "trace",
):  # fmt: skip
    setattr(SymbolicArray, _name, _method(_name))
for _name in ("sort", "partition"):
    setattr(SymbolicArray, _name, _in_place(_name))


def _as_array(self: Symbol, name: str) -> Any:
    """An attribute of numpy's scalars that Python's floats lack, of a symbol that is an element of an array."""
    if name.startswith("_") or not hasattr(np.float64, name):
        raise AttributeError(f"'float' object has no attribute {name!r}")
    if self.variable.index not in self.variable.region.in_arrays:
        raise AttributeError(f"'float' object has no attribute {name!r}")
    if name == "item":
        return self.as_python_float
    return getattr(boxed(self).view(SymbolicArray), name)


# What numpy asks of a single number, which is defined in a lower layer.
Symbol.__array_ufunc__ = SymbolicArray.__array_ufunc__
Symbol.__array_function__ = SymbolicArray.__array_function__
setattr(Symbol, "__getattr__", _as_array)  # noqa: B010 - not to be known to mypy, which would find every name in it
