"""The two arithmetics: exact rationals (python-flint `fmpq` in object arrays) and float64.

A run uses one of them from the first row to the last number. `fmpq` refuses to combine with
floats, so a verifier that leaks one into an exact run stops with an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from draftproof.simulator.errors import InvalidInput, cut

_NUMBER = re.compile(r"[+-]?(\d+(/\d+)?|\d*\.\d+|\d+\.\d*)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True)
class Arithmetic:
    """One kind of number.

    `tolerance` is the largest balance deviation that still counts as zero: exactly 0 for
    rationals; for float64 the rounding of sums of at most some 10^7 terms of size at most 1.
    """

    name: str
    exact: bool
    tolerance: int | float

    def __reduce__(self) -> str:
        """Another process gets its own of the two, so that `is` compares there as it does here."""
        return self.name.upper()

    def number(self, value: Any) -> Any:
        """`value` (int, Fraction, fmpq, text such as "1/3"; floats in float64 only) in this arithmetic."""
        if self.exact:
            return to_fmpq(value)
        return float(Fraction(value)) if isinstance(value, str) else float(value)

    def vector(self, values: Any) -> Any:
        """An array of any shape in this arithmetic, from nested sequences or another array."""
        array = np.asarray(values, dtype=object)
        flat = [self.number(value) for value in array.ravel()]
        result = np.empty(len(flat), dtype=object if self.exact else np.float64)
        result[:] = flat
        return result.reshape(array.shape)

    def zeros(self, *shape: int) -> Any:
        """An array of zeros; exact zeros are `fmpq`, so that no integer division can leak a float."""
        if not self.exact:
            return np.zeros(shape)
        result = np.empty(shape, dtype=object)
        result.fill(fmpq(0))
        return result


RATIONAL = Arithmetic("rational", exact=True, tolerance=0)
FLOAT64 = Arithmetic("float64", exact=False, tolerance=1e-9)


def arithmetic_of(vector: Any) -> Arithmetic:
    """The arithmetic of an array, told by its dtype."""
    return RATIONAL if vector.dtype == object else FLOAT64


def unmasked(values: Any) -> Any:
    """Masked arrays of numpy, also in lists, with 0 in place of what is masked; anything else as it is."""
    if isinstance(values, np.ma.MaskedArray):
        return values.filled(0)
    if isinstance(values, (list, tuple)) and any(isinstance(part, (list, tuple, np.ma.MaskedArray)) for part in values):
        return [unmasked(part) for part in values]
    return values


def as_rows(values: Any) -> Any:
    """Rows from outside as an array: float64 if they hold floats only, exact if they hold none.

    Exact rows may be given as whole numbers, `Fraction`, `fmpq` or text such as "1/3"; a mixture raises `InvalidInput`.
    Tokens that are masked in a masked array of numpy have probability 0.
    """
    values = unmasked(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInput("rows of different lengths; every row must hold V probabilities") from None
    if array.ndim < 1 or array.dtype.kind not in "fiuOU":
        raise InvalidInput(f"{type(values).__name__} is no row; a row holds V probabilities")
    return array.astype(np.float64) if array.dtype.kind == "f" else RATIONAL.vector(values)


def to_fmpq(value: Any) -> fmpq:
    """An exact rational from int, Fraction, fmpq, fmpz or text; floats and NaN are refused."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (int, np.integer, fmpz)):
        return fmpq(int(value))
    if isinstance(value, str):
        value = parse_fraction(value)
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    raise InvalidInput(f"{value!r} is not an exact number; write a fraction such as '1/3', or a decimal as text, '0.2'")


def parse_fraction(text: str) -> Fraction:
    """The fraction that `text` ("1/3", "0.25", "2") stands for; raises `InvalidInput`."""
    stripped = text.strip()
    try:
        if len(stripped) > 4000 or not _NUMBER.fullmatch(stripped):
            raise ValueError
        return Fraction(stripped)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{cut(repr(text))} is not a number; write a fraction such as '1/3'") from None


def as_python(value: Any) -> Fraction | float:
    """A number of the standard library: `Fraction` for exact values, `float` otherwise."""
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    return float(value)
