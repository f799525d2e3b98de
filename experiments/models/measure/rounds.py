"""Rates of several ways of writing, measured in turn: rounds are pairs, so that a slow round is slow for all."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot, sqrt
from typing import Any

import numpy as np

#: Student's quantile of 95 % for 2, 3, .. rounds.
QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
#: That of a normal distribution.
NORMAL = 1.96


def geometric_mean(rates: Sequence[float]) -> float:
    """Over rounds."""
    return exp(float(np.mean(np.log(rates))))


def ratio(rates: Sequence[float], to: Sequence[float], error: float = 0.0) -> tuple[float, float, float]:
    """How many times the other rates these are, with the 95 % interval; at least two rounds, in the same order.

    error: standard error of the logarithm that all rounds share.
    """
    return _interval(np.log(rates) - np.log(to), error)


def _interval(logs: Any, error: float = 0.0) -> tuple[float, float, float]:
    rounds = len(logs)
    own = QUANTILES[min(rounds, len(QUANTILES) + 1) - 2] * float(np.std(logs, ddof=1)) / sqrt(rounds)
    half = hypot(own, NORMAL * error)
    mean = float(np.mean(logs))
    return exp(mean), exp(mean - half), exp(mean + half)
