"""Numbers that no exact law can depend on: uninitialised memory, clocks, addresses. A decision by one is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, NoReturn

from draftproof.simulator.arithmetic import real
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import NeverSet, caller, refusal, text_of


class Unset(Symbol):
    """A number in uninitialised memory, and every result computed from it. line: where it is from; where: in words."""

    __slots__ = ("line", "where")
    rank = 20

    def __init__(self, line: str, where: str = "in memory taken") -> None:
        self.line = line
        self.where = where

    def refuse(self) -> NoReturn:
        """Raise the refusal of a decision by this number."""
        raise refusal(f"a number decides that was never set, {self.where} at {self.line},", kind=NeverSet)

    def _compare(self, operation: str, other: Any) -> Any:
        if not isinstance(other, Symbol) and real(other) is None:
            return NotImplemented
        self.refuse()

    def __repr__(self) -> str:
        return text_of("<unset>", "a text is made of a number that was never set")


class Nondeterministic(Unset):
    """A value that differs from run to run and comes from no generator: a time, an address, a process number.

    Code may compute with it and store it; a decision by it is refused. what: in words. like: the type of the real
    value, None where that is not known. address: that of an object, which may be compared with another address.
    """

    __slots__ = ("address", "like", "what")

    def __init__(self, what: str, like: Any = float, address: int | None = None) -> None:
        super().__init__(caller())
        self.what = what
        self.like = like
        self.address = address

    def refuse(self) -> NoReturn:
        raise refusal(f"{self.what}, taken at {self.line}, decides something")

    def stands_for(self) -> type:
        return self.like or int

    def _compare(self, operation: str, other: Any) -> Any:
        if (
            operation == "=="
            and self.address is not None
            and isinstance(other, Nondeterministic)
            and other.address is not None
        ):
            return self.address == other.address
        return self.refuse()

    def __hash__(self) -> int:
        return self.refuse() if self.address is None else hash(self.address)

    def __round__(self, digits: int | None = None) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        likes = (self.like, timedelta) if self.like in (date, datetime) else (self.like,)
        attribute = next((getattr(like, name) for like in likes if like is not None and hasattr(like, name)), None)
        if name.startswith("_") or attribute is None:
            raise AttributeError(f"{getattr(self.like, '__name__', 'number')!r} object has no attribute {name!r}")
        return (lambda *_, **__: self) if callable(attribute) else self

    def __repr__(self) -> str:
        return text_of(f"<{self.what}>", f"a text is made of {self.what}")


def _same(self: Unset, *others: Any) -> Unset:
    return self


def _refuse(self: Unset, *others: Any) -> NoReturn:
    self.refuse()


_COMPUTES = (
    *("shift", "scale", "raised", "log", "exp", "plus", "times", "fetched", "sqrt", "log1p", "expm1", "log2", "rint"),
    *("minimum", "maximum", "__neg__", "__abs__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"),
    *(
        "__truediv__",
        "__rtruediv__",
        "__pow__",
        "__rpow__",
        "__floordiv__",
        "__mod__",
        "__rfloordiv__",
        "__rmod__",
        "divided_by_zero",
        "as_python_float",
        "as_array_element",
        "conjugate",
    ),
)
_DECIDES = ("__bool__", "__int__", "__floor__", "__ceil__", "__trunc__", "__round__", "__index__")
for _name in _COMPUTES:
    setattr(Unset, _name, _same)
for _name in (*_DECIDES, "__hash__", "__float__"):
    setattr(Unset, _name, _refuse)


def _computed(self: Nondeterministic, *others: Any) -> Nondeterministic:
    return self if self.like is not int else Nondeterministic(self.what, None)


for _name in _COMPUTES:
    if _name.startswith("__"):
        setattr(Nondeterministic, _name, _computed)
