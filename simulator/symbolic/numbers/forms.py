"""Symbols with exact rules: linear forms and products of independent variables, chains, minima and maxima.

A variable occurs on one of three levels. Level 0 is its uniform `u`, level 1 the exponential variable `-log(u)`
(side 0) or `-log(1 - u)` (side 1), level 2 the logarithm of that. A logarithm leads one level up, an exponential one
down, so inverse-CDF sampling, exponential races and Gumbel noise are linear forms or products on some level.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from flint import fmpq

from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, as_float, exp, log, power
from draftproof.simulator.symbolic.numbers.functions import power as float_power
from draftproof.simulator.symbolic.numbers.symbol import Symbol, Variable
from draftproof.simulator.symbolic.where import refused_operation

#: (variable, coefficient or exponent, side); sorted, at most one for each variable and side.
Term: TypeAlias = tuple[Variable, fmpq, int]
Terms: TypeAlias = tuple[Term, ...]


def merged(one: Terms, other: Terms) -> Terms:
    """The terms of a sum (of exponents, for products)."""
    one[0][0].region.check(other[0][0])
    by_variable: dict[tuple[int, int], Term] = {(v.index, side): (v, a, side) for v, a, side in one}
    for v, a, side in other:
        before = by_variable.get((v.index, side))
        by_variable[v.index, side] = (before[0], before[1] + a, side) if before else (v, a, side)
    return tuple(term for _, term in sorted(by_variable.items(), key=lambda pair: pair[0]) if term[1])


def _refetched(terms: Terms, fetch: int | None) -> Terms:
    return tuple((v.region.refetch(v, fetch), a, side) for v, a, side in terms)


class Linear(Symbol):
    """`sum(a * x) + const` over variables on one level."""

    __slots__ = ("const", "level", "terms")
    rank = 1

    def __init__(self, level: int, terms: Terms, const: fmpq = ZERO) -> None:
        self.level = level
        self.terms = terms
        self.const = const

    @property
    def variable(self) -> Variable:
        return self.terms[0][0]

    def shift(self, c: fmpq) -> Symbol:
        return Linear(self.level, self.terms, self.const + c)

    def scale(self, c: fmpq) -> Symbol:
        return Linear(self.level, tuple((v, a * c, side) for v, a, side in self.terms), self.const * c)

    def plus(self, other: Symbol) -> Any:
        if not isinstance(other, Linear) or other.level != self.level:
            raise refused_operation("a sum of a uniform number and a function of another kind")
        terms = merged(self.terms, other.terms)
        const = self.const + other.const
        return Linear(self.level, terms, const) if terms else as_float(const)

    def linear(self) -> Linear:
        return self

    def product(self) -> Product | None:
        if len(self.terms) != 1 or self.level > 1:
            return None
        v, a, side = self.terms[0]
        if self.const == 0:
            return Product(self.level, ((v, ONE, side),), a)
        if self.level == 0 and self.const == -a:
            return Product(0, ((v, ONE, 1),), -a)
        return None

    def times(self, other: Symbol) -> Any:
        one, two = self.product(), other.product()
        if one is None or two is None:
            raise refused_operation("a product of sums")
        return two.times(one)

    def raised(self, exponent: fmpq) -> Any:
        if exponent == 1:
            return self
        form = self.product() or chain_on(self, "a power")
        return form.raised(exponent)

    def log(self) -> Any:
        form = self.product() or chain_on(self, "a logarithm")
        return form.log()

    def exp(self) -> Any:
        if self.level == 0:
            return chain_on(self, "an exponential").exp()
        sign = -1 if self.level == 1 else 1
        return Product(self.level - 1, tuple((v, sign * a, side) for v, a, side in self.terms), exp(self.const))

    def fetched(self, fetch: int | None) -> Symbol:
        return Linear(self.level, _refetched(self.terms, fetch), self.const)


class Product(Symbol):
    """`factor * prod(x ** a)` over variables on level 0 (`u`, or `1 - u` on side 1) or level 1."""

    __slots__ = ("factor", "level", "terms")
    rank = 2

    def __init__(self, level: int, terms: Terms, factor: fmpq) -> None:
        self.level = level
        self.terms = terms
        self.factor = factor

    @property
    def variable(self) -> Variable:
        return self.terms[0][0]

    def product(self) -> Product:
        return self

    def linear(self) -> Linear | None:
        if len(self.terms) != 1 or self.terms[0][1] != 1:
            return None
        v, _, side = self.terms[0]
        if self.level == 0 and side == 1:
            return Linear(0, ((v, -self.factor, 0),), self.factor)
        return Linear(self.level, ((v, self.factor, side),))

    def shift(self, c: fmpq) -> Symbol:
        if c == 0:
            return self
        form = self.linear() or chain_on(self, "a sum")
        return form.shift(c)

    def scale(self, c: fmpq) -> Symbol:
        return Product(self.level, self.terms, self.factor * c)

    def plus(self, other: Symbol) -> Any:
        one, two = self.linear(), other.linear()
        if one is None or two is None:
            raise refused_operation("a sum of products")
        return one.plus(two)

    def times(self, other: Symbol) -> Any:
        two = other.product()
        if two is None or two.level != self.level:
            raise refused_operation("a product of functions of different kinds")
        terms = merged(self.terms, two.terms)
        factor = self.factor * two.factor
        return Product(self.level, terms, factor) if terms else as_float(factor)

    def raised(self, exponent: fmpq) -> Any:
        if self.factor < 0 and exponent.q != 1:
            return math.nan
        factor = self.factor ** int(exponent.p) if exponent.q == 1 else power(self.factor, exponent)
        return Product(self.level, tuple((v, a * exponent, side) for v, a, side in self.terms), factor)

    def log(self) -> Any:
        if self.factor < 0:
            return math.nan
        sign = -1 if self.level == 0 else 1
        terms = tuple((v, sign * a, side) for v, a, side in self.terms)
        return Linear(self.level + 1, terms, log(self.factor))

    def exp(self) -> Any:
        form = self.linear() or chain_on(self, "an exponential")
        return form.exp()

    def fetched(self, fetch: int | None) -> Symbol:
        return Product(self.level, _refetched(self.terms, fetch), self.factor)


def chain_on(form: Linear | Product, operation: str) -> Chain:
    """A chain that starts with a form of one variable; anything else is refused."""
    if len(form.terms) != 1:
        raise refused_operation(f"{operation} of a function of several random numbers")
    return Chain(form, ())


#: Largest constant beside a random number that guards a logarithm or a division against zero.
GUARD = fmpq(1, 10**6)


def unguarded(form: Linear) -> Linear | None:
    """The form without a tiny constant (`u + 1e-10`), None if it has none."""
    if len(form.terms) != 1:
        return None
    a = form.terms[0][1]
    if 0 < abs(form.const) <= GUARD * abs(a):
        return Linear(form.level, form.terms)
    if form.level == 0 and 0 < abs(form.const + a) <= GUARD * abs(a):
        return Linear(0, form.terms, -a)
    return None


#: One strictly monotone function: its name and its constant.
Step: TypeAlias = tuple[str, fmpq]


class Chain(Symbol):
    """A composition of strictly monotone functions of a form with one variable.

    ideal: the same without a constant that guards against zero, which is used where the chain has no exact rule.
    """

    __slots__ = ("form", "ideal", "steps")
    rank = 3

    def __init__(self, form: Linear | Product, steps: tuple[Step, ...], ideal: Any = None) -> None:
        self.form = form
        self.steps = steps
        if ideal is None and not steps and isinstance(form, Linear):
            ideal = unguarded(form)
        self.ideal = ideal

    @property
    def variable(self) -> Variable:
        return self.form.variable

    def _then(self, name: str, c: fmpq, ideal: Any) -> Chain:
        return Chain(self.form, (*self.steps, (name, c)), ideal)

    def shift(self, c: fmpq) -> Symbol:
        return self._then("add", c, self.ideal + c if self.ideal is not None else None)

    def scale(self, c: fmpq) -> Symbol:
        return self._then("mul", c, self.ideal * c if self.ideal is not None else None)

    def raised(self, exponent: fmpq) -> Any:
        if not self > 0:
            raise refused_operation("a power of a number that may be negative")
        return self._then("pow", exponent, self.ideal**exponent if self.ideal is not None else None)

    def log(self) -> Any:
        if not self > 0:
            return math.nan
        return self._then("log", ZERO, self.ideal.log() if self.ideal is not None else None)

    def exp(self) -> Any:
        return self._then("exp", ZERO, self.ideal.exp() if self.ideal is not None else None)

    def plus(self, other: Symbol) -> Any:
        return self._idealised("a sum with another random number") + other

    def times(self, other: Symbol) -> Any:
        return self._idealised("a product with another random number") * other

    def _idealised(self, operation: str) -> Any:
        if self.ideal is None:
            raise refused_operation(operation)
        self.variable.region.note_guard()
        return self.ideal

    def fetched(self, fetch: int | None) -> Symbol:
        form: Any = self.form.fetched(fetch)
        return Chain(form, self.steps, self.ideal.fetched(fetch) if self.ideal is not None else None)


class Extreme(Symbol):
    """The minimum or maximum of numbers of which at least one is a symbol; each comparison decides what it needs."""

    __slots__ = ("kind", "members", "source")
    rank = 9

    def __init__(self, kind: str, members: tuple[Any, ...]) -> None:
        self.kind = kind
        self.members = members
        first = next(member for member in members if isinstance(member, Symbol))
        self.source: Symbol = first.source if type(first) is Extreme else first

    @property
    def variable(self) -> Variable:
        return self.source.variable

    def _of_members(self, on_symbol: Any, on_number: Any, falling: bool = False) -> Any:
        kind = {"min": "max", "max": "min"}[self.kind] if falling else self.kind
        members = (on_symbol(x) if isinstance(x, Symbol) else on_number(float(x)) for x in self.members)
        return self.variable.region.extreme(kind, tuple(members))

    def shift(self, c: fmpq) -> Any:
        return self._of_members(lambda x: x.shift(c), lambda x: x + as_float(c))

    def scale(self, c: fmpq) -> Any:
        return self._of_members(lambda x: x.scale(c), lambda x: x * as_float(c), falling=c < 0)

    def raised(self, exponent: fmpq) -> Any:
        member = self.chosen()
        return member.raised(exponent) if isinstance(member, Symbol) else float_power(member, as_float(exponent))

    def log(self) -> Any:
        bounds = self.variable.region.bounds
        if all(bounds(x)[0] >= 0 for x in self.members):
            return self._of_members(lambda x: x.log(), _log)
        member = self.chosen()  # a logarithm does not keep the order of numbers below 0
        return member.log() if isinstance(member, Symbol) else _log(member)

    def exp(self) -> Any:
        return self._of_members(lambda x: x.exp(), lambda x: math.exp(x) if x < 700 else math.inf)

    def plus(self, other: Symbol) -> Any:
        return self._of_members(lambda x: x + other, lambda x: x + other)

    def times(self, other: Symbol) -> Any:
        return self._of_members(lambda x: x * other, lambda x: x * other, falling=not other > 0)

    def chosen(self) -> Any:
        """The member that it is, decided now."""
        best = self.members[0]
        for member in self.members[1:]:
            if (member < best) if self.kind == "min" else (member > best):
                best = member
        return best.chosen() if isinstance(best, Extreme) else best

    def fetched(self, fetch: int | None) -> Any:
        return self._of_members(lambda x: x.fetched(fetch), lambda x: x)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else (-math.inf if value == 0 else math.nan)
