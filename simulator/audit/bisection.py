"""The law of a function whose coins are arguments, by bisection: for compiled code, which cannot take symbols.

A coin is one of the numbers `k 2^-b` that a float generator gives (`b = 53` in float64, 24 in float32), all equally
likely. As long as every threshold of a coin is a number that does not move with the other coins, the result is constant
on boxes:
1. On the line of one coin, with the others held at midpoints of their boxes, neighbours with different results are
   bisected to the last bit.
2. That is repeated for every combination of boxes of the other coins until no line shows a new threshold.
3. The probability of a box is the product of its sides, its result that at the midpoint.
4. The two extreme corners of every box and a grid of further points must give the result of their box.
A threshold that no line, corner or grid point crosses is missed: the verdict assumes that there is none.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import prod
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from flint import fmpq

from draftproof.simulator.coins import RecordingCoin, ReplayingCoin
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, TooLarge
from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Coin, Verdict

R = TypeVar("R", bound=Hashable)

#: Points of a line that are tried first.
PROBES = 17
#: Further points at which the boxes are checked.
GRID = 256
#: More calls than this for one draft tree are refused.
MOST_CALLS = 100_000
#: The bits of the coins of a generator.
BITS = {"float64": 53, "float32": 24}


@dataclass
class Bisection(Generic[R]):
    """The boxes of a function of `count` coins, each given as a whole number below `2**bits`.

    Raises `InvalidVerifier` where the result differs within a box, `TooLarge` for too many calls.
    """

    function: Callable[[tuple[int, ...]], R]
    count: int
    bits: int
    calls: int = 0
    _known: dict[tuple[int, ...], R] = field(default_factory=dict, repr=False)

    def law(self) -> dict[R, fmpq]:
        """The probability of every result."""
        sides = self._sides()
        masses: dict[R, fmpq] = {}
        whole = 2 ** (self.bits * self.count)
        for box in product(*sides):
            result = self._at(tuple((low + high) // 2 for low, high in box))
            for corner in (tuple(low for low, _ in box), tuple(high - 1 for _, high in box)):
                self._compare(corner, result)
            masses[result] = masses.get(result, fmpq(0)) + fmpq(prod(high - low for low, high in box), whole)
        for point in self._grid():
            middle = tuple(_middle(side, k) for side, k in zip(sides, point, strict=True))
            self._compare(point, self._at(middle))
        return masses

    def _sides(self) -> list[list[tuple[int, int]]]:
        """For each coin the intervals between its thresholds."""
        cuts: list[set[int]] = [{0, 2**self.bits} for _ in range(self.count)]
        seen: set[tuple[int, tuple[int, ...]]] = set()
        while True:
            before = [len(cut) for cut in cuts]
            for coin in range(self.count):
                others = [_middles(cut) if other != coin else [0] for other, cut in enumerate(cuts)]
                for point in product(*others):
                    if (coin, point) not in seen:
                        seen.add((coin, point))
                        cuts[coin] |= self._thresholds(coin, point, cuts[coin])
            if before == [len(cut) for cut in cuts]:
                return [list(pairwise(sorted(cut))) for cut in cuts]

    def _thresholds(self, coin: int, point: tuple[int, ...], known: set[int]) -> set[int]:
        """The places on the line of one coin where the result changes."""

        def at(k: int) -> R:
            return self._at((*point[:coin], k, *point[coin + 1 :]))

        step = 2**self.bits // (PROBES - 1)
        edges = {edge for cut in known for edge in (cut - 1, cut)} | {k * step for k in range(PROBES)}
        places = sorted({min(max(edge, 0), 2**self.bits - 1) for edge in edges} | set(_middles(known)))
        thresholds: set[int] = set()
        waiting = list(pairwise(places))
        while waiting:
            low, high = waiting.pop()
            if at(low) == at(high):
                continue
            if high - low == 1:
                thresholds.add(high)
            else:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle, high)]
        return thresholds

    def _at(self, point: tuple[int, ...]) -> R:
        if point not in self._known:
            if self.calls >= MOST_CALLS:
                raise TooLarge(
                    f"bisection of {self.count} coins takes more than {MOST_CALLS:,} calls for one draft tree: "
                    "its thresholds move with other coins, or drafts and vocabulary must be smaller"
                )
            self.calls += 1
            self._known[point] = self.function(point)
        return self._known[point]

    def _compare(self, point: tuple[int, ...], expected: R) -> None:
        if self._at(point) != expected:
            coins = ", ".join(f"{k / 2**self.bits:.6g}" for k in point)
            raise InvalidVerifier(
                f"bisection does not describe it: at the coins ({coins}) it returns another block than elsewhere in "
                "the same box; its thresholds move with other coins (a race, a sum), or it is no function of its coins"
            )

    def _grid(self) -> Iterator[tuple[int, ...]]:
        """Points that fill the cube evenly: multiples of irrational steps, modulo 1."""
        steps = [(2.0 ** (coin / (self.count + 1))) % 1 or 0.5**0.5 for coin in range(1, self.count + 1)]
        for n in range(1, GRID + 1):
            yield tuple(int((n * step % 1) * 2**self.bits) for step in steps)


def _middles(cuts: set[int]) -> list[int]:
    return [(low + high) // 2 for low, high in pairwise(sorted(cuts))]


def _middle(side: Sequence[tuple[int, int]], k: int) -> int:
    return next((low + high) // 2 for low, high in side if low <= k < high)


class PlainCoins:
    """Coins as plain numbers: those of `point`, or 1/2 everywhere."""

    def __init__(self, bits: int, point: tuple[int, ...] | None = None) -> None:
        self._bits = bits
        self._point = point
        self.count = 0

    def uniforms(self, shape: Sequence[int], library: str = "numpy", dtype: str | None = None) -> Any:
        """An array of that shape with the next coins."""
        size = prod(shape)
        start, self.count = self.count, self.count + size
        whole = [2 ** (self._bits - 1)] * size if self._point is None else self._point[start : self.count]
        array = np.array([k / 2**self._bits for k in whole], dtype=dtype or "float64").reshape(tuple(shape))
        if library == "python":
            return array.tolist()
        if library == "torch":
            return torch.from_numpy(array)
        return array

    def seed(self, name: str, value: int) -> int:
        """The value itself."""
        return value

    def exponentials(self, shape: Sequence[int], library: str = "numpy", dtype: str | None = None) -> Any:
        """Always raises `InvalidInput`."""
        raise InvalidInput("exponential noise cannot be bisected: a race has no thresholds; use the coins `symbols`")


#: Calls the function: takes the source of its coin arguments, and the coin of everything else.
Run: TypeAlias = Callable[[Any, Coin], list[Verdict]]
Blocks: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]


class Bisected:
    """Verdicts of a function by bisection; the law on the tree of the last call is kept for the enumeration."""

    def __init__(self, dtype: str | None) -> None:
        self._dtype = dtype
        self._tree: Any = None
        self._laws: dict[tuple[int, ...], dict[Blocks, Any]] = {}

    def verdicts(self, run: Run, tree: Any, coin: Coin) -> list[Verdict]:
        """The verdicts of one call, drawn from its law by one choice of the coin.

        run: calls the function. tree: the roots, by whose identity laws are kept. Raises as `Bisection` does.
        """
        if self._dtype is None:
            raise InvalidInput("bisection needs coins in float64 or float32, not rationals")
        if self._tree is None or any(a is not b for a, b in zip(self._tree, tree, strict=False)):
            self._tree, self._laws = tree, {}
        bits = BITS[self._dtype]
        first, recorder = PlainCoins(bits), RecordingCoin(coin)
        run(first, recorder)  # counts the coins, and records what the adapter draws beforehand
        drawn = tuple(recorder.answers)
        if drawn not in self._laws:

            def blocks(point: tuple[int, ...]) -> Blocks:
                result = run(PlainCoins(bits, point), ReplayingCoin(drawn))
                return tuple((verdict.accepted, verdict.correction) for verdict in result)

            self._laws[drawn] = Bisection(blocks, first.count, bits).law()
        law = self._laws[drawn]
        chosen = list(law)[coin.choose(list(law.values()))]
        return [Verdict(*block) for block in chosen]
