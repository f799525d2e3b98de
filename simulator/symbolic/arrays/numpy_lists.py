"""numpy's functions on Python lists of symbols, and uninitialised arrays.

Such a list becomes a symbolic array, as a list of floats would become an array of floats. numpy itself would make an
array of objects, which compares NaN differently. What `numpy.empty` finds in memory is made up, see
`decide.memory`.
"""

from __future__ import annotations

import sys
from functools import update_wrapper
from typing import Any

import numpy as np

from draftproof.simulator.origins import in_simulator, is_audited
from draftproof.simulator.symbolic.arrays.arrays import OF_LISTS, SymbolicArray, as_floats, random_inside
from draftproof.simulator.symbolic.arrays.elements import boxed
from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers.functions import is_random

#: Functions that make an array, with the position of the argument that is converted; the next one is the dtype.
_MAKERS = {
    "array": 0, "asarray": 0, "asanyarray": 0, "ascontiguousarray": 0, "asfortranarray": 0, "asarray_chkfinite": 0,
    "full": 1,
}  # fmt: skip
#: The keyword of that argument, where it is not `a`.
_KEYWORDS = {"array": "object", "full": "fill_value"}
#: Methods of a ufunc that take arrays.
_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def _array(name: str, value: Any) -> Any:
    """A list of random numbers as the array that the function makes of it; anything else as it is."""
    if not isinstance(value, (list, tuple)) or current() is None or not random_inside(value):
        return value
    if name in OF_LISTS:  # its argument is a list of arrays
        return type(value)(_array("", item) for item in value)
    return as_floats(boxed(value))


def _maker(name: str, original: Any) -> Any:
    """A function that makes an array, for which random numbers count as floats; the simulator's own calls stay."""
    place, keyword = _MAKERS[name], _KEYWORDS.get(name, "a")

    def function(*arguments: Any, **options: Any) -> Any:
        given = arguments[place] if len(arguments) > place else options.get(keyword)
        if current() is None or not random_inside(given) or in_simulator(sys._getframe(1).f_code.co_filename):
            return original(*arguments, **options)
        options = dict(zip((keyword, "dtype", "order"), arguments[place:], strict=False)) | options
        dtype = options.pop("dtype", None)
        if dtype is not None and np.dtype(dtype) == object:  # Python's rules are asked for
            return original(*arguments[:place], dtype=dtype, **options)
        if dtype is None and isinstance(given, SymbolicArray) and name.startswith("as"):
            return given  # as `asarray` returns an array that needs no change
        value = options.pop(keyword)
        array = as_floats(
            original(*arguments[:place], value, **options, dtype=object), isinstance(given, SymbolicArray)
        )
        if dtype is not None and np.dtype(dtype).kind in "iu" and isinstance(given, (list, tuple)):
            original(
                [0 if is_random(element) else element for element in array.flat], dtype
            )  # its result is not used: a list raises errors here that an array does not
        return array if dtype is None else array.astype(dtype)

    return update_wrapper(function, original)


def _function(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        arguments = tuple(_array(name, value) for value in arguments)
        return original(*arguments, **{key: _array(name, value) for key, value in options.items()})

    return update_wrapper(function, original)  # libraries that are imported meanwhile read what it says of itself


class Ufunc:
    """A ufunc of numpy that follows lists of random numbers."""

    def __init__(self, original: Any) -> None:
        self.original, self.__doc__ = original, original.__doc__

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.original(*(_array("", value) for value in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.original, name)
        return _function("", attribute) if name in _METHODS else attribute

    def __repr__(self) -> str:
        return repr(self.original)


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for numpy's makers of arrays, functions and ufuncs."""
    replaced: list[tuple[Any, str, Any]] = [(np, name, _maker(name, getattr(np, name))) for name in _MAKERS]
    kind = type(np.sum)  # of every function that lets its arguments answer, with `__array_function__`
    for name, value in vars(np).items():
        if isinstance(value, np.ufunc):
            replaced.append((np, name, Ufunc(value)))
        elif type(value) is kind and name not in _MAKERS and name != "empty_like":
            replaced.append((np, name, _function(value.__name__, value)))
    replaced.append((np, "isscalar", lambda element, original=np.isscalar: is_random(element) or original(element)))
    return [*replaced, *((np, name, _made_up(getattr(np, name))) for name in ("empty", "empty_like"))]


def _made_up(original: Any) -> Any:
    """`numpy.empty` and the like, whose content an audit chooses; with symbols it may be symbolic."""

    def function(*arguments: Any, **options: Any) -> Any:
        made = original(*arguments, **options)
        session = current()
        if session is None or not is_audited(sys._getframe(1).f_code.co_filename):
            return made
        if made.dtype.kind in "biufc":
            made[...] = session.memory.unwritten(made.shape, made.dtype)
        may_get_symbols = made.dtype.kind == "f" and not session.real
        return made.astype(object).view(SymbolicArray) if may_get_symbols else made

    return update_wrapper(function, original)
