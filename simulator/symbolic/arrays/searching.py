"""Binary search for symbols in a row, sorted or not, with the steps of numpy and torch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.arrays import elementwise
from draftproof.simulator.symbolic.decide.compare import count_below
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.symbol import Symbol


def searchsorted(thresholds: Sequence[Any], values: Any, side: str = "left") -> Any:
    """`numpy.searchsorted` in one row, an array of integers; NaN is above everything."""
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
    return all(x <= y for x, y in itertools.pairwise([*thresholds, math.inf]))


def _place(thresholds: Sequence[Any], x: Any, side: str) -> int:
    if isinstance(x, Symbol):
        return count_below(x.variable.region, x, thresholds, strict=side == "left")
    return int(np.searchsorted(np.array(thresholds, dtype=np.float64), x, side=side))  # type: ignore[call-overload]
