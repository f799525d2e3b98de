"""The coin that enumerates: every outcome of a function of a coin, with its exact weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import Arithmetic, unmasked
from draftproof.simulator.errors import Fails, InvalidVerifier, NoFunction, short_repr
from draftproof.simulator.protocol import Coin

T = TypeVar("T")

#: More questions than this in one run mean a loop without end.
MAX_QUESTIONS = 10_000


class _Branching:
    """One question to the coin, its possible answers, and where the enumeration stands."""

    __slots__ = ("answers", "asked", "position")

    def __init__(self, asked: Any, answers: list[tuple[Any, Any]]) -> None:
        self.asked = asked
        self.answers = answers  # (answer, weight of everything decided so far)
        self.position = 0


class EnumeratingCoin:
    """Replays a function once for every sequence of answers with positive probability.

    A replay that asks other questions than the run before it shows hidden state or hidden
    randomness and raises `InvalidVerifier`.
    """

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._one = arithmetic.number(1)
        self._script: list[_Branching] = []
        self._next = 0

    @property
    def weight(self) -> Any:
        """The exact probability of the answers given in this run."""
        if self._next != len(self._script):
            raise NoFunction(HIDDEN_STATE)
        if not self._script:
            return self._one
        last = self._script[-1]
        return last.answers[last.position][1]

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`; a probability outside [0, 1] raises `InvalidVerifier`."""
        if self._next < len(self._script):
            return bool(self._replay(probability))
        heads = self._number(probability)
        if not 0 < heads < 1:
            if not -self._arithmetic.tolerance <= heads <= 1 + self._arithmetic.tolerance:  # true for NaN
                raise self._failure(f"the coin was asked for probability {probability}; it must lie in [0, 1]")
            heads = self._one * (heads >= 1)
        before = self.weight
        answers = [(True, before * heads), (False, before * (self._one - heads))]
        return bool(self._branch(probability, [(answer, weight) for answer, weight in answers if weight > 0]))

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`; a negative weight or a zero sum raises `InvalidVerifier`."""
        weights = unmasked(weights)
        asked = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        if self._next < len(self._script):
            return int(self._replay(asked))
        numbers = [self._number(weight) for weight in asked]
        total = sum(numbers, start=self._one - self._one)
        finite = self._arithmetic.exact or total < float("inf")
        if not (total > 0 and finite) or min(numbers) < -self._arithmetic.tolerance:
            raise self._failure(f"the coin was asked to choose with weights {asked}; they must be >= 0, not all 0")
        scale = self.weight / total
        return int(self._branch(asked, [(i, w * scale) for i, w in enumerate(numbers) if w > 0]))

    def start(self) -> None:
        """Begin a run: answers are replayed first."""
        self._next = 0

    def advance(self) -> bool:
        """Move to the next sequence of answers; False when there is none left."""
        while self._script:
            last = self._script[-1]
            last.position += 1
            if last.position < len(last.answers):
                return True
            self._script.pop()
        return False

    def _replay(self, asked: Any) -> Any:
        branching = self._script[self._next]
        self._next += 1
        if branching.asked != asked:
            raise NoFunction(HIDDEN_STATE)
        return branching.answers[branching.position][0]

    def _branch(self, asked: Any, answers: list[tuple[Any, Any]]) -> Any:
        if self._next >= MAX_QUESTIONS:
            raise InvalidVerifier(
                f"one run asked the coin {MAX_QUESTIONS:,} times: a rejection loop cannot be enumerated"
            )
        if not answers:  # float64 only
            raise InvalidVerifier("a run became too unlikely for float64 (a rejection loop?); use rational arithmetic")
        self._script.append(_Branching(asked, answers))
        self._next += 1
        return answers[0][0]

    def _failure(self, what: str) -> InvalidVerifier:
        """The error of the verifier; in a run as unlikely as rounding makes it, that may be one of rounding."""
        certain = self.weight > self._arithmetic.tolerance
        return Fails(what) if certain else InvalidVerifier(f"{what}; in float64 perhaps by rounding, use rationals")

    def _number(self, value: Any) -> Any:
        if not self._arithmetic.exact:
            return float(value)
        if isinstance(value, fmpq):
            return value
        if isinstance(value, (int, np.integer, np.bool_)):
            return fmpq(int(value))
        raise InvalidVerifier(
            f"the coin was given {short_repr(value)} ({type(value).__name__}) in a rational run; "
            "build probabilities from the rows of the node with + - * / and whole numbers only"
        )


HIDDEN_STATE = (
    "two runs with the same answers from the coin went different ways: "
    "verify must be a function of the tree and the coin, without state or other randomness"
)


def outcomes(
    run: Callable[[Coin], T], arithmetic: Arithmetic, coin: EnumeratingCoin | None = None
) -> Iterator[tuple[T, Any]]:
    """Every outcome of `run` with its exact probability: depth first over the coin's answers.

    coin: one that was not used yet, where it should not be the plain one of this arithmetic.
    """
    coin = coin or EnumeratingCoin(arithmetic)
    while True:
        coin.start()
        outcome = run(coin)
        yield outcome, coin.weight
        if not coin.advance():
            return
