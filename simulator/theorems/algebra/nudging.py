"""A point with another sign of one atom, found by moving one variable of a point at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Condition, Point, Ring, rational

#: How far from the tie towards the end of the unit interval a variable is moved, as eighths or less.
STEPS = ((1, 4), (1, 2), (1, 32), (3, 4), (1, 512))


def nudged(ring: Ring, conditions: frozenset[Condition], atom: int, near: Point) -> Point | None:
    """A point that meets all conditions and differs from `near` in one variable; None where none is found so."""
    wanted = next(mask for number, mask in conditions if number == atom)
    polynomial = ring.atoms[atom]
    for position in sorted(ring.support(atom)):
        if polynomial.degrees()[position] != 1:
            continue
        slope = ring.at(polynomial.derivative(position), near)
        if slope == 0:
            continue
        tie = near[position] - ring.at(polynomial, near) / slope
        touched = [(number, mask) for number, mask in conditions if position in ring.support(number)]
        for value in _candidates(tie, slope, wanted):
            point = (*near[:position], value, *near[position + 1 :])
            if all(ring.sign_at(number, point) & mask for number, mask in touched):
                return point
    return None


def _candidates(tie: Any, slope: Any, wanted: int) -> Iterator[Any]:
    """Values of a variable with which the atom has a wanted sign; `tie` is where it is zero."""
    for sign, up in ((POSITIVE, slope > 0), (NEGATIVE, slope < 0)):
        end = rational(1 if up else 0)
        if wanted & sign and (end > tie) == up:
            low = max(tie, rational(0)) if up else min(tie, rational(1))
            for part, whole in STEPS:
                middle = low + (end - low) * rational(part, whole)
                yield simplest_between(*sorted((middle, low + (end - low) * rational(3 * part, 4 * whole))))
    if wanted & ZERO:
        yield tie


def simplest_between(low: Any, high: Any) -> Any:
    """The rational with the smallest denominator in an interval of numbers that are not negative."""
    floor = low.floor()
    if low in (floor, high):
        return low
    if floor < high.floor() or high == floor + 1:
        return rational(int(floor) + 1)
    return floor + 1 / simplest_between(1 / (high - floor), 1 / (low - floor))
