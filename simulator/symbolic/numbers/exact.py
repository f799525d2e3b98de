"""Numbers of an audited function as rationals: floats exactly, logarithms and powers to 256 bits."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq, fmpz

#: Precision of logarithms and exponentials in bits, far beyond that of any float in the audited code.
BITS = 256
#: exp(-x) is 0 for x beyond this, as it is far below the smallest float64.
_FAR = 100_000

ZERO, ONE = fmpq(0), fmpq(1)


def as_float(value: Any) -> float:
    """The nearest float of a rational; what is infinite or NaN is a float already."""
    return int(value.p) / int(value.q) if type(value) is fmpq else float(value)


def _rounded(ball: Any) -> fmpq:
    mantissa, exponent = ball.mid().man_exp()
    exponent = int(exponent)
    return fmpq(mantissa) * fmpq(2) ** exponent if exponent >= 0 else fmpq(mantissa, fmpz(2) ** -exponent)


@lru_cache(maxsize=100_000)
def log(x: fmpq) -> fmpq:
    """Natural logarithm of a positive rational."""
    if x == 1:
        return ZERO
    with ctx.workprec(BITS):
        return _rounded(arb(x).log())


@lru_cache(maxsize=100_000)
def exp(x: fmpq) -> Any:
    """Exponential of a rational; 0 or the float infinity beyond `_FAR`."""
    if x == 0:
        return ONE
    if abs(x) > _FAR:
        return ZERO if x < 0 else math.inf
    with ctx.workprec(BITS):
        return _rounded(arb(x).exp())


@lru_cache(maxsize=100_000)
def power(x: fmpq, exponent: fmpq) -> Any:
    """`x ** exponent` for `x > 0`; exact for whole exponents."""
    if exponent.q == 1 and abs(exponent.p) < 1000:
        return x ** int(exponent.p)
    if x == 1:
        return ONE
    return exp(exponent * log(x))


@lru_cache(maxsize=100_000)
def weighted_exponentials(terms: tuple[tuple[fmpq, fmpq], ...]) -> fmpq:
    """`sum(c * exp(-k))` over the pairs `(k, c)`; exact if only `k = 0` occurs, never below 0."""
    if all(k == 0 for k, _ in terms):
        return sum((c for _, c in terms), start=ZERO)
    with ctx.workprec(2 * BITS):  # the sum may cancel
        total = sum((arb(c) * arb(-k).exp() for k, c in terms), start=arb(0))
        value = _rounded(total)
    return value if value > fmpq(1, fmpz(2) ** 200) else ZERO
