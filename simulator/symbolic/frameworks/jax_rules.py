"""Primitives of jax on symbols, by their names; a primitive in no table is refused. Needs jax.

A rule takes a primitive, its arguments and its parameters, and returns object arrays, or arrays of decided numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import real
from draftproof.simulator.symbolic.arrays.arrays import accumulate, along, elementwise, fold, rows_along, tested
from draftproof.simulator.symbolic.frameworks.jax_values import values
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.exact import ONE
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, is_random
from draftproof.simulator.symbolic.random.jax_keys import MANTISSA, Bits
from draftproof.simulator.symbolic.where import refused_operation

#: Which arguments hold the elements; the others say where they go.
_ELEMENTS: dict[str, Callable[[int], Iterable[int]]] = (
    dict.fromkeys(("dynamic_slice", "gather"), lambda count: (0,))
    | dict.fromkeys(("dynamic_update_slice", "pad"), lambda count: (0, 1))
    | {"scatter": lambda count: (0, 2), "select_n": lambda count: range(1, count)}
)
_WHOLE = """broadcast_in_dim reshape transpose squeeze expand_dims slice rev copy copy_p concatenate split device_put
optimization_barrier copy_to_host stop_gradient"""
_ELEMENTS |= dict.fromkeys(_WHOLE.split(), range)


def _moved(primitive: Any, args: Any, params: Any) -> Any:
    """The arrays of elements that a primitive gives.

    Elements are numbered from 1 on; jax gives a negative number where it fills in a value of its own.
    """
    holds = set(_ELEMENTS[primitive.name](len(args)))
    pool: list[Any] = [0]
    numbered = list(args)
    for i in holds:
        elements = values(args[i])
        numbered[i] = np.arange(len(pool), len(pool) + elements.size, dtype=np.int32).reshape(elements.shape)
        pool += elements.ravel().tolist()
    if "fill_value" in params:
        filler = math.nan if params["fill_value"] is None else params["fill_value"]
        params = {**params, "fill_value": -1}
    else:
        filler = math.nan
    made = primitive.bind(*numbered, **params)
    arrays = [_taken(item, pool, filler) for item in (made if primitive.multiple_results else [made])]
    return arrays if primitive.multiple_results else arrays[0]


def _taken(numbers: Any, pool: list[Any], filler: Any) -> Any:
    places = np.asarray(numbers)
    result = np.empty(places.shape, dtype=object)
    for index in np.ndindex(*places.shape):
        result[index] = pool[places[index]] if places[index] >= 0 else filler
    return result


MOVES: dict[str, Callable[..., Any]] = dict.fromkeys(_ELEMENTS, _moved)


#: Adding a positive number below this changes no random float that is not exactly 0.
_ABSORBED = fmpq(1, 2**100)


def _absorbed(x: Any, y: Any) -> bool:
    """Whether `x` is random and not below 0, and `y` too small beside it to change what a float holds."""
    small = real(y)
    if not (is_random(x) and type(small) is fmpq and 0 < small < _ABSORBED):
        return False
    region = x.variable.region
    return not region.boundary and bool(region.bounds(x)[0] >= 0)


def _kept(name: str) -> Callable[[Any, Any], Any]:
    """A function of two numbers that returns a symbol unchanged where the other is too small to change a float."""

    def function(x: Any, y: Any) -> Any:
        if _absorbed(x, y):
            return x
        return y if _absorbed(y, x) else BINARY[name](x, y)

    return function


_BINARY = {"sub": "subtract", "mul": "multiply", "div": "divide", "min": "minimum", "pow": "power"}
_UNARY = {
    "neg": "negative", "floor": "floor", "ceil": "ceil", "round": "rint", "sign": "sign", "abs": "absolute",
    "log": "log", "log1p": "log1p", "exp": "exp", "expm1": "expm1", "sqrt": "sqrt", "square": "square",
}  # fmt: skip
_TESTS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
_TESTS |= {"lt_to": "less", "le_to": "less_equal", "eq_to": "equal", "is_finite": "isfinite"}
_REDUCED = {"reduce_sum": "add", "reduce_prod": "multiply", "reduce_max": "maximum", "reduce_min": "minimum"}
_RUNNING = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}


def _numbers(value: Any) -> Any:
    """The elements of an array that holds no bits."""
    elements = values(value)
    if any(isinstance(element, Bits) for element in elements.flat):
        raise refused_operation("arithmetic on the bits")
    return elements


def _map(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda primitive, args, params: elementwise(function, *map(_numbers, args))


def _test(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda primitive, args, params: tested(function, *map(_numbers, args))


def _clamp(primitive: Any, args: Any, params: Any) -> Any:
    low, x, high = map(_numbers, args)
    return elementwise(BINARY["minimum"], elementwise(BINARY["maximum"], x, low), high)


def _integer_pow(primitive: Any, args: Any, params: Any) -> Any:
    return elementwise(lambda x: x ** params["y"], _numbers(args[0]))


def _rsqrt(primitive: Any, args: Any, params: Any) -> Any:
    return elementwise(UNARY["reciprocal"], elementwise(UNARY["sqrt"], _numbers(args[0])))


def _converted(primitive: Any, args: Any, params: Any) -> Any:
    dtype, elements = np.dtype(params["new_dtype"]), _numbers(args[0])
    if dtype.kind == "b":
        return tested(TESTS["not_equal"], elements, 0)
    if dtype.kind in "iu":
        return elementwise(UNARY["trunc"], elements)
    return elements


def _rounded(primitive: Any, args: Any, params: Any) -> Any:
    if params["mantissa_bits"] < MANTISSA[32]:
        raise refused_operation(f"rounding to {params['mantissa_bits']} bits")
    return _numbers(args[0])


def _rows(array: Any, axes: Sequence[int]) -> Any:
    """The array with these axes made one, the last."""
    moved = np.moveaxis(array, axes, range(-len(axes), 0))
    return moved.reshape(*moved.shape[: array.ndim - len(axes)], -1)


def _reduced(name: str) -> Callable[..., Any]:
    def rule(primitive: Any, args: Any, params: Any) -> Any:
        array = _numbers(args[0])
        return along(fold(name), _rows(array, params["axes"]), -1) if params["axes"] else array

    return rule


def _running(name: str) -> Callable[..., Any]:
    def rule(primitive: Any, args: Any, params: Any) -> Any:
        turn = slice(None, None, -1 if params["reverse"] else 1)
        function = accumulate(name)
        return rows_along(lambda row: list(function(row[turn]))[turn], _numbers(args[0]), params["axis"])

    return rule


def _best(function: Callable[..., int]) -> Callable[..., Any]:
    return lambda primitive, args, params: along(function, _rows(_numbers(args[0]), params["axes"]), -1)


def _sort(primitive: Any, args: Any, params: Any) -> Any:
    if params["num_keys"] != 1:
        raise refused_operation("sorting by several arrays")
    keys = elementwise(lambda x: x.uniform() if isinstance(x, Bits) else x, values(args[0]))
    places = rows_along(race.argsort, keys, params["dimension"]).astype(np.int64)
    return [np.take_along_axis(values(argument), places, params["dimension"]) for argument in args]


def _top(primitive: Any, args: Any, params: Any) -> Any:
    array, k = _numbers(args[0]), params["k"]

    def best(row: Sequence[Any]) -> Sequence[int]:
        left, places = list(range(len(row))), []
        for _ in range(k):
            places.append(left.pop(race.argmax([row[i] for i in left])))
        return places

    axis = params.get("axis", array.ndim - 1)
    places = rows_along(best, array, axis).astype(np.int64)
    return [np.take_along_axis(array, places, axis), places]


# Bits, on their way to a uniform number.
#: The float 1 as whole number, by its bits.
_ONES = {32: 0x3F800000, 64: 0x3FF0000000000000}


def _shifted(primitive: Any, args: Any, params: Any) -> Any:
    def shift(bits: Any, by: int) -> Bits:
        if not (isinstance(bits, Bits) and bits.step == 0 and by == bits.width - MANTISSA.get(bits.width, 0)):
            raise refused_operation("a shift of the bits")
        return bits.then()

    return elementwise(shift, *map(values, args))


def _with_exponent(primitive: Any, args: Any, params: Any) -> Any:
    def join(bits: Any, other: Any) -> Bits:
        if isinstance(other, Bits):
            bits, other = other, bits
        if isinstance(other, Bits) or not isinstance(bits, Bits) or bits.step != 1 or other != _ONES[bits.width]:
            raise refused_operation("another number made of the bits")
        return bits.then()

    return elementwise(join, *map(values, args))


def _as_float(primitive: Any, args: Any, params: Any) -> Any:
    def read(bits: Any) -> Any:
        if not isinstance(bits, Bits) or bits.step != 2 or np.dtype(params["new_dtype"]).kind != "f":
            raise refused_operation("the bits")
        return bits.uniform().shift(ONE)

    return elementwise(read, values(args[0]))


def _remainder(primitive: Any, args: Any, params: Any) -> Any:
    def left(x: Any, y: Any) -> Any:
        if isinstance(x, Bits) and x.step == 0:
            return x.choose(int(y))
        return BINARY["remainder"](x, abs(y)) if x >= 0 else -BINARY["remainder"](-x, abs(y))  # the sign is that of x

    return elementwise(left, *map(values, args))


RULES: dict[str, Callable[..., Any]] = MOVES | {
    "add": _map(_kept("add")), "add_any": _map(_kept("add")), "max": _map(_kept("maximum")), "clamp": _clamp,
    "integer_pow": _integer_pow, "rsqrt": _rsqrt, "convert_element_type": _converted, "reduce_precision": _rounded,
    "argmax": _best(race.argmax), "argmin": _best(race.argmin), "sort": _sort, "top_k": _top,
    "shift_right_logical": _shifted, "or": _with_exponent, "bitcast_convert_type": _as_float, "rem": _remainder,
}  # fmt: skip
RULES |= {name: _map(BINARY[ufunc]) for name, ufunc in _BINARY.items()}
RULES |= {name: _map(UNARY[ufunc]) for name, ufunc in _UNARY.items()}
RULES |= {name: _test(TESTS[ufunc]) for name, ufunc in _TESTS.items()}
RULES |= {name: _reduced(ufunc) for name, ufunc in _REDUCED.items()}
RULES |= {name: _running(ufunc) for name, ufunc in _RUNNING.items()}
