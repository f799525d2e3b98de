"""Groups of random numbers that linear constraints tie together, and their exact probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from flint import fmpq

from draftproof.simulator.symbolic.knowledge.measure import measure
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, log
from draftproof.simulator.symbolic.numbers.symbol import Variable
from draftproof.simulator.symbolic.where import refusal

#: A constraint: coefficients by variable, constant; the sum must be <= 0.
Tie: TypeAlias = tuple[dict[int, fmpq], fmpq]
#: Where the uniform of a variable may lie.
Interval: TypeAlias = tuple[fmpq, fmpq]


@dataclass
class Group:
    """Variables that are tied on one level, each on one side (see `forms`).

    mass: the probability of the whole group, where it is known without computing it.
    """

    level: int
    sides: dict[int, int]
    ties: list[Tie] = field(default_factory=list)
    mass: fmpq | None = None

    def probability(self, intervals: Mapping[int, Interval]) -> fmpq:
        """The probability of all ties and of the intervals of the variables."""
        if self.mass is not None:
            return self.mass
        order = {i: position for position, i in enumerate(sorted(self.sides))}
        bounds = tuple(_bounds(self.level, intervals[i], self.sides[i]) for i in order)
        rows = []
        for coefficients, const in self.ties:
            row = [ZERO] * len(order)
            for i, a in coefficients.items():
                row[order[i]] = a
            rows.append((tuple(row), const))
        return measure(self.level, bounds, tuple(rows))

    def narrowed(self, tie: Tie) -> Group:
        """The group with one more tie."""
        return Group(self.level, self.sides, [*self.ties, tie])


def _bounds(level: int, interval: Interval, side: int) -> tuple[fmpq, fmpq | None]:
    low, high = interval
    if level == 0:
        return low, high
    if side:
        low, high = ONE - high, ONE - low
    return -log(high), (-log(low) if low > 0 else None)


def distinct(groups: Iterable[Group | None]) -> list[Group]:
    """The groups among them, each once."""
    found: list[Group] = []
    for group in groups:
        if group is not None and not any(group is other for other in found):
            found.append(group)
    return found


def union(
    level: int,
    groups: Sequence[Group],
    loose: Sequence[int],
    terms: Sequence[tuple[Variable, fmpq, int]],
    intervals: Mapping[int, Interval],
) -> Group:
    """One group of several groups and loose variables; terms say on which side a constraint sees each variable.

    Raises `InvalidVerifier` where one variable is seen on both sides.
    """
    sides = {i: side for group in groups for i, side in group.sides.items()}
    for v, _, side in terms:
        if sides.setdefault(v.index, side) != side:
            raise refusal("-log(u) and -log(1 - u) of one random number are compared with others; that is refused")
    mass = ONE
    for group in groups:
        mass *= group.probability(intervals)
    for i in loose:
        mass *= intervals[i][1] - intervals[i][0]
    return Group(level, sides, [tie for group in groups for tie in group.ties], mass)
