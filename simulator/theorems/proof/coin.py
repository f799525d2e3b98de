"""The coin of a proof: it enumerates every answer whose probability is positive on the cell of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import EnumeratingCoin
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, ZERO
from draftproof.simulator.theorems.proof.numbers import Number, Run


class FollowingCoin(EnumeratingCoin):
    """Like the enumerating coin, with numbers of a run. Weights are compared with 0 only, never with one another."""

    def __init__(self, run: Run) -> None:
        super().__init__(RATIONAL)
        self._run = run
        self._one = run.number(1)

    def flip(self, probability: Any) -> bool:
        return bool(self._answered(self._flipped, probability))

    def choose(self, weights: Any) -> int:
        return int(self._answered(self._chosen, weights.tolist() if hasattr(weights, "tolist") else list(weights)))

    def _answered(self, answer: Callable[[Any], Any], asked: Any) -> Any:
        """The answer; an error of the coin ends the run even if the code that asked catches it."""
        try:
            return answer(asked)
        except InvalidVerifier as error:
            self._run.fail(error)

    def _flipped(self, probability: Any) -> bool:
        if self._next < len(self._script):
            return bool(self._replay(probability))
        heads, run = self._number(probability), self._run
        tails = self._one - heads
        if run.holds(heads, NEGATIVE) or run.holds(tails, NEGATIVE):
            raise InvalidVerifier(f"the coin was asked for probability {_shown(heads)}; it must lie in [0, 1]")
        before = self.weight
        answers = [(True, heads), (False, tails)]
        return bool(self._branch(probability, [(a, before * w) for a, w in answers if not run.holds(w, ZERO)]))

    def _chosen(self, asked: list[Any]) -> int:
        if self._next < len(self._script):
            return int(self._replay(asked))
        numbers, run = [self._number(weight) for weight in asked], self._run
        if any(run.holds(number, NEGATIVE) for number in numbers):
            raise InvalidVerifier("the coin was asked to choose with a negative weight; weights must be >= 0")
        possible = [i for i, number in enumerate(numbers) if not run.holds(number, ZERO)]
        if not possible:
            raise InvalidVerifier("the coin was asked to choose with weights that are all 0; one must be positive")
        scale = self.weight / sum((numbers[i] for i in possible), start=run.number(0))
        return int(self._branch(asked, [(i, numbers[i] * scale) for i in possible]))

    def _number(self, value: Any) -> Number:
        if isinstance(value, Number):
            return value
        try:
            return self._run.number(value)
        except InvalidVerifier:
            raise InvalidVerifier(
                f"the coin was given {value!r} ({type(value).__name__}) in an exact run; "
                "build probabilities from the rows of the node with + - * / and whole numbers only"
            ) from None


def _shown(number: Number) -> str:
    return f"{number.at_sample} at the sample, as a formula {number.as_ratio.key}"
