"""The coin that samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import unmasked
from draftproof.simulator.errors import InvalidVerifier


class SamplingCoin:
    """A coin that samples, from a numpy generator that the caller seeds."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`; a probability outside [0, 1] by more than rounding raises `InvalidVerifier`."""
        heads = float(probability)
        if not -1e-9 <= heads <= 1 + 1e-9:  # what rounding may leave
            raise InvalidVerifier(f"the coin was asked for probability {probability}; it must lie in [0, 1]")
        return bool(self._generator.random() < heads)

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`: the inverse of the cumulative sum.

        A sum that is not positive and finite raises `InvalidVerifier`; weights are not looked at one by one.
        """
        cumulative = np.cumsum(np.asarray(unmasked(weights), dtype=np.float64))
        if not 0 < cumulative[-1] < np.inf:
            raise InvalidVerifier(f"the coin was asked to choose with weights {weights}; they must be >= 0, not all 0")
        index = np.searchsorted(cumulative, self._generator.random() * cumulative[-1], side="right")
        return int(index)
