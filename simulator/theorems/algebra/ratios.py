"""Quotients of polynomials in lowest terms: numerator and denominator are coprime, the denominator is monic."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.theorems.algebra.polynomials import Point, Polynomial, Ring


def common_divisor(one: Polynomial, other: Polynomial) -> Polynomial:
    """The monic greatest common divisor."""
    return one.gcd(other)


class Ratio:
    """A rational function. Equal functions have equal `key`."""

    __slots__ = ("_key", "den", "num", "ring")

    def __init__(self, ring: Ring, num: Polynomial, den: Polynomial | None = None) -> None:
        """num, den: coprime, `den` monic (None: 1)."""
        self.ring, self.num = ring, num
        self.den = ring.one if den is None else den
        self._key: str | None = None

    @classmethod
    def quotient(cls, ring: Ring, num: Polynomial, den: Polynomial) -> Ratio:
        """Any quotient in lowest terms; raises `ZeroDivisionError`."""
        if den.is_zero():
            raise ZeroDivisionError("a quotient has the denominator 0")
        common = common_divisor(num, den)
        num, den = num / common, den / common
        lead = den.leading_coefficient()
        return cls(ring, num / lead, den / lead)

    @property
    def key(self) -> str:
        """Text that tells functions apart."""
        if self._key is None:
            self._key = str(self.num) if self.den == 1 else f"({self.num})/({self.den})"
        return self._key

    @property
    def is_zero(self) -> bool:
        """Whether it is zero everywhere."""
        return bool(self.num.is_zero())

    @property
    def constant(self) -> Any:
        """The rational that it is everywhere, None if it varies."""
        if self.den == 1 and self.num.is_constant():
            return self.num.leading_coefficient() if not self.num.is_zero() else self.num.leading_coefficient() * 0
        return None

    def at(self, point: Point) -> Any:
        """The exact value at a point; raises `ZeroDivisionError` where the denominator vanishes."""
        return self.ring.at(self.num, point) / self.ring.at(self.den, point)

    def __neg__(self) -> Ratio:
        return Ratio(self.ring, -self.num, self.den)

    def __add__(self, other: Ratio) -> Ratio:
        b, d = self.den, other.den
        if b == d:
            num = self.num + other.num
            return Ratio(self.ring, num) if b == 1 else _reduced(self.ring, num, b)
        if b == 1 or d == 1:
            return Ratio(self.ring, self.num * d + other.num * b, b * d)
        common = common_divisor(b, d)
        left, right = b / common, d / common
        num = self.num * right + other.num * left
        if common == 1:
            return Ratio(self.ring, num, b * d)
        again = common_divisor(num, common)
        return Ratio(self.ring, num / again, left * right * (common / again))

    def __sub__(self, other: Ratio) -> Ratio:
        return self + -other

    def __mul__(self, other: Ratio) -> Ratio:
        a, b, c, d = self.num, self.den, other.num, other.den
        if d != 1:
            common = common_divisor(a, d)
            a, d = a / common, d / common
        if b != 1:
            common = common_divisor(c, b)
            c, b = c / common, b / common
        return Ratio(self.ring, a * c, b * d)

    def inverse(self) -> Ratio:
        """One over it; raises `ZeroDivisionError` for zero."""
        if self.is_zero:
            raise ZeroDivisionError("one over zero")
        lead = self.num.leading_coefficient()
        return Ratio(self.ring, self.den / lead, self.num / lead)

    def __truediv__(self, other: Ratio) -> Ratio:
        return self * other.inverse()


def _reduced(ring: Ring, num: Polynomial, den: Polynomial) -> Ratio:
    common = common_divisor(num, den)
    return Ratio(ring, num / common, den / common)
