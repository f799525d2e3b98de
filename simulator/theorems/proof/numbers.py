"""Numbers that a verifier computes with, in place of rationals: a rational function and its value at a sample point.

Arithmetic is done on both. A comparison is decided by the sample, and the run notes what it was decided by: on all
points where the noted atoms have the noted signs the same run makes the same comparisons.
"""

from __future__ import annotations

import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import takewhile
from typing import Any, NoReturn

import numpy as np
from flint import fmpq, fmpz

from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.numbers import comparable
from draftproof.simulator.origins import HOME, is_trusted
from draftproof.simulator.theorems.algebra.polynomials import ANY, NEGATIVE, POSITIVE, ZERO, Point, Ring, sign_of
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Question, Region
from draftproof.simulator.theorems.proof.watch import HasState, NotFollowed

_CALLER = ("simulator/laws/guarded.py", "simulator/laws/enumeration.py")
_THEOREMS = f"{HOME}simulator/theorems/"
MEMORY = "a verifier kept a number from one call to the next: verify must have no state"


class OutsideHypothesis(DraftproofError):
    """The sample does not meet an assumption that the run has just made."""


class Run:
    """One run at a sample point.

    decisions: for each question that was open, the region before it and the question. advice: what to do where the
    code cannot be followed.
    """

    advice = (
        "a theorem follows + - * / and comparisons of numbers only: check this verifier on instances (draftproof "
        "check), or make the number a free parameter"
    )

    def __init__(self, region: Region, point: Point) -> None:
        self.ring: Ring = region.ring
        self.region = region
        self.point = point
        self.decisions: list[tuple[Region, Question]] = []
        self._failure: Exception | None = None
        self._over = False

    @contextmanager
    def following(self) -> Iterator[Run]:
        """The one stretch of code in which its numbers may be used; what failed in there is raised at the end at the
        latest, even if the code caught it.
        """
        try:
            yield self
        finally:
            self._over = True
            if self._failure is not None:
                raise self._failure

    def fail(self, error: Exception) -> NoReturn:
        """Raise an error that ends the run."""
        self._failure = self._failure or error
        raise self._failure

    def refuse(self, what: str) -> NoReturn:
        """End the run: the code does what is not followed, at its line."""
        self.fail(NotFollowed(f"{what} at {line_of_code()}; {self.advice}"))

    def number(self, value: Any) -> Number:
        """A rational or a whole number."""
        exact = _exact(value)
        if exact is None:
            self.fail(NotFollowed(f"{value!r} ({type(value).__name__}) is no exact number"))
        return Number(self, Ratio(self.ring, self.ring.constant(exact)), exact)

    def variable(self, position: int) -> Number:
        """A variable of the ring."""
        return Number(self, Ratio(self.ring, self.ring.variables[position]), self.point[position])

    def evaluated(self, ratio: Ratio) -> Number:
        """A rational function of the variables."""
        return Number(self, ratio, ratio.at(self.point))

    def holds(self, number: Number, mask: int) -> bool:
        """Whether the sign of a number is in `mask`; what decides it is noted."""
        if self._over:
            self.fail(HasState(MEMORY))
        ratio = number.as_ratio
        answer = self.region.ask((ratio.num, ratio.den), mask)
        if isinstance(answer, Question):
            inside = bool(self.ring.sign_at(answer.atom, self.point) & answer.mask)
            self.decisions.append((self.region, answer))
            signs = answer.mask if inside else ANY & ~answer.mask
            self.region = self.region.with_signs(answer.atom, signs)
            answer = inside
        if answer != bool(sign_of(number.at_sample) & mask):
            self.fail(AssertionError(f"the sample contradicts the polynomial {ratio.key}"))
        return answer

    def assume(self, number: Number, mask: int) -> None:
        """Restrict the theorem to where the sign is in `mask`."""
        if not self.holds(number, mask):
            self.fail(OutsideHypothesis())

    def nonzero(self, number: Number) -> None:
        """Raises `ZeroDivisionError` at a zero; otherwise the sign is known from here on."""
        if not self.holds(number, POSITIVE) and not self.holds(number, NEGATIVE):
            raise ZeroDivisionError("division by zero")


def _exact(value: Any) -> Any:
    """An exact value from outside as `fmpq`, None for anything else."""
    if type(value) is fmpq:  # a number of a run says that it is one
        return value
    if isinstance(value, (bool, np.bool_, int, np.integer, fmpz)):
        return fmpq(int(value))
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    return None


def _comparison(mask: int, operate: Callable[[float, float], bool]) -> Callable[[Number, Any], Any]:
    def compare(self: Number, other: Any) -> Any:
        number = self._other(other)
        if number is None:
            try:
                value = comparable(other)
            except TypeError:
                self.of_run.refuse(f"a number was compared with a {type(other).__name__}")
            if value is None:
                return NotImplemented
            if isinstance(value, float):  # infinite or NaN
                return operate(0.0, value)
            number = self.of_run.number(value)
        return self.of_run.holds(self - number, mask)

    return compare


def line_of_code() -> str:
    """The line that is at fault, of the code that is followed: `FILE line 3 (its text)`."""
    watching = sys.getprofile()
    sys.setprofile(None)  # reading lines of files is not what is watched
    whole = traceback.extract_stack()[-2::-1]
    frames = list(takewhile(lambda frame: not frame.filename.endswith(_CALLER), whole))  # of the code that is followed
    sys.setprofile(watching)
    theirs = [frame for frame in frames if not is_trusted(frame.filename)]
    ours = [item for item in frames if item.filename.startswith(HOME) and not item.filename.startswith(_THEOREMS)]
    frame = next(item for item in (*theirs[:1], *ours, *whole) if item.line)
    return f"{frame.filename.rpartition('/')[2]} line {frame.lineno} ({frame.line})"


def refusal(what: str) -> Any:
    """A method of what belongs to a run, `of_run`, that ends it."""

    def refuse(self: Any, *_: Any, **__: Any) -> None:
        self.of_run.refuse(what)

    return refuse


class Number:
    """A rational function of the variables with its value at the sample of one run.

    To the code that is followed it looks like a rational of the library: what it cannot do like one is refused.
    """

    __slots__ = ("as_ratio", "at_sample", "of_run")

    def __init__(self, run: Run, ratio: Ratio, value: Any) -> None:
        self.of_run, self.as_ratio, self.at_sample = run, ratio, value

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if not is_trusted(sys._getframe(1).f_code.co_filename):
            self.of_run.refuse("the type of a number was asked for")
        return fmpq

    def __getattr__(self, name: str) -> Any:
        by_user = not is_trusted(sys._getframe(1).f_code.co_filename)
        if hasattr(fmpq, name) or (by_user and not name.startswith("__")):
            self.of_run.refuse(f"a number was asked for {name!r}")
        raise AttributeError(f"{fmpq.__name__!r} object has no attribute {name!r}")

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memory: Any) -> Number:
        return self

    def _other(self, other: Any) -> Number | None:
        if isinstance(other, Number):
            if other.of_run is not self.of_run:
                other.of_run._failure = self.of_run._failure = HasState(MEMORY)
                raise self.of_run._failure
            return other
        exact = _exact(other)
        return (
            None
            if exact is None
            else Number(self.of_run, Ratio(self.of_run.ring, self.of_run.ring.constant(exact)), exact)
        )

    def __neg__(self) -> Number:
        return Number(self.of_run, -self.as_ratio, -self.at_sample)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return -self if self.of_run.holds(self, NEGATIVE) else self

    def _operand(self, other: Any) -> Number | None:
        """The same for arithmetic: what has no exact value there is refused, also if the code catches it."""
        number = self._other(other)
        if number is None and isinstance(other, (float, complex, Decimal, np.inexact)):
            self.of_run.refuse(f"a number met a {type(other).__name__} in arithmetic")
        return number

    def __add__(self, other: Any) -> Any:
        number = self._operand(other)
        if number is None:
            return NotImplemented
        return Number(self.of_run, self.as_ratio + number.as_ratio, self.at_sample + number.at_sample)

    def __mul__(self, other: Any) -> Any:
        number = self._operand(other)
        if number is None:
            return NotImplemented
        return Number(self.of_run, self.as_ratio * number.as_ratio, self.at_sample * number.at_sample)

    def __sub__(self, other: Any) -> Any:
        number = self._operand(other)
        return NotImplemented if number is None else self + -number

    def __truediv__(self, other: Any) -> Any:
        number = self._operand(other)
        if number is None:
            return NotImplemented
        self.of_run.nonzero(number)
        return Number(self.of_run, self.as_ratio / number.as_ratio, self.at_sample / number.at_sample)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __rtruediv__(self, other: Any) -> Any:
        number = self._operand(other)
        return NotImplemented if number is None else number / self

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, (int, np.integer, fmpz)):
            return NotImplemented if self._operand(exponent) is None else self.__rpow__()
        if exponent < 0:
            return (1 / self) ** -int(exponent)
        power = self.of_run.number(1)
        for _ in range(int(exponent)):
            power = power * self
        return power

    __lt__ = _comparison(NEGATIVE, operator.lt)
    __le__ = _comparison(NEGATIVE | ZERO, operator.le)
    __gt__ = _comparison(POSITIVE, operator.gt)
    __ge__ = _comparison(POSITIVE | ZERO, operator.ge)
    __ne__ = _comparison(NEGATIVE | POSITIVE, operator.ne)
    __eq__ = _comparison(ZERO, operator.eq)

    def __bool__(self) -> bool:
        return self.of_run.holds(self, NEGATIVE | POSITIVE)

    __float__ = refusal("a float was made of a number")
    __int__ = __index__ = __trunc__ = __floor__ = __ceil__ = __round__ = refusal("a whole number was made of a number")
    __str__ = __repr__ = __format__ = refusal("text was made of a number")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = refusal("a number was divided with remainder")
    __rpow__ = refusal("a number became an exponent")
    __rdivmod__ = __invert__ = refusal("a number was used as a whole number")
    __hash__ = refusal("a number became a key of a dictionary, a set or a memory, or was hashed")
    __reduce__ = __reduce_ex__ = __getstate__ = __sizeof__ = __dir__ = refusal("the inside of a number was looked at")
    __complex__ = refusal("a complex number was made of a number")
