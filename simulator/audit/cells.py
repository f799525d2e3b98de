"""The cells of random numbers on which a program gives one answer, found by asking it.

A box of numbers in which all that was asked gave one answer is a cell. Where two points differ, one axis on which the
answer changes is bisected, and the box is cut there. So verifiers that compare each number with a bound are known up to
`RESOLUTION`; what bisecting can miss is `MISSED`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, log
from operator import itemgetter
from typing import Any

import numpy as np

from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.symbolic.where import SAMPLE

#: Cuts are known up to this distance.
RESOLUTION = 2.0**-40
#: Numbers closer to 0 and 1 are not asked for: a program that reads them as float32 would take these for 1.
ENDS = 2.0**-24
#: Random points that are asked for in a box, by its share of all numbers, and at least.
POINTS, FEWEST = 1000, 16
#: Axes whose corners are all asked for; of more as many random ones.
CORNERS = 6
#: Cells of one call at most.
MOST = 300
#: Points of an interval that are asked for at once while it is bisected.
_PARTS = 8
#: A share of the numbers of a call whose answers differ from those of the cells around them is seen with a probability
#: of 1 - 1e-6, if it is at least this.
MISSED = log(1e6) / POINTS

Point = tuple[float, ...]


@dataclass(frozen=True)
class Cut:
    """A box that is cut: what is below `edge` on this axis, and what is not; each is a cut again, or an answer."""

    axis: int
    edge: float
    below: Any
    above: Any


class Cells:
    """The cells of one call. ask: gives the answers, lists, at several points.

    Raises `NotFollowed` where the answers are not a function of the numbers, or are constant on too few boxes.
    """

    def __init__(self, ask: Callable[[Sequence[Point]], list[Any]], axes: int) -> None:
        self._ask, self._axes = ask, axes
        self._random = np.random.default_rng(0)
        self._known: dict[Point, Any] = {}
        self.count = 0
        self.root = self._cut([ENDS] * axes, [1 - ENDS] * axes, [])

    def answer(self, numbers: Sequence[Any]) -> Any:
        """That of the cell in which these numbers are: symbols or floats."""
        place = self.root
        while isinstance(place, Cut):
            place = place.below if numbers[place.axis] < place.edge else place.above
        return place

    def _cut(self, low: Sequence[float], high: Sequence[float], inside: Sequence[Point]) -> Any:
        """The cells of a box; inside: points in it whose answers are known."""
        corners = self._corners(low, high)
        inside = [*inside, *self._more(low, high, len(inside))]
        self._learn([*corners, *inside])
        pair = self._differing(corners, inside, high)
        if pair is None:
            self.count += 1
            if self.count > MOST:
                raise NotFollowed(
                    f"its answers are constant on no {MOST:,} boxes of random numbers (does it multiply or race "
                    f"them?), which bisecting cannot follow; {SAMPLE}"
                )
            return self._known[corners[0]]
        axis, last, edge = self._edge(*pair)
        below = self._cut(low, _moved(high, axis, last), [point for point in inside if point[axis] <= last])
        above = self._cut(_moved(low, axis, edge), high, [point for point in inside if point[axis] >= edge])
        return Cut(axis, edge, below, above)

    def _corners(self, low: Sequence[float], high: Sequence[float]) -> list[Point]:
        if self._axes <= CORNERS:
            return list(product(*zip(low, high, strict=True)))
        chosen = self._random.integers(2, size=(2**CORNERS, self._axes))
        return list(map(tuple, np.where(chosen, high, low).tolist()))

    def _more(self, low: Sequence[float], high: Sequence[float], known: int) -> list[Point]:
        """Random points of a box, so that with those that are known there are as many as its share wants."""
        wanted = max(FEWEST, ceil(POINTS * float(np.prod(np.subtract(high, low)))))
        points = self._random.uniform(low, high, size=(max(wanted - known, 0), self._axes))
        return list(map(tuple, points.tolist()))

    def _learn(self, points: Sequence[Point]) -> None:
        """Ask for what is not known, and for some of it once more."""
        new = list(dict.fromkeys(point for point in points if point not in self._known))
        again = new[-FEWEST:]
        answers = self._ask([*new, *again])
        self._known.update(zip(new, answers, strict=False))
        if answers[len(new) :] != [self._known[point] for point in again]:
            raise NotFollowed(
                "it gives two answers to the same request with the same numbers; it must decide with the numbers that "
                f"it gets, and keep no state; or let it draw its own, and {SAMPLE}"
            )

    def _differing(
        self, corners: Sequence[Point], inside: Sequence[Point], high: Sequence[float]
    ) -> tuple[int, Point, Point] | None:
        """An axis and two points of different answers that differ there alone; None where all answers are alike."""
        first = corners[0]
        other = next((point for point in (*corners, *inside) if self._known[point] != self._known[first]), None)
        if other is None:
            return None
        for axis, corner in product(range(self._axes), corners):  # along an edge of the box, so that few are cut
            beside = _moved(corner, axis, high[axis])
            if self._known.get(beside, self._known[corner]) != self._known[corner]:
                return axis, corner, beside
        walk = [(*other[:axis], *first[axis:]) for axis in range(self._axes + 1)]
        self._learn(walk)
        axis = next(place for place in range(self._axes) if self._known[walk[place]] != self._known[walk[place + 1]])
        return axis, walk[axis], walk[axis + 1]

    def _edge(self, axis: int, point: Point, other: Point) -> tuple[int, float, float]:
        """The axis, and two neighbours on it between which the answer changes, at a distance of `RESOLUTION`."""
        low, high = sorted((point, other), key=itemgetter(axis))
        before, start, end = self._known[low], low[axis], high[axis]
        while end - start > RESOLUTION:
            numbers = [start + (end - start) * part / _PARTS for part in range(1, _PARTS)]
            answers = self._ask([_moved(low, axis, number) for number in numbers])
            changed = next((place for place, answer in enumerate(answers) if answer != before), len(answers))
            start, end = [start, *numbers, end][changed : changed + 2]
        self._learn([_moved(low, axis, start), _moved(low, axis, end)])
        return axis, start, end


def _moved(point: Sequence[float], axis: int, number: float) -> Point:
    return *point[:axis], number, *point[axis + 1 :]
