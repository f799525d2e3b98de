"""The primitives of jax that only move elements: jax moves their numbers, and the elements follow. Needs jax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.traced.values import values

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
        found = values(args[i])
        numbered[i] = np.arange(len(pool), len(pool) + found.size, dtype=np.int32).reshape(found.shape)
        pool += found.ravel().tolist()
    if "fill_value" in params:
        filler = math.nan if params["fill_value"] is None else params["fill_value"]
        params = {**params, "fill_value": -1}
    else:
        filler = math.nan
    made = primitive.bind(*numbered, **params)
    arrays = [_taken(each, pool, filler) for each in (made if primitive.multiple_results else [made])]
    return arrays if primitive.multiple_results else arrays[0]


def _taken(numbers: Any, pool: list[Any], filler: Any) -> Any:
    found = np.asarray(numbers)
    result = np.empty(found.shape, dtype=object)
    for index in np.ndindex(*found.shape):
        result[index] = pool[found[index]] if found[index] >= 0 else filler
    return result


RULES: dict[str, Callable[..., Any]] = dict.fromkeys(_ELEMENTS, _moved)
