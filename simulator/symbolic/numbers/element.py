"""What numpy asks of an element of an array, and how a number that stood in one differs from a float of Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.symbolic.numbers.exact import ONE
from draftproof.simulator.symbolic.where import asked_by_us, method_called, refusal


class Element:
    """A random number as an element of an array; `Symbol` says what can be done with it exactly."""

    __slots__ = ()

    def over_zero(self: Any, zero: Any) -> float:
        """Infinite, as arrays have it and what stood in one; a float of Python raises `ZeroDivisionError`."""
        if not isinstance(zero, np.generic) and self.variable.index not in self.variable.region.in_arrays:
            raise ZeroDivisionError("float division by zero")
        return math.inf if (self > 0) == (math.copysign(1, zero) > 0) else -math.inf

    def sqrt(self: Any) -> Any:
        """Square root."""
        return self.raised(fmpq(1, 2))

    def log1p(self: Any) -> Any:
        """`log(1 + self)`."""
        return self.shift(ONE).log()

    def expm1(self: Any) -> Any:
        """`exp(self) - 1`."""
        return self.exp() - 1

    def log2(self: Any) -> Any:
        """Logarithm to base 2."""
        return self.log() / math.log(2)

    def rint(self: Any) -> float:
        """The nearest whole number, as a float."""
        return float(round(self))

    def kinds(self: Any) -> tuple[type, ...]:
        """The types that the number may have for which it stands."""
        region = self.variable.region
        if not any(v.index in region.beside_numpy for v in self.variables()):
            return (float,)
        return (float, np.float64, np.float32) if region.narrowed else (float, np.float64)

    def variables(self: Any) -> Any:
        """All variables that it depends on."""
        if hasattr(self, "members"):
            return [v for each in self.members if isinstance(each, Element) for v in each.variables()]
        return [v for v, _, _ in getattr(self, "form", self).terms]

    def of_python(self: Any) -> Any:
        """Itself, from now on a float of Python, that stands in no array."""
        self.variable.region.in_arrays.discard(self.variable.index)
        return self

    def of_array(self: Any) -> Any:
        """Itself, fetched from an array or computed by one."""
        self.variable.region.in_arrays.add(self.variable.index)
        return self.of_numpy()

    def of_numpy(self: Any) -> Any:
        """Itself, which may from now on be a number of numpy."""
        self.variable.region.beside_numpy.add(self.variable.index)
        return self

    def conjugate(self: Any) -> Any:
        """Itself."""
        return self

    def is_integer(self: Any) -> bool:
        """Almost never."""
        return bool(self == math.floor(self))

    def minimum(self: Any, other: Any) -> Any:
        """The smaller of two numbers, undecided."""
        return self.variable.region.extreme("min", (self, other))

    def maximum(self: Any, other: Any) -> Any:
        """The larger of two numbers, undecided."""
        return self.variable.region.extreme("max", (self, other))

    @property
    def __array_struct__(self: Any) -> Any:
        """Numpy asks for it where it makes an array by itself: of objects, which do not compare as floats do."""
        if asked_by_us() or method_called(2) == "searchsorted":  # which only asks what is smaller
            raise AttributeError("__array_struct__")
        raise refusal(
            "a random number or a list of them becomes an array within an operation, which cannot be followed",
            "make an array of it first: numpy.array(...)",
        )
