"""Values that differ from run to run and come from no generator: a time, an address, a process number."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, NoReturn

from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import caller, refusal, text_of


class Nondeterministic(Symbol):
    """One such value, or what was computed from it. Code may compute with it and store it; its decisions are refused.

    what: in words. like: the type of the real value, None where that is not known. address: that of an object, which
    may be compared with another address.
    """

    __slots__ = ("address", "like", "line", "what")
    rank = 20

    def __init__(self, what: str, like: Any = float, address: int | None = None) -> None:
        self.what = what
        self.like = like
        self.address = address
        self.line = caller()

    def refuse(self, *_: Any) -> NoReturn:
        """Raise the refusal of a decision by this value."""
        raise refusal(f"{self.what}, taken at {self.line}, decides something")

    def stands_for(self) -> type:
        return self.like or int

    def _compare(self, operation: str, other: Any) -> Any:
        addresses = self.address, getattr(other, "address", None) if isinstance(other, Nondeterministic) else None
        return addresses[0] == addresses[1] if operation == "==" and None not in addresses else self.refuse()

    def __hash__(self) -> int:
        return self.refuse() if self.address is None else hash(self.address)

    def __getattr__(self, name: str) -> Any:
        likes = (self.like, timedelta) if self.like in (date, datetime) else (self.like,)
        attribute = next((getattr(like, name) for like in likes if like is not None and hasattr(like, name)), None)
        if name.startswith("_") or attribute is None:
            raise AttributeError(f"{getattr(self.like, '__name__', 'number')!r} object has no attribute {name!r}")
        return (lambda *_, **__: self) if callable(attribute) else self

    def __repr__(self) -> str:
        return text_of(f"<{self.what}>", f"a text is made of {self.what}")

    def _computed(self, *_: Any) -> Nondeterministic:
        return self if self.like is not int else Nondeterministic(self.what, None)


_SAME = """shift scale raised log exp plus times fetched sqrt log1p expm1 log2 rint minimum maximum divided_by_zero
as_python_float as_array_element conjugate __round__"""
_COMPUTED = "neg abs add radd sub rsub mul rmul truediv rtruediv pow rpow floordiv mod rfloordiv rmod"
_DECIDES = "bool int floor ceil trunc index float"


def _give(names: str, method: Callable[..., Any]) -> None:
    for name in names.split():
        setattr(Nondeterministic, name if method is _same else f"__{name}__", method)


def _same(self: Nondeterministic, *_: Any) -> Nondeterministic:
    return self


_give(_SAME, _same)
_give(_COMPUTED, Nondeterministic._computed)
_give(_DECIDES, Nondeterministic.refuse)
