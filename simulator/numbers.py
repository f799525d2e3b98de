"""Numbers from outside: what is compared with exact numbers, parameters as fractions, arithmetics by name."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, as_python, parse_fraction
from draftproof.simulator.errors import InvalidInput

#: Methods by which a number of another library is known.
_NUMERIC = ("__float__", "__complex__", "__index__", "__array__")
ARITHMETICS = {arithmetic.name: arithmetic for arithmetic in (RATIONAL, FLOAT64)}


def arithmetic_named(name: str) -> Arithmetic:
    """The arithmetic of that name; raises `InvalidInput` for any other."""
    try:
        return ARITHMETICS[name]
    except KeyError:
        raise InvalidInput(f"unknown arithmetic {name!r}; choose {' or '.join(ARITHMETICS)}") from None


def real(value: Any) -> Any:
    """`value` as `fmpq`, as a float if it is infinite or NaN, None if it is no real number at all."""
    kind = type(value)
    if kind is fmpq:
        return value
    if kind is float or isinstance(value, (float, np.floating)):
        finite = math.isfinite(value) if isinstance(value, float) else np.isfinite(value)
        return fmpq(*value.as_integer_ratio()) if finite else float(value)
    if isinstance(value, (int, np.integer, np.bool_, fmpz)):
        return fmpq(int(value))
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    return None


def comparable(value: Any) -> Any:
    """What an exact number is compared with for `value`: as `real`, and for decimals and other rationals too.

    None for what is no number, or an array, whose entries are compared one by one. Raises `TypeError` for a number
    whose exact value is not known, such as a tensor.
    """
    number = real(value)
    if number is not None:
        return number
    if isinstance(value, Decimal):
        return fmpq(*value.as_integer_ratio()) if value.is_finite() else float(value)
    if isinstance(value, Rational):
        return fmpq(int(value.numerator), int(value.denominator))
    kind = type(value)
    if not hasattr(kind, "__array_ufunc__") and any(hasattr(kind, name) for name in _NUMERIC):
        raise TypeError(
            f"an exact number was compared with a {kind.__name__}, whose exact value is not known; "
            "compare it with whole numbers, Fractions, decimals or floats"
        )
    return None


def as_fraction(value: Any, name: str) -> Fraction:
    """A parameter given as whole number, `Fraction` or text; raises `InvalidInput` for a float."""
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, str):
        return parse_fraction(value)
    raise InvalidInput(f"{name} = {value!r} is not exact; give a whole number, a Fraction or text such as '7/10'")


def exact_fraction(value: Any) -> Fraction:
    """An exact number as a `Fraction`; of a float the number that it stands for."""
    return Fraction(as_python(value))


def hold_fractions(verifier: Any) -> None:
    """Every parameter of a frozen dataclass as a fraction; raises `InvalidInput` for what is none, by name."""
    for name in verifier.card.parameters:
        where = f"{verifier.card.name}: {name}"
        object.__setattr__(verifier, name, as_fraction(getattr(verifier, name), where))


def hold_one(verifier: Any, default: Any) -> tuple[str, Fraction]:
    """The one parameter of a frozen dataclass that is given, the others being None, as a fraction, with its name.

    Without any it is the first one, with `default`; raises `InvalidInput` for several.
    """
    names = list(verifier.card.parameters)
    given = [name for name in names if getattr(verifier, name) is not None]
    if len(given) > 1:
        raise InvalidInput(f"{verifier.card.name}: {' and '.join(given)} are different rules; give one of them")
    name = given[0] if given else names[0]
    value = as_fraction(getattr(verifier, name) if given else default, f"{verifier.card.name}: {name}")
    object.__setattr__(verifier, name, value)
    return name, value
