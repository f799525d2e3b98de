"""Comparisons of symbols, reduced to linear constraints on level 0 or 1 (see `forms`) that a region can decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq

from draftproof.simulator.numbers import real
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, exp, log, power
from draftproof.simulator.symbolic.numbers.forms import Chain, Extreme, Linear, Product, Terms
from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.numbers.stepped import Stepped
from draftproof.simulator.symbolic.numbers.symbol import Symbol, Variable, identity
from draftproof.simulator.symbolic.where import refused_operation

#: Rounding to one of more whole numbers than this is refused.
MAX_CELLS = 4096


#: Orders by less: whether the sides are exchanged, and whether it is strict.
_ORDERS = {"<": (False, True), ">": (True, True), "<=": (False, False), ">=": (True, False)}


def compare(region: Any, operation: str, x: Any, y: Any) -> bool:
    """The truth of `x operation y`; at least one is a symbol. Raises `InvalidVerifier` where there is no exact rule."""
    for item in (x, y):
        if isinstance(item, Nondeterministic):
            item.refuse()
    try:
        if operation in _ORDERS:
            turned, strict = _ORDERS[operation]
            return _less(region, y, x, strict) if turned else _less(region, x, y, strict)
        return _equal(region, x, y)
    except RecursionError:  # a limit of this program, which the audited code could catch as its own
        raise refused_operation("a comparison, with minima and maxima nested too deeply,") from None


def _equal(region: Any, x: Any, y: Any) -> bool:
    x = x.chosen() if isinstance(x, Extreme) else x
    y = y.chosen() if isinstance(y, Extreme) else y
    if x is y:
        return True
    if region.settings.boundary or isinstance(x, Stepped) or isinstance(y, Stepped):
        return _less(region, x, y, False) and not _less(region, x, y, True)
    if not (isinstance(x, Symbol) and isinstance(y, Symbol)):
        return bool(not isinstance(x, Symbol) and not isinstance(y, Symbol) and x == y)
    return _identical(x, y)


def _identical(x: Symbol, y: Symbol) -> bool:
    """Whether two symbols are the same function of the same variables; others differ almost surely."""
    if isinstance(x, Chain) and isinstance(y, Chain):
        return x.steps == y.steps and _identical(x.form, y.form)
    one, two = x.linear(), y.linear()
    if one is not None and two is not None:
        return _same(one, two) and bool(one.const == two.const)
    return isinstance(x, Product) and isinstance(y, Product) and _same(x, y) and bool(x.factor == y.factor)


def _same(x: Linear | Product, y: Linear | Product) -> bool:
    plain = [[(v.index, a, side) for v, a, side in form.terms] for form in (x, y)]
    return x.level == y.level and plain[0] == plain[1]


def _less(region: Any, x: Any, y: Any, strict: bool) -> bool:
    """Whether `x < y` (strict) or `x <= y`."""
    if isinstance(x, Extreme):
        quantifier = any if x.kind == "min" else all
        return quantifier(_less(region, member, y, strict) for member in x.members)
    if isinstance(y, Extreme):
        quantifier = any if y.kind == "max" else all
        return quantifier(_less(region, x, member, strict) for member in y.members)
    if isinstance(x, Symbol) and isinstance(y, Symbol):
        x, y = (item.decided() if isinstance(item, Stepped) else item for item in (x, y))
    if isinstance(x, Symbol):
        return _two_symbols(region, x, y, strict) if isinstance(y, Symbol) else _symbol_and_real(region, x, y, strict)
    if isinstance(y, Symbol):
        return not _symbol_and_real(region, y, x, not strict) if x == x else False  # noqa: PLR0124 - NaN
    return bool(x < y if strict else x <= y)


def _symbol_and_real(region: Any, x: Symbol, y: Any, strict: bool) -> bool:
    t = real(y)
    if type(t) is fmpq:
        return _symbol_and_number(region, x, t, strict)
    return bool(t > 0)  # infinite; false for NaN


def _symbol_and_number(region: Any, x: Symbol, t: fmpq, strict: bool) -> bool:
    """Whether `x < t` (strict) or `x <= t`."""
    if isinstance(x, Linear):
        return _below_zero(region, x.level, x.terms, x.const - t, strict)
    if isinstance(x, Product):
        if t == 0 or (x.factor > 0) != (t > 0):
            return bool(x.factor < 0)
        if x.factor > 0:
            return _below_one(region, x.level, x.terms, x.factor / t, strict)
        return not _below_one(region, x.level, x.terms, x.factor / t, not strict)
    if isinstance(x, Chain):
        return _chain_and_number(region, x, t, strict)
    if isinstance(x, Stepped):
        return x.is_below(t, strict)
    raise refused_operation("a comparison")


def _chain_and_number(region: Any, x: Chain, t: Any, strict: bool) -> bool:
    rising = True
    for name, c in reversed(x.steps):
        if name == "add":
            t = t - c
        elif name == "mul":
            t, rising = t / c, rising == (c > 0)
        elif name == "log":
            t = exp(t)
        elif t <= 0:  # a power or an exponential is positive
            return not rising
        elif name == "exp":
            t = log(t)
        else:
            t, rising = power(t, 1 / c), rising == (c > 0)
    return _less(region, x.form, t, strict) if rising else _less(region, t, x.form, strict)


def _two_symbols(region: Any, x: Symbol, y: Symbol, strict: bool) -> bool:
    if isinstance(x, Chain) or isinstance(y, Chain):
        return _chains(region, x, y, strict)
    one, two = x.linear(), y.linear()
    if one is not None and two is not None and one.level == two.level:
        difference = one - two
        if not isinstance(difference, Linear):
            return bool(difference < 0 or (not strict and difference == 0))
        return _below_zero(region, difference.level, difference.terms, difference.const, strict)
    left, right = x.product(), y.product()
    if left is None or right is None or left.level != right.level:
        raise refused_operation("a comparison with another random number of a different kind")
    if (left.factor > 0) != (right.factor > 0):
        return bool(left.factor < 0)
    if left.factor < 0:
        left, right = right.scale(-ONE), left.scale(-ONE)
    ratio = left * right.raised(-ONE)
    if not isinstance(ratio, Product):
        return bool(ratio < 1 or (not strict and ratio == 1))
    return _below_one(region, ratio.level, ratio.terms, ratio.factor, strict)


def _chains(region: Any, x: Symbol, y: Symbol, strict: bool) -> bool:
    """The order of two chains; where both end with the same step, that of the chains before it."""
    if isinstance(x, Chain) and isinstance(y, Chain) and x.steps and y.steps and x.steps[-1] == y.steps[-1]:
        name, c = x.steps[-1]
        inner = [
            Chain(element.form, element.steps[:-1], element.ideal) if element.steps[:-1] else element.form
            for element in (x, y)
        ]
        falling = name in ("mul", "pow") and c < 0
        return _less(region, inner[1], inner[0], strict) if falling else _less(region, inner[0], inner[1], strict)
    ideals: list[Any] = [item.ideal if isinstance(item, Chain) else item for item in (x, y)]
    if ideals[0] is None or ideals[1] is None:
        raise refused_operation("a comparison with another random number of a different kind")
    region.note_guard()
    return _less(region, ideals[0], ideals[1], strict)


def _atom(level: int, v: Variable, side: int) -> Linear:
    """One variable as a linear form."""
    if level == 0:
        return Linear(0, ((v, ONE, 0),)) if side == 0 else Linear(0, ((v, -ONE, 0),), ONE)
    return Linear(level, ((v, ONE, side),))


def _below_one(region: Any, level: int, terms: Terms, factor: fmpq, strict: bool) -> bool:
    """Whether `factor * prod(x ** a)` is below 1, factor positive."""
    if level == 0 and factor <= 1 and all(a > 0 for _, a, _ in terms):
        return True
    if len(terms) == 1:
        v, a, side = terms[0]
        x: Any = _atom(level, v, side)
        t = power(factor, -1 / a)
        return _less(region, x, t, strict) if a > 0 else _less(region, t, x, strict)
    if len(terms) == 2 and terms[0][1] == -terms[1][1]:
        (v, a, side), (w, _, other) = terms
        x, y = _atom(level, v, side), _atom(level, w, other) * power(factor, -1 / a)
        return _less(region, x, y, strict) if a > 0 else _less(region, y, x, strict)
    if level == 0:
        return _below_zero(region, 1, tuple((v, -a, side) for v, a, side in terms), log(factor), strict)
    raise refused_operation("a product of several exponential random numbers, compared,")


def _below_zero(region: Any, level: int, terms: Terms, const: fmpq, strict: bool) -> bool:
    if level < 2:
        return bool(region.holds(level, terms, const, strict))
    # a log E + const < 0 is E ** a * exp(const) < 1
    factor = exp(const)
    if factor in (0, math.inf):
        raise refused_operation("a comparison of Gumbel noise with a difference beyond every float")
    return _below_one(region, 1, terms, factor, strict)


def raised_level(
    terms: Sequence[tuple[Variable, fmpq, int]], const: fmpq, sides: Mapping[int, int]
) -> tuple[Terms, fmpq]:
    """A constraint on uniforms, `u < t` or `u < c v`, as one on exponential variables of these sides."""
    taken = [sides.get(v.index, 0) for v, _, _ in terms]
    if len(terms) == 1:
        v, a, _ = terms[0]
        sign = ONE if (a > 0) == (taken[0] == 1) else -ONE
        u = -const / a if taken[0] == 0 else ONE + const / a
        return ((v, sign, taken[0]),), sign * log(u)
    if len(terms) == 2 and const == 0 and terms[0][1] * terms[1][1] < 0 and not any(taken):
        (v, a, _), (w, b, _) = sorted(terms, key=lambda term: term[1], reverse=True)  # a v < -b w
        return ((v, -ONE, 0), (w, ONE, 0)), log(-a / b)
    raise refused_operation("a comparison both as a uniform and as an exponential")


def bounds(region: Any, x: Any) -> tuple[Any, Any]:
    """A lower and an upper bound of x, infinite where none follows from its form."""
    if not isinstance(x, Symbol):
        return x, x
    form = x.linear()
    if form is not None and form.level == 0:
        low = high = form.const
        for v, a, _ in form.terms:
            ends = [a * end for end in region.interval(v.index)]
            low, high = low + min(ends), high + max(ends)
        return low, high
    if form is not None and form.level == 1:
        signs = {a > 0 for _, a, _ in form.terms}
        return (form.const if signs == {True} else -math.inf), (form.const if signs == {False} else math.inf)
    if isinstance(x, Product):
        inside = x.level == 0 and all(a > 0 for _, a, _ in x.terms)
        far = x.factor if inside else math.copysign(math.inf, x.factor)
        return (ZERO, far) if x.factor > 0 else (far, ZERO)
    return -math.inf, math.inf


def extreme(region: Any, kind: str, members: Sequence[Any]) -> Any:
    """The minimum or maximum of numbers, without members that the bounds exclude.

    An extreme of the same kind gives its members, and all constants become one: a running maximum does not nest.
    """
    members = [part for member in members for part in _parts(kind, member)]
    constants = [member for member in members if not isinstance(member, Symbol)]
    symbols = list({identity(member): member for member in members if isinstance(member, Symbol)}.values())
    if not constants:
        return Extreme(kind, tuple(symbols)) if len(symbols) > 1 else symbols[0]
    levels = [real(constant) for constant in constants]
    for constant, level in zip(constants, levels, strict=True):
        if type(level) is float and math.isnan(level):
            return constant
    best = (min if kind == "min" else max)(range(len(constants)), key=constants.__getitem__)
    c, level = constants[best], levels[best]
    ends = [bounds(region, symbol) for symbol in symbols]
    if kind == "min":
        keep_constant = all(_above(high, level) for _, high in ends)
        symbols = [x for x, (low, _) in zip(symbols, ends, strict=True) if _above(level, low)]
    else:
        keep_constant = all(_above(level, low) for low, _ in ends)
        symbols = [x for x, (_, high) in zip(symbols, ends, strict=True) if _above(high, level)]
    left = [*symbols, c] if keep_constant or not symbols else symbols
    if len(left) == 1:
        return left[0]
    return Extreme(kind, tuple(left))


def _parts(kind: str, member: Any) -> tuple[Any, ...]:
    return member.members if type(member) is Extreme and member.kind == kind else (member,)


def _above(x: Any, y: Any) -> bool:
    """Whether `x > y`, of which either may be an infinite float."""
    if type(x) is type(y):
        return bool(x > y)
    return x > 0 if type(x) is float else y < 0


def floor(region: Any, x: Any) -> int:
    """The whole number below a bounded number; raises `InvalidVerifier` for one without bounds."""
    x = x.chosen() if isinstance(x, Extreme) else x
    if not isinstance(x, Symbol):
        whole: int = math.floor(x)
        return whole
    form = x.linear()
    if form is None or form.level != 0:
        raise refused_operation("rounding to a whole number")
    low, high = bounds(region, form)
    first, last = int(low.p // low.q), int(high.p // high.q)
    if last - first > MAX_CELLS:
        raise refused_operation(f"rounding to one of {last - first:,} whole numbers")
    return first + count_below(region, form, [fmpq(i) for i in range(first + 1, last + 1)], strict=False)


def count_below(region: Any, x: Any, thresholds: Sequence[Any], strict: bool) -> int:
    """How many of the sorted thresholds are below x (strict), or not above it."""
    numbers = [real(t) for t in thresholds]
    form = x if isinstance(x, Linear) else None
    if form is not None and form.level == 0 and len(form.terms) == 1 and all(type(t) is fmpq for t in numbers):
        v, a, _ = form.terms[0]
        edges = [(t - form.const) / a for t in numbers]
        cell: int | None = region.choose_cell(v, edges if a > 0 else edges[::-1])
        if cell is not None:
            return cell if a > 0 else len(edges) - cell
    for count, t in enumerate(thresholds):
        if not (_less(region, t, x, strict)):
            return count
    return len(thresholds)
