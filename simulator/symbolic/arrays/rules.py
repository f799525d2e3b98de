"""The rules of numpy's functions on object arrays of random numbers, each by its name and with numpy's arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.elements import (
    along_axis,
    elementwise,
    objects,
    reduced,
    rows_along_axis,
    running,
    tested,
)
from draftproof.simulator.symbolic.decide.compare import count_below
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, where
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import caller, refused_operation


def _argsort(a: Any, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Any:
    return rows_along_axis(race.argsort, *_rowed(a, axis)).astype(np.int64)


def _sort(a: Any, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Any:
    return rows_along_axis(lambda row: [row[i] for i in race.argsort(row)], *_rowed(a, axis))


def _rowed(a: Any, axis: int | None) -> tuple[Any, int]:
    """An array and an axis; where there is none, all of it as one row."""
    return (objects(a).ravel(), 0) if axis is None else (a, axis)


def _reduction(name: str, drop: Any = None) -> Any:
    """A reduction by its ufunc name; drop: what stands for a NaN, if numpy leaves it out."""

    def function(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, initial: Any = None) -> Any:
        return reduced(name, _without_nan(a, drop), axis, dtype, keepdims, initial)

    return function


def _without_nan(a: Any, drop: Any) -> Any:
    """The numbers of a reduction, without the NaN that it leaves out."""
    return a if drop is None else elementwise(lambda x: drop if race.is_nan(x) else x, a)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    total = RULES["sum"](a, axis, dtype, keepdims)
    return elementwise(BINARY["divide"], total, objects(a).size / max(total.size, 1))


def _running(name: str, drop: Any = None) -> Any:
    return lambda a, axis=None, dtype=None: running(name, *_rowed(_without_nan(a, drop), axis), dtype)


def _best(largest: bool, drop: bool = False) -> Any:
    """The place of the largest or smallest number; drop: NaN is left out, and does not win."""

    def function(a: Any, axis: int | None = None, keepdims: Any = False) -> Any:
        if drop:
            if np.any(along_axis(lambda row: all(map(race.is_nan, row)), a, axis)):
                raise ValueError("All-NaN slice encountered")
            a = _without_nan(a, -math.inf if largest else math.inf)
        places = along_axis(race.argmax if largest else race.argmin, a, axis).astype(np.int64)
        if not keepdims:
            return places
        return np.reshape(places, (1,) * objects(a).ndim) if axis is None else np.expand_dims(places, axis)

    return function


def searchsorted(thresholds: Sequence[Any], values: Any, side: str = "left") -> Any:
    """`numpy.searchsorted` in one row, an array of integers, by the steps of numpy; NaN is above everything."""
    if increasing(thresholds):
        return elementwise(lambda x: _place(thresholds, x, side), values).astype(np.int64)
    before: Callable[[Any, Any], bool] = race.below if side == "left" else lambda x, y: not race.below(y, x)
    low, high, last, size = 0, len(thresholds), None, len(thresholds)

    def place(x: Any) -> int:  # in a row that is not sorted the result depends on numpy's steps
        nonlocal low, high, last
        if last is not None and before(last[0], x):
            high = size
        elif last is not None:
            low, high = 0, min(high + 1, size)
        last = (x,)
        low = high = bisected(lambda threshold: before(threshold, x), thresholds, low, high)
        return low

    return elementwise(place, values).astype(np.int64)


def bisected(before: Callable[[Any], bool], thresholds: Sequence[Any], low: int, high: int) -> int:
    """Binary search: the first threshold that is not `before`, in a row in which all that are come first."""
    while low < high:
        middle = (low + high) // 2
        if before(thresholds[middle]):
            low = middle + 1
        else:
            high = middle
    return low


def increasing(thresholds: Sequence[Any]) -> bool:
    """Whether a row has no symbols and is sorted."""
    if any(isinstance(threshold, Symbol) for threshold in thresholds):
        return False
    return all(x <= y for x, y in pairwise([*thresholds, math.inf]))


def _place(thresholds: Sequence[Any], x: Any, side: str) -> int:
    if isinstance(x, Symbol):
        return count_below(x.variable.region, x, thresholds, strict=side == "left")
    return int(np.searchsorted(np.array(thresholds, dtype=np.float64), x, side=side))  # type: ignore[call-overload]


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    row = list(objects(a)) if sorter is None else list(objects(a)[sorter])
    return searchsorted(row, v, side)


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    row, side = list(objects(bins)), "left" if right else "right"
    if all(a <= b for a, b in pairwise(row)):
        return _searchsorted(bins, x, side)
    if all(a >= b for a, b in pairwise(row)):
        return len(row) - _searchsorted(objects(bins)[::-1], x, side)
    raise ValueError("bins must be monotonically increasing or decreasing")


def _parts(sort: Any) -> Any:
    """`partition` and `argpartition`: numpy leaves open in which order the two sides of the pivot stand."""

    def function(a: Any, kth: Any, axis: int | None = -1) -> Any:
        first = next((element for element in objects(a).flat if isinstance(element, Symbol)), None)
        if first is not None:
            first.variable.region.note(f"both sides of a partition are taken in sorted order at {caller()}")
        return sort(a, axis)

    return function


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    condition = tested(TESTS["not_equal"], condition, 0)
    return np.nonzero(condition) if x is None else elementwise(where, condition, x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    result = objects(a) if low is None else elementwise(BINARY["maximum"], a, low)
    return result if high is None else elementwise(BINARY["minimum"], result, high)


def _round(a: Any, decimals: int = 0) -> Any:
    if decimals:
        raise refused_operation(f"rounding to {decimals} digits")
    return elementwise(UNARY["rint"], a)


def _of_truths(function: Any) -> Any:
    return lambda a, **options: function(tested(TESTS["not_equal"], a, 0), **options)


RULES: dict[str, Any] = {
    "argsort": _argsort,
    "sort": _sort,
    "argmax": _best(True),
    "argmin": _best(False),
    "partition": _parts(_sort),
    "argpartition": _parts(_argsort),
    "nanargmax": _best(True, drop=True),
    "nanargmin": _best(False, drop=True),
    "nanmax": _reduction("fmax"),
    "nanmin": _reduction("fmin"),
    "nansum": _reduction("add", drop=0.0),
    "nanprod": _reduction("multiply", drop=1.0),
    "nancumsum": _running("add", drop=0.0),
    "nancumprod": _running("multiply", drop=1.0),
    "ptp": lambda **given: elementwise(BINARY["subtract"], RULES["max"](**given), RULES["min"](**given)),
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
    "count_nonzero": _of_truths(np.count_nonzero),
    "any": _of_truths(np.any),
    "all": _of_truths(np.all),
}
