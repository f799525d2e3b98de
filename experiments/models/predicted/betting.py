"""An interval for the mean of few bounded numbers that holds it with the stated probability, whatever their law.

Numbers between 0 and 1, drawn independently, with mean `m`: with a fixed share `b` of it bet on more, a wealth
becomes `prod(1 - b + b x / m)`, whose mean is 1; so is that of the average over several `b`, which therefore reaches
`2 / a` with probability at most `a / 2` (Markov's inequality). It falls in `m`: all smaller `m` are refuted beside
one that is. Bets on less are bets on more of `1 - x`. What neither refutes is an interval that holds `m` with
probability at least `1 - a`.

Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2024), with shares that do
not depend on the order of the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Shares that are bet, equally much with each: for numbers that hardly differ, up to those that may be 0.
SHARES = 1 - np.geomspace(1, 1e-4, 25)[1:]
#: Halvings of an interval of length 1.
_STEPS = 40


def mean_interval(numbers: Any, lowest: float, highest: float, level: float = 0.95) -> tuple[float, float]:
    """The interval for the mean of the law of `numbers`, shape `(n,)`, all between `lowest` and `highest`."""
    if lowest == highest:
        return lowest, highest
    scaled = np.clip((np.asarray(numbers, dtype=np.float64) - lowest) / (highest - lowest), 0, 1)
    needed = np.log(2 / (1 - level))
    low, high = _least(scaled, needed), 1 - _least(1 - scaled, needed)
    return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def _least(scaled: Any, needed: float) -> float:
    """The smallest mean that bets on more do not refute; the end that is returned is on the safe side."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        wealth = np.logaddexp.reduce(np.log1p(SHARES[:, None] * (scaled / middle - 1)).sum(axis=1)) - np.log(
            len(SHARES)
        )
        low, high = (middle, high) if wealth >= needed else (low, middle)
    return low
