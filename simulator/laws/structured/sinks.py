"""Receivers of the masses that an engine computes: a full block law, or running metrics in little memory.

Engines deliver `n` contexts of one depth at a time, in chunks: the reach of each, the correction masses `e(c, y)` and
the reach of the children `D(c, y)`.
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.structured.arrays import as_numpy, zeros
from draftproof.simulator.laws.structured.rows import RowSource
from draftproof.simulator.progress import Progress
from draftproof.simulator.tables import context_at
from draftproof.simulator.vectors import token_by_token


class LawSink:
    """Keeps every correction mass: the block law of one instance, or of `n` one after the other."""

    def __init__(self, rows: RowSource, depth: int, progress: Progress | None = None) -> None:
        self._rows, self._progress = rows, progress
        like = rows.target(0, 0, 1)
        size = rows.vocab_size
        self.correction = [zeros(like, rows.roots * size**d, size) for d in range(depth + 1)]

    def node(self, depth: int, start: int, reach: Any, correction: Any, below: Any) -> None:
        """Contexts with children: `reach` of shape `(n,)`, `correction` and `below` of shape `(n, V)`.

        start: the position of the first.
        """
        self.correction[depth][start : start + len(reach)] = correction
        if self._progress:
            self._progress(len(reach))

    def leaf(self, depth: int, start: int, reach: Any) -> None:
        """Contexts of depth `L`, whose correction is drawn from `p`; `reach` of any shape, in order."""
        column = reach.reshape(-1, 1)
        self.node(depth, start, column, column * self._rows.target(depth, start, start + len(column)), None)

    def law(self) -> BlockLaw:
        """The law, as numpy arrays."""
        return BlockLaw([as_numpy(masses) for masses in self.correction], self._rows.arithmetic)


class MetricsSink:
    """Adds up the distribution of the accepted depth and keeps the largest deviation, of a single root.

    Contexts of one depth must come in order, so that of equal deviations the same one is reported as by `BlockLaw`.
    """

    def __init__(self, rows: RowSource, depth: int, progress: Progress | None = None) -> None:
        self._rows, self._progress = rows, progress
        like = rows.target(0, 0, 1)
        self._accepted = zeros(like, depth + 1)
        self._largest: Any = zeros(like, 1)[0]
        self._worst: Violation | None = None

    def node(self, depth: int, start: int, reach: Any, correction: Any, below: Any) -> None:
        self._add(depth, correction, len(reach))
        expected = reach[:, None] * token_by_token(self._rows.target(depth, start, start + len(reach)))
        self._compare(depth, start, expected, correction + below)

    def leaf(self, depth: int, start: int, reach: Any) -> None:
        """See `LawSink`; a correction drawn from `p` cannot deviate."""
        self._add(depth, reach, prod(reach.shape))

    def metrics(self) -> Metrics:
        """The metrics."""
        deviation = as_python(self._largest)
        distribution = [as_python(mass) for mass in self._accepted]
        return Metrics(distribution, deviation, None if deviation else deviation, self._worst)

    def _add(self, depth: int, masses: Any, count: int) -> None:
        self._accepted[depth] = self._accepted[depth] + masses.sum()
        if self._progress:
            self._progress(count)

    def _compare(self, depth: int, start: int, expected: Any, actual: Any) -> None:
        gap = abs(expected - actual)
        largest, worst = gap.max(), self._worst
        first = worst is None or (largest == self._largest and depth < len(worst.context))
        if first or not largest <= self._largest:  # also for NaN
            row, token = divmod(int(gap.argmax()), self._rows.vocab_size)
            place = context_at(start + row, depth, self._rows.vocab_size)
            self._worst = Violation(place, token, as_python(expected[row, token]), as_python(actual[row, token]))
            self._largest = largest


#: What takes the masses of a chunk of contexts.
Sink: TypeAlias = LawSink | MetricsSink
