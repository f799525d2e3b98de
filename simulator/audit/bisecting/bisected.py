"""The verdicts of a function of plain coins on one draft tree, with the probabilities that bisection finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from draftproof.simulator.audit.bisecting.bisection import BITS, Bisection, PlainCoins
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Verdict

#: Calls the function with what gives coins as arguments, and a coin.
Run: TypeAlias = Callable[[Any, Coin], list[Verdict]]
Blocks: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]


class Bisected:
    """Keeps the law on the tree of the last call: an enumeration visits it once for every verdict."""

    def __init__(self, dtype: str | None) -> None:
        self._dtype = dtype
        self._tree: Any = None
        self._laws: dict[tuple[int, ...], dict[Blocks, Any]] = {}

    def verdicts(self, run: Run, tree: Any, coin: Coin) -> list[Verdict]:
        """The verdicts of one call, drawn from its law by one choice of the coin.

        tree: what decides the law beside the coins. Raises as `Bisection` does.
        """
        if self._dtype is None:
            raise InvalidInput("bisection needs coins in float64 or float32, not rationals")
        if self._tree is None or any(a is not b for a, b in zip(self._tree, tree, strict=False)):
            self._tree, self._laws = tree, {}
        bits = BITS[self._dtype]
        first, heard = PlainCoins(bits), _Recorder(coin)
        run(first, heard)  # how many coins it takes, and what the adapter draws beforehand
        drawn = tuple(heard.answers)
        if drawn not in self._laws:

            def blocks(point: tuple[int, ...]) -> Blocks:
                result = run(PlainCoins(bits, point), _Replay(drawn))
                return tuple((verdict.accepted, verdict.correction) for verdict in result)

            self._laws[drawn] = Bisection(blocks, first.count, bits).law()
        law = self._laws[drawn]
        chosen = list(law)[coin.choose(list(law.values()))]
        return [Verdict(*block) for block in chosen]


class _Recorder:
    """A coin that remembers its answers."""

    def __init__(self, coin: Coin) -> None:
        self._coin = coin
        self.answers: list[int] = []

    def flip(self, probability: Any) -> bool:
        self.answers.append(int(self._coin.flip(probability)))
        return bool(self.answers[-1])

    def choose(self, weights: Any) -> int:
        self.answers.append(self._coin.choose(weights))
        return self.answers[-1]


class _Replay:
    """A coin that gives the same answers again."""

    def __init__(self, answers: tuple[int, ...]) -> None:
        self._answers = iter(answers)

    def flip(self, probability: Any) -> bool:
        return bool(next(self._answers))

    def choose(self, weights: Any) -> int:
        return next(self._answers)
