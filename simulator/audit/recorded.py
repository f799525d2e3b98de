"""Coins that keep the answers of another one, and give them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Coin


class RecordingCoin:
    """A coin that keeps the answers of another one."""

    def __init__(self, coin: Coin) -> None:
        self._coin = coin
        self.answers: list[int] = []

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`."""
        self.answers.append(self._coin.flip(probability))
        return bool(self.answers[-1])

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`."""
        self.answers.append(self._coin.choose(weights))
        return self.answers[-1]


class ReplayingCoin:
    """A coin that gives recorded answers in order; raises `InvalidVerifier` when there are no more."""

    def __init__(self, answers: Sequence[int]) -> None:
        self._answers = iter(answers)

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`."""
        return bool(self.choose(()))

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`."""
        answer = next(self._answers, None)
        if answer is None:
            raise InvalidVerifier("it decides more when it is run again")
        return answer
