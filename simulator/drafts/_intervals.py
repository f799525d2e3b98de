"""Pieces of a draft's paths: intervals of their distribution function, rescaled to one prefix after the other.

A path is a number in `[0, 1)`: the row after a prefix cuts the interval of the prefix into those of its children, in a
fixed order of the tokens. Absolute bounds of deep prefixes would have no digits left in floats; an interval that is
kept as shares of its prefix has all of them, and is the whole prefix as soon as no bound lies within it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from draftproof.simulator.drafts._adapting import number
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import is_tensor, top_tokens

T = TypeVar("T")

#: A bound is searched among so many of the likeliest tokens first, then among 16 times as many.
HEAD = 64
#: Where a shorter part of a prefix begins is not told by the digits of floats.
SHORTEST = 2.0**-40
#: What is computed from longer rows is kept as long as these: a tree is drawn and verified with the same ones.
LONG = 2048


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
        """See `Piece.law`: the part of the row that lies within, normalised; the row itself where all does."""
        if self.start == 0 and self.stop == 1:
            return row
        return _kept(row, self, lambda: self._law(row))

    def below(self, row: Vector, token: int) -> Interval:
        """See `Piece.below`."""
        bounds: list[Any] = [Fraction(0), Fraction(1)]
        for end, share in enumerate((self.start, self.stop)):
            if 0 < share < 1:
                _, border, part = self._cut(row, share)
                bounds[end] = part if border == token else bounds[end]
        return Interval(bounds[0], bounds[1], self.descending)

    def ordered(self, row: Vector) -> tuple[Any, Any]:
        """The tokens that the law can draw, in the order of the paths, and their probabilities: numpy arrays."""
        law, masses = (x.cpu().numpy() if is_tensor(x) else x for x in (self.law(row), row))
        tokens = np.flatnonzero(law > 0)
        if self.descending:
            tokens = tokens[(-masses[tokens]).argsort(stable=True)]
        return tokens, law[tokens]

    def part(self, first: Any, last: Any) -> Interval:
        """The part between two shares of its mass; floats that are closer than `SHORTEST` give the whole prefix."""
        start, stop = (_part(last * 0 + 1, share) for share in (self.start, self.stop))
        first, last = (number(start + (stop - start) * share) for share in (first, last))
        if isinstance(last, float) and last - first < SHORTEST:
            return Interval(descending=self.descending)
        return Interval(first, last, self.descending)

    def _law(self, row: Vector) -> Vector:
        law = row * 1
        if self.stop < 1:
            before, border, part = self._cut(row, self.stop)
            law = row * 0
            law[before] = row[before]
            law[border] = row[border] * part
        if self.start > 0:
            before, border, part = self._cut(row, self.start)
            law[before] = row[before] * 0
            law[border] = law[border] - row[border] * part
        law = law / law.sum()
        if not is_tensor(law):
            law.setflags(write=False)
        return law

    def _cut(self, row: Vector, share: Any) -> tuple[Any, int, Any]:
        """The tokens wholly before a bound, the token that holds it, and the share of this token that lies before it.

        Raises `InvalidInput` for a row without mass.
        """
        return _kept(row, (share, self.descending), lambda: _cut(row, share, self.descending))


def _cut(row: Vector, share: Any, descending: bool) -> tuple[Any, int, Any]:
    total = row.sum()
    if not total > 0:
        raise InvalidInput(f"a row of the draft sums to {total}; to draw from a piece of it, it must have mass")
    size = HEAD
    while True:
        order = top_tokens(row, size) if descending else ()
        ends = (row[list(order)] if descending else row).cumsum(0)
        bound = _part(total if len(ends) < len(row) else ends[-1], share)
        place = int((ends <= bound).sum())
        if place < len(ends):
            before = ends[place - 1] if place else ends[0] * 0
            part = number((bound - before) / (ends[place] - before))
            return (list(order[:place]), order[place], part) if descending else (slice(place), place, part)
        size *= 16


def _part(total: Any, share: Any) -> Any:
    """A share of a number, in its arithmetic."""
    return total * share.numerator / share.denominator if isinstance(share, Fraction) else total * share


#: By the identity of a row: the row, and what was computed from it.
_computed: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}


def _kept(row: Vector, key: Any, compute: Callable[[], T]) -> T:
    """What `compute` gives; for a long row, or one of floats that nobody changes, it is computed once."""
    constant = not is_tensor(row) and row.dtype == np.float64 and not row.flags.writeable
    if len(row) < LONG and not constant:
        return compute()
    place = id(row)
    if place not in _computed or _computed[place][0]() is not row:
        _computed[place] = weakref.ref(row, lambda _: _computed.pop(place, None)), {}
    known = _computed[place][1]
    if key not in known:
        known[key] = compute()
    value: T = known[key]
    return value
