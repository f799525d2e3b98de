"""Uniform numbers of 16 bits, which torch makes of a uniform number of 32 bits: a step function of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, as_float
from draftproof.simulator.symbolic.numbers.functions import UNARY, power
from draftproof.simulator.symbolic.numbers.symbol import Symbol, Variable
from draftproof.simulator.symbolic.where import refusal

#: A number that may have more values than this is not decided.
MOST = 4096


@dataclass(frozen=True)
class Grid:
    """The rising values of a generator of a type, and the probability of all values below each, with 1 at the end."""

    dtype: Any
    values: tuple[fmpq, ...]
    below: tuple[fmpq, ...]

    def at(self, u: float) -> float:
        """The value that a uniform number gives."""
        return as_float(self.values[bisect_right(self.below, fmpq(*u.as_integer_ratio())) - 1])


class Stepped(Symbol):
    """`factor * value + const`, where a variable decides the value on a grid.

    Comparisons with numbers decide what they ask; functions of it, and other random numbers beside it, its value.
    """

    __slots__ = ("const", "factor", "grid", "terms")
    rank = 15

    def __init__(self, variable: Variable, grid: Grid, factor: fmpq = ONE, const: fmpq = ZERO) -> None:
        self.terms = ((variable, ONE, 0),)
        self.grid = grid
        self.factor = factor
        self.const = const

    @property
    def variable(self) -> Variable:
        return self.terms[0][0]

    def is_of(self, dtype: Any) -> bool:
        """Whether it is a value of its generator, of this type."""
        return bool(self.grid.dtype == dtype and self.factor == 1 and self.const == 0)

    def is_below(self, t: fmpq, strict: bool) -> bool:
        """Whether it is below a number, or equal to it if not strict."""
        grid, at = self.grid, (t - self.const) / self.factor
        find = bisect_left if strict == (self.factor > 0) else bisect_right
        below = bool(self.variable.region.below(self.variable, grid.below[find(grid.values, at)], True))
        return below if self.factor > 0 else not below

    def decided(self) -> float:
        """Its value."""
        region, grid = self.variable.region, self.grid
        low, high = region.interval(self.variable.index)
        first, last = bisect_right(grid.below, low) - 1, bisect_left(grid.below, high) - 1
        cell = region.choose_cell(self.variable, grid.below[first + 1 : last + 1]) if last - first <= MOST else None
        if cell is None:
            raise refusal(
                f"a random number of {grid.dtype} decides by more than a comparison, which cannot be followed"
            )
        return as_float(self.factor * grid.values[first + cell] + self.const)

    def shift(self, c: fmpq) -> Symbol:
        return Stepped(self.variable, self.grid, self.factor, self.const + c)

    def scale(self, c: fmpq) -> Symbol:
        return Stepped(self.variable, self.grid, self.factor * c, self.const * c)

    def raised(self, exponent: fmpq) -> Any:
        return power(self.decided(), as_float(exponent))

    def log(self) -> Any:
        return UNARY["log"](self.decided())

    def exp(self) -> Any:
        return UNARY["exp"](self.decided())

    def plus(self, other: Symbol) -> Any:
        return other + self.decided()

    def times(self, other: Symbol) -> Any:
        return other * self.decided()

    def fetched(self, fetch: int | None) -> Symbol:
        return Stepped(self.variable.region.refetch(self.variable, fetch), self.grid, self.factor, self.const)
