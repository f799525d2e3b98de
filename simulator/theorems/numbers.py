"""Numbers that a verifier computes with, in place of rationals: a rational function and its value at a sample point.

Arithmetic is done on both. A comparison is decided by the sample, and the run notes what it was decided by: on all
points where the noted atoms have the noted signs the same run makes the same comparisons.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any, NoReturn

import numpy as np
from flint import fmpq, fmpz

from simulator.errors import DraftproofError, InvalidVerifier
from simulator.theorems.polynomials import ANY, NEGATIVE, POSITIVE, ZERO, Point, Ring, sign_of
from simulator.theorems.ratios import Ratio
from simulator.theorems.regions import Question, Region

_SERIAL = count()


class NotFollowed(InvalidVerifier):
    """A verifier did with a number what no theorem can follow."""


class OutsideHypothesis(DraftproofError):
    """The sample does not meet an assumption that the run has just made."""


class Run:
    """One run at a sample point.

    decisions: for each question that was open, the region before it and the question.
    """

    def __init__(self, region: Region, point: Point) -> None:
        self.ring: Ring = region.ring
        self.region = region
        self.point = point
        self.serial = next(_SERIAL)
        self.decisions: list[tuple[Region, Question]] = []

    def number(self, value: Any) -> Number:
        """A rational or a whole number."""
        exact = _exact(value)
        if exact is None:
            raise NotFollowed(f"{value!r} ({type(value).__name__}) is no exact number")
        return Number(self, Ratio(self.ring, self.ring.constant(exact)), exact)

    def variable(self, position: int) -> Number:
        """A variable of the ring."""
        return Number(self, Ratio(self.ring, self.ring.variables[position]), self.point[position])

    def evaluated(self, ratio: Ratio) -> Number:
        """A rational function of the variables."""
        return Number(self, ratio, ratio.at(self.point))

    def holds(self, number: Number, mask: int) -> bool:
        """Whether the sign of a number is in `mask`; what decides it is noted."""
        ratio = number.ratio
        answer = self.region.ask((ratio.num, ratio.den), mask)
        if isinstance(answer, Question):
            inside = bool(self.ring.sign_at(answer.atom, self.point) & answer.mask)
            self.decisions.append((self.region, answer))
            kept = answer.mask if inside else ANY & ~answer.mask
            self.region = self.region.with_signs(answer.atom, kept)
            answer = inside
        if answer != bool(sign_of(number.value) & mask):
            raise AssertionError(f"the sample contradicts the polynomial {ratio.key}")
        return answer

    def assume(self, number: Number, mask: int) -> None:
        """Restrict the theorem to where the sign is in `mask`."""
        if not self.holds(number, mask):
            raise OutsideHypothesis

    def nonzero(self, number: Number) -> None:
        """Raises `ZeroDivisionError` at a zero; otherwise the sign is known from here on."""
        if not self.holds(number, POSITIVE) and not self.holds(number, NEGATIVE):
            raise ZeroDivisionError("division by zero")


def _exact(value: Any) -> Any:
    """An exact value from outside as `fmpq`, None for anything else."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (bool, np.bool_, int, np.integer, fmpz)):
        return fmpq(int(value))
    return None


def _comparison(mask: int) -> Callable[[Number, Any], Any]:
    def compare(self: Number, other: Any) -> Any:
        number = self._other(other)
        return NotImplemented if number is None else self.run.holds(self - number, mask)

    return compare


def _refuse(what: str) -> Callable[..., NoReturn]:
    def refuse(self: Number, *_: Any) -> NoReturn:
        frames = [frame for frame in traceback.extract_stack() if "theorems" not in frame.filename][::-1]
        frame = next((f for f in frames if "site-packages" not in f.filename and f.line), frames[0])
        name = frame.filename.rpartition("/")[2]
        raise NotFollowed(
            f"{what} at {name} line {frame.lineno} ({frame.line}); a theorem follows + - * / and comparisons of "
            "numbers only: check this verifier on instances (draftproof check), or make the number a free parameter"
        )

    return refuse


class Number:
    """A rational function of the variables with its value at the sample of one run."""

    __slots__ = ("ratio", "run", "value")
    __array_ufunc__: Any

    def __init__(self, run: Run, ratio: Ratio, value: Any) -> None:
        self.run, self.ratio, self.value = run, ratio, value

    def _other(self, other: Any) -> Number | None:
        if isinstance(other, Number):
            if other.run is not self.run:
                raise NotFollowed("a verifier kept a number from one call to the next: verify must have no state")
            return other
        exact = _exact(other)
        return None if exact is None else Number(self.run, Ratio(self.run.ring, self.run.ring.constant(exact)), exact)

    def __neg__(self) -> Number:
        return Number(self.run, -self.ratio, -self.value)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return -self if self.run.holds(self, NEGATIVE) else self

    def __add__(self, other: Any) -> Any:
        number = self._other(other)
        if number is None:
            return NotImplemented
        return Number(self.run, self.ratio + number.ratio, self.value + number.value)

    def __mul__(self, other: Any) -> Any:
        number = self._other(other)
        if number is None:
            return NotImplemented
        return Number(self.run, self.ratio * number.ratio, self.value * number.value)

    def __sub__(self, other: Any) -> Any:
        number = self._other(other)
        return NotImplemented if number is None else self + -number

    def __truediv__(self, other: Any) -> Any:
        number = self._other(other)
        if number is None:
            return NotImplemented
        self.run.nonzero(number)
        return Number(self.run, self.ratio / number.ratio, self.value / number.value)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __rtruediv__(self, other: Any) -> Any:
        number = self._other(other)
        return NotImplemented if number is None else number / self

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, (int, np.integer)):
            return NotImplemented
        if exponent < 0:
            return (1 / self) ** -int(exponent)
        power = self.run.number(1)
        for _ in range(int(exponent)):
            power = power * self
        return power

    __lt__ = _comparison(NEGATIVE)
    __le__ = _comparison(NEGATIVE | ZERO)
    __gt__ = _comparison(POSITIVE)
    __ge__ = _comparison(POSITIVE | ZERO)
    __ne__ = _comparison(NEGATIVE | POSITIVE)

    def __eq__(self, other: Any) -> Any:
        """Keys of a memory from another run are other numbers: what was decided there was not decided here."""
        if isinstance(other, Number) and other.run is not self.run:
            return False
        number = self._other(other)
        return NotImplemented if number is None else self.run.holds(self - number, ZERO)

    def __hash__(self) -> int:
        return hash((self.run.serial, self.ratio.key))

    def __bool__(self) -> bool:
        return self.run.holds(self, NEGATIVE | POSITIVE)

    __float__ = _refuse("a float was made of a number")
    __int__ = __index__ = __trunc__ = __floor__ = __ceil__ = __round__ = _refuse("a whole number was made of a number")
    __str__ = __repr__ = __format__ = _refuse("text was made of a number")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refuse("a number was divided with remainder")
    __rpow__ = _refuse("a number became an exponent")
    __complex__ = _refuse("a complex number was made of a number")


def fraction(value: Any) -> Fraction:
    """An exact rational of the library as one of Python's."""
    return Fraction(int(value.p), int(value.q))
