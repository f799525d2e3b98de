"""Functions of numpy on arrays of symbols: by a rule of `rules`, or by numpy itself on object arrays.

A function that has no rule and needs floats is refused by name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.arrays.arrays import (
    SymbolicArray,
    boxed,
    note_float_types,
    objects,
    plain,
    random_inside,
    stored,
    without_symbols,
    wrapped,
)
from draftproof.simulator.symbolic.arrays.rules import RULES
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import refused_operation

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


def _by_rule(name: str, function: Any, arguments: Any, options: Any) -> Any:
    """The result of a rule, which gets what differs from the defaults of numpy's function, by name."""
    with _errors_of_numbers(name, function, arguments, options):
        defaults = inspect.signature(function).parameters
        given = inspect.signature(function).bind(*arguments, **options).arguments
        given = {key: value for key, value in given.items() if value is not defaults[key].default}
        out = given.pop("out", None)
        result = RULES[name](**given)
    return result if out is None else stored(result, out)


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
        return _wrapped_all(function(*(_stripped(name, argument) for argument in arguments), **named))


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


def _wrapped_all(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_wrapped_all(item) for item in value)
    return wrapped(value) if isinstance(value, np.ndarray) and plain(value).dtype == object else value


def _shaped(name: str, function: Any, arguments: Any, options: Any) -> Any:
    if name.endswith("_like"):  # symbols stand for floats, so the default type is float64
        options = {"dtype": np.float64} | options | {"subok": False}
        return function(np.empty(np.shape(plain(arguments[0]))), *arguments[1:], **options)
    return function(*(_stripped(name, argument) for argument in arguments), **options)


def _function(self: SymbolicArray | Symbol, function: Any, types: Any, arguments: Any, options: Any) -> Any:
    return applied(function.__name__, function, arguments, options)


def _method(name: str) -> Any:
    def method(self: SymbolicArray, *arguments: Any, **options: Any) -> Any:
        return applied(name, getattr(np, name, None), (self, *arguments), options)

    method.__name__ = name
    return method


def _sort_in_place(self: SymbolicArray, axis: int = -1, *arguments: Any, **options: Any) -> None:
    plain(self)[...] = plain(applied("sort", np.sort, (self, axis), {}))


def _partition_in_place(self: SymbolicArray, kth: Any, axis: int = -1, *arguments: Any, **options: Any) -> None:
    plain(self)[...] = plain(applied("partition", np.partition, (self, kth, axis), {}))


_METHODS = (
    "argmax", "argmin", "argsort", "searchsorted", "cumsum", "cumprod", "sum", "prod", "max", "min", "clip", "any",
    "all", "mean", "dot", "std", "var", "take", "choose", "compress", "argpartition", "round", "trace",
)  # fmt: skip


def _as_array(self: Symbol, name: str) -> Any:
    """An attribute of numpy's scalars that Python's floats lack, of a symbol that is an element of an array."""
    if name.startswith("_") or not hasattr(np.float64, name):
        raise AttributeError(f"'float' object has no attribute {name!r}")
    if self.variable.index not in self.variable.region.in_arrays:
        raise AttributeError(f"'float' object has no attribute {name!r}")
    if name == "item":
        return self.as_python_float
    return getattr(boxed(self).view(SymbolicArray), name)


def register() -> None:
    """Register these functions with `Symbol` and `SymbolicArray`, which are defined in lower layers."""
    registered: dict[type, dict[str, Any]] = {
        Symbol: {
            "__array_ufunc__": SymbolicArray.__array_ufunc__,
            "__array_function__": _function,
            "__getattr__": _as_array,
        },
        SymbolicArray: {"__array_function__": _function, "sort": _sort_in_place, "partition": _partition_in_place}
        | {n: _method(n) for n in _METHODS},
    }
    for kind, methods in registered.items():
        for name, method in methods.items():
            setattr(kind, name, method)


register()
