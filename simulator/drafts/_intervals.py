"""Pieces of a draft's paths: intervals of their distribution function, rescaled to one prefix after the other.

A path is a number in `[0, 1)`: the row after a prefix cuts the interval of the prefix into those of its children, in a
fixed order of the tokens. Absolute bounds of deep prefixes would have no digits left in floats; an interval that is
kept as shares of its prefix has all of them, and is the whole prefix as soon as no bound lies within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from draftproof.simulator.drafts._adapting import number
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Vector


@dataclass(frozen=True)
class Interval:
    """The paths between two bounds, each a share of the mass of all paths after the prefix.

    start, stop: `0 <= start < stop <= 1`, fractions, or numbers of the arithmetic of the rows. descending: whether the
    likeliest tokens come first (ties by number), in place of the order of the numbers.
    """

    start: Any = Fraction(0)
    stop: Any = Fraction(1)
    descending: bool = True

    def law(self, row: Vector) -> Vector:
        """See `Piece.law`: the row where the interval holds all, else the normalised part of it that lies within."""
        if self.start == 0 and self.stop == 1:
            return row
        order, first, last, start, stop = self._cut(row)
        law = row * 0
        within = order[first : last + 1]
        law[within] = row[within]
        law[order[last]] *= stop
        law[order[first]] -= row[order[first]] * start
        return law / law.sum()

    def below(self, row: Vector, token: int) -> Interval:
        """See `Piece.below`."""
        if self.start == 0 and self.stop == 1:
            return self
        order, first, last, start, stop = self._cut(row)
        return Interval(
            start if token == order[first] else Fraction(0),
            stop if token == order[last] else Fraction(1),
            self.descending,
        )

    def _cut(self, row: Vector) -> tuple[Any, int, int, Any, Any]:
        """The order of the tokens, the places in it of the two that hold the bounds, and the bounds within these."""
        if not row.sum() > 0:
            raise InvalidInput(f"a row of the draft sums to {row.sum()}; to draw from a piece of it, it must have mass")
        order = (-row if self.descending else row * 0).argsort(stable=True)
        ends = row[order].cumsum(0)
        start, stop = (_part(ends[-1], share) for share in (self.start, self.stop))
        first, last = int((ends <= start).sum()), int((ends < stop).sum())
        return order, first, last, _share(ends, first, start), _share(ends, last, stop)


def _part(total: Any, share: Any) -> Any:
    """A share of a number, in its arithmetic."""
    return total * share.numerator / share.denominator if isinstance(share, Fraction) else total * share


def _share(ends: Vector, place: int, bound: Any) -> Any:
    """A bound as a share of the token at this place of the order."""
    before = ends[place - 1] if place else ends[0] * 0
    return number((bound - before) / (ends[place] - before))
