"""The minimum or maximum of random numbers, decided only as far as a comparison asks."""

from __future__ import annotations

import math
from typing import Any

from flint import fmpq

from draftproof.simulator.symbolic.numbers.exact import as_float
from draftproof.simulator.symbolic.numbers.functions import power
from draftproof.simulator.symbolic.numbers.symbol import Symbol, Variable


class Extreme(Symbol):
    """The minimum or maximum of numbers of which at least one is random; decided only as far as a comparison asks."""

    __slots__ = ("kind", "members", "source")
    rank = 9

    def __init__(self, kind: str, members: tuple[Any, ...]) -> None:
        self.kind = kind
        self.members = members
        self.source = next(member for member in members if isinstance(member, Symbol))

    @property
    def variable(self) -> Variable:
        return self.source.variable

    def _each(self, on_symbol: Any, on_number: Any, falling: bool = False) -> Any:
        kind = {"min": "max", "max": "min"}[self.kind] if falling else self.kind
        members = (on_symbol(x) if isinstance(x, Symbol) else on_number(float(x)) for x in self.members)
        return self.variable.region.extreme(kind, tuple(members))

    def shift(self, c: fmpq) -> Any:
        return self._each(lambda x: x.shift(c), lambda x: x + as_float(c))

    def scale(self, c: fmpq) -> Any:
        return self._each(lambda x: x.scale(c), lambda x: x * as_float(c), falling=c < 0)

    def raised(self, exponent: fmpq) -> Any:
        found = self.chosen()
        return found.raised(exponent) if isinstance(found, Symbol) else power(found, as_float(exponent))

    def log(self) -> Any:
        bounds = self.variable.region.bounds
        if all(bounds(x)[0] >= 0 for x in self.members):
            return self._each(lambda x: x.log(), _log)
        found = self.chosen()  # a logarithm does not keep the order of numbers below 0
        return found.log() if isinstance(found, Symbol) else _log(found)

    def exp(self) -> Any:
        return self._each(lambda x: x.exp(), lambda x: math.exp(x) if x < 700 else math.inf)

    def plus(self, other: Symbol) -> Any:
        return self._each(lambda x: x + other, lambda x: x + other)

    def times(self, other: Symbol) -> Any:
        return self._each(lambda x: x * other, lambda x: x * other, falling=not other > 0)

    def chosen(self) -> Any:
        """The member that it is, decided now."""
        best = self.members[0]
        for member in self.members[1:]:
            if (member < best) if self.kind == "min" else (member > best):
                best = member
        return best.chosen() if isinstance(best, Extreme) else best

    def fetched(self, fetch: int, fresh: bool) -> Any:
        return self._each(lambda x: x.fetched(fetch, fresh), lambda x: x)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else (-math.inf if value == 0 else math.nan)
