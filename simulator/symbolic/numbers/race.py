"""argmax, argmin and argsort of random numbers; an exponential race is decided by one question to the coin.

An exponential race is `argmin(e / w)` over fresh exponential noise `e`. Its winner is i with probability
`w_i / sum(w)`, and so is that of `argmax(w / e)`, `argmax(log w + Gumbel noise)` and `argmax(u ** (1 / w))`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from flint import fmpq

from draftproof.simulator.numbers import real
from draftproof.simulator.symbolic.numbers.exact import exp
from draftproof.simulator.symbolic.numbers.forms import Chain, Extreme, Linear, Product
from draftproof.simulator.symbolic.numbers.symbol import Symbol, Variable


def argmax(values: Sequence[Any]) -> int:
    """Index of the largest value, the first of several."""
    return _best(values, largest=True)


def argmin(values: Sequence[Any]) -> int:
    """Index of the smallest value, the first of several."""
    return _best(values, largest=False)


def argsort(values: Sequence[Any], descending: bool = False) -> list[int]:
    """Indices in the order of the values, equal ones in their own order."""

    def order(i: int, j: int) -> int:
        x, y = (values[j], values[i]) if descending else (values[i], values[j])
        return -1 if below(x, y) else (1 if below(y, x) else 0)

    return sorted(range(len(values)), key=functools.cmp_to_key(order))


def is_nan(value: Any) -> bool:
    """Whether this is a NaN."""
    return not isinstance(value, Symbol) and bool(value != value)  # noqa: PLR0124 - NaN


def below(x: Any, y: Any) -> bool:
    """Whether numpy and torch sort x before y: NaN comes last."""
    if is_nan(x) or is_nan(y):
        return not is_nan(x)
    return bool(x < y)


def _best(values: Sequence[Any], largest: bool) -> int:
    values = _with_reuse_noted(values)
    winner = _race(values, largest)
    if winner is not None:
        return winner
    for i, value in enumerate(values):  # as numpy and torch have it: NaN wins
        if is_nan(value):
            return i
    best = 0
    for i in range(1, len(values)):
        if (values[i] > values[best]) if largest else (values[i] < values[best]):
            best = i
    return best


def _with_reuse_noted(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a race, in which a coin that decided before is noted or replaced; see `Region.in_race`."""
    random = [isinstance(value, (Linear, Product, Chain, Extreme)) for value in values]
    if sum(random) < 2:
        return values
    told = [
        value.variable.region.in_race(place, value) if known else value
        for place, (value, known) in enumerate(zip(values, random, strict=True))
    ]
    variables = [v for value, known in zip(told, random, strict=True) if known for v in value.variables()]
    variables[0].region.race_of(variables)
    return told


def _race(values: Sequence[Any], largest: bool) -> int | None:
    """The winner if this is an exponential race over free variables; None for anything else."""
    places, variables, rates = [], [], []
    kinds = set()
    for place, value in enumerate(values):
        if not isinstance(value, Symbol):
            if _loses(value, largest, values):
                continue
            return None
        exponential = _exponential(value)
        if exponential is None:
            return None
        kind, variable, side, rate = exponential
        kinds.add(kind)
        places.append(place)
        variables.append((variable, side))
        rates.append(rate)
    if len(kinds) != 1 or len(places) < 2:
        return None
    kind = kinds.pop()
    if kind.rising == largest or len({v.index for v, _ in variables}) < len(variables):
        return None
    region = variables[0][0].region
    if not all(region.is_free(v) for v, _ in variables):
        return None
    if kind.name == "log":
        top = max(rates)
        weights: list[Any] = [exp(rate - top) for rate in rates]
    else:
        weights = rates
    return places[int(region.race(variables, weights))]


class _Kind(NamedTuple):
    """Which function of its exponential variable, over its rate, a value is; rising: whether it grows with it."""

    name: str
    rising: bool


def _exponential(value: Symbol) -> tuple[_Kind, Variable, int, fmpq] | None:
    """(kind, variable, side, rate): the value is a function of `x / rate` that all variables of the kind share."""
    while isinstance(value, Chain) and value.ideal is not None:
        value.variable.region.note_guard()
        value = value.ideal
    if not isinstance(value, (Linear, Product)) or len(value.terms) != 1:
        return None
    v, a, side = value.terms[0]
    falling = a < 0
    if isinstance(value, Product):
        if value.level == 1 and value.factor > 0 and abs(a) == 1:  # w / x, x / w
            rate = value.factor if falling else 1 / value.factor
            return _Kind("reciprocal" if falling else "linear", not falling), v, side, rate
        if value.level == 0 and value.factor == 1:  # u ** (1 / w) = exp(-x / w)
            return _Kind("power", a < 0), v, side, 1 / abs(a)
    elif value.level == 1 and value.const == 0:  # x / w, log(u) / w
        return _Kind("linear", not falling), v, side, 1 / abs(a)
    elif value.level == 2 and abs(a) == 1:  # log w - log x, log x - log w
        return _Kind("log", not falling), v, side, value.const if falling else -value.const
    return None


def _loses(value: Any, largest: bool, values: Sequence[Any]) -> bool:
    """Whether a constant certainly loses against every random value."""
    number = real(value)
    if number is None or (type(number) is float and math.isnan(number)):
        return False
    if type(number) is not fmpq:
        return bool(number == (-math.inf if largest else math.inf))
    positive = all(isinstance(x, Product) and x.factor > 0 for x in values if isinstance(x, Symbol))
    return bool(largest and number <= 0 and positive)
