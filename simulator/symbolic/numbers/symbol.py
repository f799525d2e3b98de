"""A number that depends on random variables: Python's operators, and what numpy asks of an element of an object array.

Subclasses say what can be done with them exactly. Whatever has no exact rule raises `InvalidVerifier` with the
operation and the line; a symbol never turns into a float.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from flint import fmpq

from draftproof.simulator.numbers import real
from draftproof.simulator.origins import in_simulator, is_audited
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, as_float, log
from draftproof.simulator.symbolic.where import (
    called_from_simulator,
    method_called,
    refusal,
    refused_operation,
    text_of,
    type_refused,
)

#: Python's own, which asks nothing; during a call another function is in its place.
identity = id
#: Types of values in which no random number is.
PLAIN = frozenset((int, float, bool, str, type(None)))


def _comparison(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._compare(operation, other)


class Variable:
    """One random number of the generator, as one piece of code fetched it.

    index: which variable of the region; two fetches of one number have the same. fetch: number of the fetch.
    """

    __slots__ = ("fetch", "index", "region")

    def __init__(self, region: Any, index: int, fetch: int = 0) -> None:
        self.region = region
        self.index = index
        self.fetch = fetch


class Symbol:
    """Base of all random numbers. `rank` orders the classes: of two, the one of higher rank combines them."""

    __slots__ = ()
    __array_priority__ = 1000.0
    rank = 0

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The type of the real number for libraries; audited code that asks, by `isinstance` or so, is refused."""
        asks = sys._getframe(1)
        while asks.f_code.co_filename == "<frozen abc>" and asks.f_back is not None:
            asks = asks.f_back
        if in_simulator(asks.f_code.co_filename):
            return type(self)
        # a function in C that asks, such as `torch.full`, has no frame of its own
        if is_audited(asks.f_code.co_filename) and method_called(asks) in ("", "isinstance", "issubclass"):
            raise type_refused()
        return self.stands_for()

    @property
    def variable(self) -> Variable:
        """Any of the variables that it depends on."""
        raise NotImplementedError

    # Implemented by subclasses; constants are finite `fmpq`.
    #: `self + c`.
    shift: Callable[[fmpq], Symbol]
    #: `self * c`, c not 0.
    scale: Callable[[fmpq], Symbol]
    #: `self ** exponent`, exponent not 0.
    raised: Callable[[fmpq], Any]
    #: The natural logarithm and the exponential.
    log: Callable[[], Any]
    exp: Callable[[], Any]
    #: Sum and product with a symbol of no higher rank.
    plus: Callable[[Symbol], Any]
    times: Callable[[Symbol], Any]
    #: The same number under the number of another fetch; with new variables for None.
    fetched: Callable[[int | None], Symbol]
    #: As of an array of one number, see `arrays`.
    __array_ufunc__: Any
    __array_function__: Any

    def linear(self) -> Any:
        """The same number as a linear form, if it is one."""
        return None

    def product(self) -> Any:
        """The same number as a product, if it is one."""
        return None

    # What numpy asks elements of an object array for.
    def divided_by_zero(self, zero: Any) -> float:
        """Itself divided by 0: infinite if it is or was an element of an array; else raises `ZeroDivisionError`."""
        if not isinstance(zero, np.generic) and self.variable.index not in self.variable.region.in_arrays:
            raise ZeroDivisionError("float division by zero")
        return math.inf if (self > 0) == (math.copysign(1, zero) > 0) else -math.inf

    def sqrt(self) -> Any:
        """Square root."""
        return self.raised(fmpq(1, 2))

    def log1p(self) -> Any:
        """`log(1 + self)`."""
        return self.shift(ONE).log()

    def expm1(self) -> Any:
        """`exp(self) - 1`."""
        return self.exp() - 1

    def log2(self) -> Any:
        """Logarithm to base 2."""
        return self.log() / math.log(2)

    def rint(self) -> float:
        """The nearest whole number, as a float."""
        return float(round(self))

    def stands_for(self) -> type:
        """The type of the real number, for libraries that ask."""
        return float

    def variables(self) -> Any:
        """All variables that it depends on."""
        if hasattr(self, "members"):
            return [v for member in self.members if isinstance(member, Symbol) for v in member.variables()]
        form: Any = getattr(self, "form", self)
        return [v for v, _, _ in form.terms]

    def as_python_float(self) -> Any:
        """Itself, from now on a Python float and not an element of an array."""
        self.variable.region.in_arrays.discard(self.variable.index)
        return self

    def as_array_element(self) -> Any:
        """Itself, from now on an element of an array."""
        self.variable.region.in_arrays.add(self.variable.index)
        return self

    def conjugate(self) -> Any:
        """Itself."""
        return self

    def is_integer(self) -> bool:
        """Whether it is a whole number, which a continuous variable almost never is."""
        return bool(self == math.floor(self))

    def minimum(self, other: Any) -> Any:
        """The smaller of two numbers, undecided."""
        return self.variable.region.extreme("min", (self, other))

    def maximum(self, other: Any) -> Any:
        """The larger of two numbers, undecided."""
        return self.variable.region.extreme("max", (self, other))

    @property
    def __array_struct__(self) -> Any:
        """Refuses arrays of objects that numpy makes within an operation, as those do not compare as floats do."""
        if (
            called_from_simulator() or method_called(sys._getframe(1)) == "searchsorted"
        ):  # which only asks what is smaller
            raise AttributeError("__array_struct__")
        raise refusal(
            "a random number or a list of them becomes an array within an operation, which cannot be followed",
            "make an array of it first: numpy.array(...)",
        )

    # Arithmetic.
    def __add__(self, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self.plus(other) if self.rank >= other.rank else other.plus(self)
        c = real(other)
        if c is None:
            return NotImplemented
        return self.shift(c) if type(c) is fmpq else c

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self.scale(-ONE)

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self + other.scale(-ONE)
        c = real(other)
        if c is None:
            return NotImplemented
        return self.shift(-c) if type(c) is fmpq else -c

    def __rsub__(self, other: Any) -> Any:
        return self.scale(-ONE) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self.times(other) if self.rank >= other.rank else other.times(self)
        c = real(other)
        if c is None:
            return NotImplemented
        if type(c) is not fmpq:
            return c if self > 0 else -c
        return self.scale(c) if c else 0.0

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self * other.raised(-ONE)
        c = real(other)
        if c is None:
            return NotImplemented
        if type(c) is not fmpq:
            return c if math.isnan(c) else 0.0
        if c == 0:
            return self.divided_by_zero(other)
        return self.scale(1 / c)

    def __rtruediv__(self, other: Any) -> Any:
        c = real(other)
        if c is None:
            return NotImplemented
        inverse = self.raised(-ONE)
        return inverse * (c if isinstance(inverse, Symbol) else as_float(c))

    def __pow__(self, other: Any) -> Any:
        c = real(other)
        if c is None or type(c) is not fmpq:
            raise refused_operation("a power with a random or infinite exponent")
        return self.raised(c) if c else 1.0

    def __rpow__(self, other: Any) -> Any:
        c = real(other)
        if type(c) is not fmpq or c <= 0:
            raise refused_operation("a power of a number that is not positive, with exponent,")
        return (self * log(c)).exp() if c != 1 else 1.0

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    # Decisions.
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__, __eq__ = _comparison(">"), _comparison(">="), _comparison("==")

    def __ne__(self, other: Any) -> Any:
        verdict = self._compare("==", other)
        return verdict if verdict is NotImplemented else not verdict

    def _compare(self, operation: str, other: Any) -> Any:
        if not isinstance(other, Symbol) and real(other) is None:
            return NotImplemented
        if isinstance(other, float) and math.isnan(other) and method_called(sys._getframe(2)) == "searchsorted":
            raise refused_operation("searchsorted among NaN")  # of floats NaN is above everything
        return self.variable.region.compare(operation, self, other)

    def __bool__(self) -> bool:
        return not self._compare("==", ZERO)

    def __floor__(self) -> int:
        return int(self.variable.region.floor(self))

    def __ceil__(self) -> int:
        return -int(self.variable.region.floor(-self))

    def __trunc__(self) -> int:
        return self.__floor__() if self >= 0 else self.__ceil__()

    __int__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        if digits:
            raise refused_operation(f"rounding to {digits} digits")
        return (self + fmpq(1, 2)).__floor__()

    def __floordiv__(self, other: Any) -> Any:
        quotient = self / other
        if not isinstance(quotient, Symbol):
            raise refused_operation("a division by zero or an infinite number, rounded,")
        return math.floor(quotient)

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    def __rfloordiv__(self, other: Any) -> Any:
        raise refused_operation("a division by it, rounded,")

    __rmod__ = __rdivmod__ = __rfloordiv__

    def __divmod__(self, other: Any) -> Any:
        whole = self // other
        return whole, self - other * whole

    @property
    def real(self) -> Any:
        """Itself."""
        return self

    imag = 0.0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Torch takes a symbol for a tensor; within a session its mode makes one of it before coming here."""
        raise refused_operation(f"torch {getattr(func, '__name__', func)}")

    # Operations that need a real number.
    def __hash__(self) -> int:
        raise refused_operation("the hash")

    def __float__(self) -> float:
        raise refusal(
            "a random number is turned into a float, which has no exact rule",
            "leave out the conversion, or call float(...) by that name in a file loaded for the audit",
        )

    def __index__(self) -> int:
        raise refused_operation("use as an index")

    def __complex__(self) -> complex:
        raise refused_operation("complex()")

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self

    def __reduce__(self) -> Any:
        raise refused_operation("pickling")

    def __repr__(self) -> str:
        return text_of("<random number>", "a text is made of a random number")

    def __format__(self, specification: str) -> str:
        return repr(self)


def _refuse(name: str) -> Any:
    def method(self: Symbol, *arguments: Any) -> NoReturn:
        raise refused_operation(name)

    return method


_UNFOLLOWED = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "exp2", "log10", "cbrt", "hex", "as_integer_ratio", "__getnewargs__", "__sizeof__", "__dir__"),
)
for _name in _UNFOLLOWED:
    setattr(Symbol, _name, _refuse(_name))
