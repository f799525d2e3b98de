"""The integral of 1 or of `exp(-sum x)` over a polyhedron: the probability that random variables lie in it.

One variable after the other is integrated out. The integrand is a polynomial times an exponential, and the bounds are
linear in the remaining variables, so the integral is again a sum of such terms on cells with one active bound each.
All numbers stay rational except factors `exp(-k)` with a constant `k`, which are evaluated at the end.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from flint import fmpq

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, weighted_exponentials

#: `sum(coefficients * x) + constant <= 0`.
Constraint: TypeAlias = tuple[tuple[fmpq, ...], fmpq]
#: Exponents of a monomial -> coefficient.
Polynomial: TypeAlias = dict[tuple[int, ...], fmpq]
#: (constant k, coefficients c) -> polynomial: the sum of `polynomial * exp(-(k + c x))`.
Integrand: TypeAlias = dict[tuple[fmpq, tuple[fmpq, ...]], Polynomial]
#: A linear function: coefficients, constant.
Linear: TypeAlias = tuple[tuple[fmpq, ...], fmpq]

#: Cells beyond which a set is refused; eight variables of two shared races stay far below.
MAX_CELLS = 50_000


@lru_cache(maxsize=200_000)
def measure(level: int, bounds: tuple[tuple[fmpq, fmpq | None], ...], constraints: tuple[Constraint, ...]) -> fmpq:
    """The probability that independent variables lie within their bounds and obey the constraints.

    level: 0 for uniforms on [0, 1], 1 for exponential variables of rate 1. bounds: (low, high) of each variable,
    high None for none. Raises `TooLarge` where the set falls into too many cells.
    """
    size = len(bounds)
    full = set(constraints)
    for i, (low, high) in enumerate(bounds):
        full.add((_unit(size, i, -1), low))
        if high is not None:
            full.add((_unit(size, i, 1), -high))
    density = (ZERO if level == 0 else ONE,) * size
    counter = [0]
    totals = _integrate(full, {(ZERO, density): {(0,) * size: ONE}}, counter)
    return weighted_exponentials(tuple(sorted(totals.items())))


def _unit(size: int, i: int, sign: int) -> tuple[fmpq, ...]:
    return tuple(fmpq(sign) if j == i else ZERO for j in range(size))


def _integrate(constraints: set[Constraint], integrand: Integrand, counter: list[int]) -> dict[fmpq, fmpq]:
    """The integral as constants k -> coefficients of `exp(-k)`; the last variable chosen goes first."""
    counter[0] += 1
    if counter[0] > MAX_CELLS:
        raise TooLarge(f"a set of shared random numbers falls into more than {MAX_CELLS:,} cells")
    needed = _tidy(constraints)
    if needed is None:
        return {}
    size = len(next(iter(integrand))[1])
    if size == 0:
        return {k: sum(polynomial.values(), start=ZERO) for (k, _), polynomial in integrand.items()}
    j = _easiest(needed, size)
    lowers, uppers, rest = _split(needed, j)
    totals: dict[fmpq, fmpq] = {}
    for sign, active, others in ((1, uppers, lowers), (-1, lowers, uppers)):
        for bound in active:
            cell = set(rest)
            cell |= {_less(bound, rival) if sign > 0 else _less(rival, bound) for rival in active if rival != bound}
            cell |= {_less(other, bound) if sign > 0 else _less(bound, other) for other in others}
            for k, value in _integrate(cell, _antiderivative(integrand, j, bound), counter).items():
                totals[k] = totals.get(k, ZERO) + sign * value
    return totals


def _tidy(constraints: set[Constraint]) -> list[Constraint] | None:
    """The constraints that do not follow from x >= 0; None if their set is empty or has measure zero."""
    needed = []
    ratios: dict[tuple[int, int], fmpq] = {}  # (i, j) -> the smallest r with x_i <= r x_j
    for coefficients, constant in constraints:
        places = [i for i, c in enumerate(coefficients) if c]
        rising = sum(coefficients[i] > 0 for i in places)
        if rising == len(places):
            if constant > 0:
                return None
            if not places:
                continue
        elif rising == 0 and constant <= 0 and (len(places) > 1 or constant < 0):  # x >= -1 follows from x >= 0
            continue
        elif constant == 0 and len(places) == 2:
            i, j = places if coefficients[places[0]] > 0 else places[::-1]
            r = -coefficients[j] / coefficients[i]
            ratios[i, j] = min(r, ratios.get((i, j), r))
            continue
        needed.append((coefficients, constant))
    for (i, j), r in ratios.items():
        other = ratios.get((j, i))
        if other is not None and r * other <= 1:
            return None
        size = len(next(iter(constraints))[0])
        needed.append((tuple(ONE if k == i else -r if k == j else ZERO for k in range(size)), ZERO))
    return needed


def _easiest(constraints: list[Constraint], size: int) -> int:
    """The variable with the fewest active bounds."""

    def work(j: int) -> tuple[int, int]:
        signs = [c[j] for c, _ in constraints if c[j]]
        return len(signs), j

    return min(range(size), key=work)


def _split(constraints: list[Constraint], j: int) -> tuple[list[Linear], list[Linear], list[Constraint]]:
    """Lower and upper bounds of variable j, linear in the others, and the constraints without it."""
    lowers: set[Linear] = set()
    uppers: set[Linear] = set()
    rest = []
    for coefficients, constant in constraints:
        a = coefficients[j]
        others = coefficients[:j] + coefficients[j + 1 :]
        if a == 0:
            rest.append((others, constant))
        else:
            bound = tuple(-c / a for c in others), -constant / a
            (uppers if a > 0 else lowers).add(bound)
    return _undominated(lowers), list(uppers), rest


def _undominated(lowers: set[Linear]) -> list[Linear]:
    """Lower bounds without those that are below another one wherever all variables are >= 0."""

    def below(one: Linear, other: Linear) -> bool:
        return one[1] <= other[1] and all(a <= b for a, b in zip(one[0], other[0], strict=True))

    return [one for one in lowers if not any(one != other and below(one, other) for other in lowers)]


def _less(one: Linear, other: Linear) -> Constraint:
    """`one <= other`, scaled so that the same half-space has one form."""
    coefficients = tuple(a - b for a, b in zip(one[0], other[0], strict=True))
    constant = one[1] - other[1]
    lead = next((abs(c) for c in coefficients if c), None)
    if lead is None or lead == 1:
        return coefficients, constant
    return tuple(c / lead for c in coefficients), constant / lead


def _antiderivative(integrand: Integrand, j: int, bound: Linear) -> Integrand:
    """An antiderivative in x_j, with x_j replaced by the bound."""
    result: Integrand = {}
    for (k, c), polynomial in integrand.items():
        rate = c[j]
        rest = c[:j] + c[j + 1 :]
        key = k + rate * bound[1], tuple(a + rate * b for a, b in zip(rest, bound[0], strict=True))
        into = result.setdefault(key, {})
        for exponents, coefficient in polynomial.items():
            others = exponents[:j] + exponents[j + 1 :]
            for degree, factor in _primitive(exponents[j], rate):
                for extra, value in _power(bound, degree).items():
                    monomial = tuple(a + b for a, b in zip(others, extra, strict=True))
                    into[monomial] = into.get(monomial, ZERO) + coefficient * factor * value
    return result


@lru_cache(maxsize=10_000)
def _primitive(degree: int, rate: fmpq) -> tuple[tuple[int, fmpq], ...]:
    """The polynomial Q with `d/dx (Q exp(-rate x)) = x**degree exp(-rate x)`, as (degree, coefficient)."""
    if rate == 0:
        return ((degree + 1, fmpq(1, degree + 1)),)
    terms = []
    factor = -1 / rate
    for i in range(degree, -1, -1):
        terms.append((i, factor))
        factor = factor * i / rate
    return tuple(terms)


def _power(bound: Linear, degree: int) -> Polynomial:
    """A linear function to a power, as a polynomial."""
    size = len(bound[0])
    result: Polynomial = {(0,) * size: ONE}
    factors: list[tuple[Any, fmpq]] = [(tuple(int(i == j) for j in range(size)), c) for i, c in enumerate(bound[0])]
    factors = [(unit, c) for unit, c in [*factors, ((0,) * size, bound[1])] if c]
    for _ in range(degree):
        product: Polynomial = {}
        for exponents, coefficient in result.items():
            for unit, c in factors:
                key = tuple(a + b for a, b in zip(exponents, unit, strict=True))
                product[key] = product.get(key, ZERO) + coefficient * c
        result = product
    return result
