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
from draftproof.simulator.laws.structured.arrays import as_numpy, scatter_add, whole_numbers, zeros
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
    """Adds up the distribution of the accepted depth and keeps the largest deviation of every root.

    Contexts of one depth must come in order, so that of equal deviations the same one is reported as by `BlockLaw`.

    accepted: shape `(L + 1, n)`: `P(tau = d)` by root. deviation: shape `(n,)`.
    """

    def __init__(self, rows: RowSource, depth: int, progress: Progress | None = None) -> None:
        self._rows, self._progress = rows, progress
        like = rows.target(0, 0, 1)
        self.accepted = zeros(like, depth + 1, rows.roots)
        self.deviation = zeros(like, rows.roots)
        self._worst: Violation | None = None

    def node(self, depth: int, start: int, reach: Any, correction: Any, below: Any) -> None:
        self._add(depth, start, correction if self._rows.roots == 1 else correction.sum(-1), len(reach))
        expected = reach[:, None] * token_by_token(self._rows.target(depth, start, start + len(reach)))
        self._compare(depth, start, expected, correction + below)

    def leaf(self, depth: int, start: int, reach: Any) -> None:
        """See `LawSink`; a correction drawn from `p` cannot deviate."""
        self._add(depth, start, reach, prod(reach.shape))

    def metrics(self, root: int = 0) -> Metrics:
        """The metrics of one root; only a single one has the place of its largest deviation."""
        distribution = [as_python(mass) for mass in self.accepted[:, root]]
        deviation = as_python(self.deviation[root])
        return Metrics(distribution, deviation, None if deviation else deviation, self._worst)

    def _add(self, depth: int, start: int, masses: Any, count: int) -> None:
        if self._rows.roots == 1:
            self.accepted[depth, 0] = self.accepted[depth, 0] + masses.sum()
        else:
            flat = masses.reshape(-1)
            scatter_add(self.accepted[depth], self._root_of(depth, start, len(flat)), flat)
        if self._progress:
            self._progress(count)

    def _compare(self, depth: int, start: int, expected: Any, actual: Any) -> None:
        size = self._rows.vocab_size
        gap = abs(expected - actual)
        if self._rows.roots == 1:
            largest = gap.max()
            worst = self._worst
            first = worst is None or (largest == self.deviation[0] and depth < len(worst.context))
            if first or not largest <= self.deviation[0]:  # also for NaN
                row, token = divmod(int(gap.argmax()), size)
                place = context_at(start + row, depth, size)
                values = as_python(expected[row, token]), as_python(actual[row, token])
                self._worst = Violation(place, token, *values)
                self.deviation[0] = largest
            return
        width = size**depth
        for root in range(start // width, (start + len(gap) - 1) // width + 1):
            largest = gap[max(root * width - start, 0) : (root + 1) * width - start].max()
            if not largest <= self.deviation[root]:
                self.deviation[root] = largest

    def _root_of(self, depth: int, start: int, count: int) -> Any:
        return whole_numbers(self.accepted, range(start, start + count)) // self._rows.vocab_size**depth


#: What takes the masses of a chunk of contexts.
Sink: TypeAlias = LawSink | MetricsSink
