"""Arrays of jax with symbols: a tracer that holds them, and its conversions to Python. Needs jax."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from draftproof.simulator.lazy import jax_core, jnp
from draftproof.simulator.symbolic.arrays.arrays import FOREIGN, SymbolicArray, boxed
from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.numbers.functions import is_random
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.random.jax_keys import Bits
from draftproof.simulator.symbolic.where import refused_operation


def _single(self: Any) -> Any:
    """The one element of an array, as Python number or symbol."""
    if self.values.size != 1:
        raise TypeError(f"Only scalar arrays can be converted to Python scalars; got an array of {self.values.size}")
    element = self.values.reshape(-1)[0]
    if isinstance(element, Bits):
        raise refused_operation("the bits")
    return element


def _array(self: Any, *arguments: Any, **options: Any) -> Any:
    return np.array(self.values, dtype=object).view(SymbolicArray)


def _needs_a_number(self: Any) -> str:
    """The text of jax's error where it needs a plain array: a refusal, as the audited function is not at fault."""
    return str(refused_operation("a step of jax that needs plain numbers,"))


def _refused(name: str) -> Any:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise refused_operation(name)

    return method


#: Symbols outside of arrays of jax.
_NUMBERS: tuple[type, ...] = (Symbol, SymbolicArray)


@functools.cache
def followed_class() -> Any:
    """The class of arrays with random elements; values: an object array of their shape."""

    def make(self: Any, trace: Any, aval: Any, values: Any) -> None:
        jax_core.Tracer.__init__(self, trace, aval)
        self.values = values

    methods = {
        "__init__": make,
        "__array__": _array,
        "__bool__": lambda self: bool(_single(self) != 0),
        "__int__": lambda self: int(_single(self)),
        "__float__": lambda self: float(_single(self)),
        "__complex__": _refused("complex()"),
        "__index__": _refused("use as an index"),
        "__hash__": _refused("the hash"),
        "__repr__": lambda self: f"<array {self.shape} of random numbers>",
        "__format__": lambda self, how: repr(self),
        "item": lambda self, *place: self[np.unravel_index(place[0], self.shape)] if place else self.reshape(()),
        "tolist": lambda self: self.values.tolist(),
        "tobytes": _refused("the bytes"),
        "__dlpack__": _refused("dlpack"),
        "_origin_msg": _needs_a_number,
        "block_until_ready": lambda self: self,
        "__doc__": "An array of jax with random elements.",
        "__slots__": ("values",),
    }
    made = type("Followed", (jax_core.Tracer,), methods)
    FOREIGN.append(sys.modules["jax"].Array)
    for kind in _NUMBERS:  # so that an array of jax takes them as operands, and a function as arguments
        setattr(kind, "__jax_array__", of_jax)  # noqa: B010 - they know nothing of it
        jax_core.pytype_aval_mappings[kind] = lambda value: of_jax(value).aval
        sys.modules["jax._src.dtypes"].register_canonicalize_value_handler(kind, of_jax)
    return made


def of_jax(self: Any) -> Any:
    """Random numbers of Python or numpy as an array of jax; anything else as it is."""
    if not isinstance(self, _NUMBERS):
        return self
    session = current()
    if session is None or session.keys is None:
        raise refused_operation("use by jax outside of the call")
    return session.keys.array(self.view(np.ndarray) if isinstance(self, np.ndarray) else boxed(self), None)


def shaped(shape: Any, dtype: Any) -> Any:
    """What jax knows of an array of this shape and type."""
    return jax_core.ShapedArray(tuple(shape), np.dtype(dtype))


def is_followed(value: Any) -> bool:
    """Whether an array has a random element."""
    return isinstance(value, followed_class())


def values(value: Any) -> Any:
    """The elements of any array of jax or numpy, or of a number: an object array of Python numbers and symbols."""
    if is_followed(value):
        return value.values
    array = np.asarray(value)
    if array.dtype.kind == "V":  # bfloat16 and its likes
        array = array.astype(np.float64)
    return array.astype(object)


def wrapped(trace: Any, array: Any, aval: Any) -> Any:
    """The result of an operation: followed, if anything in it is random, else an array of jax."""
    array = np.asarray(array)
    if array.dtype == object and any(is_random(element) or isinstance(element, Bits) for element in array.flat):
        if aval.dtype.kind in "fV" and aval.dtype.itemsize < 4:
            raise refused_operation(f"rounding to {aval.dtype}")
        return followed_class()(trace, aval, array.reshape(aval.shape))
    return jnp.asarray(np.array(array.tolist(), dtype=aval.dtype).reshape(aval.shape))
