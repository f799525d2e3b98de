"""The means of bounded numbers that a sample of them does not refute.

For numbers between 0 and 1 whose law has the mean `m`, the product of `1 - b + b x / m` over the numbers `x` has the
mean 1 for each `b` from 0 to 1, and so has the average of such products for several `b`. The probability that it
reaches `1 / a` is at most `a`. The product falls with `m`: where it refutes `m` it refutes all smaller means. Larger
means are refuted by the same test of `1 - x`. The means that neither refutes are an interval that holds `m` with
probability at least `1 - a`, if each test has half of `a`, whatever the law of the numbers. Source: Waudby-Smith and
Ramdas, Estimating means of bounded random variables by betting (2024), with `b` that do not depend on their order.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from scipy.special import logsumexp

#: The values of `b`.
BETS = 1 - np.geomspace(1, 1e-4, 25)[1:]
#: Bisection steps on an interval of length 1.
_STEPS = 40


def mean_interval(numbers: Any, lowest: float, highest: float, level: float = 0.95) -> tuple[float, float]:
    """The interval for the mean of the law of `numbers`, shape `(n,)`, all between `lowest` and `highest`."""
    if lowest == highest:
        return lowest, highest
    scaled = np.clip((np.asarray(numbers, dtype=np.float64) - lowest) / (highest - lowest), 0, 1)
    low, high = _least(scaled, (1 - level) / 2), 1 - _least(1 - scaled, (1 - level) / 2)
    return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def _least(scaled: Any, level: float) -> float:
    """The smallest mean that the test does not refute, rounded down."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        logs = np.log1p(BETS[:, None] * (scaled / middle - 1)).sum(axis=1)
        refuted = float(logsumexp(logs) - log(len(logs))) >= -log(level)
        low, high = (middle, high) if refuted else (low, middle)
    return low
