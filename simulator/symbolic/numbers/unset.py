"""Memory that nothing was written to: what is computed from it is unset too, and a decision on it is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from draftproof.simulator.arithmetic import real
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import refusal


class Unset(Symbol):
    """A number that is whatever the memory held before. line: where the memory was taken."""

    __slots__ = ("line",)
    rank = 20

    def __init__(self, line: str) -> None:
        self.line = line

    def refuse(self) -> NoReturn:
        """Raise that it decides something."""
        raise refusal(f"a number decides that was never set, in memory taken at {self.line},")

    def _compare(self, operation: str, other: Any) -> Any:
        if not isinstance(other, Symbol) and real(other) is None:
            return NotImplemented
        self.refuse()

    def __repr__(self) -> str:
        return "<unset>"


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
        "over_zero",
        "of_python",
        "of_array",
        "conjugate",
    ),
)
_DECIDES = ("__bool__", "__int__", "__floor__", "__ceil__", "__trunc__", "__round__", "__index__")
for _name in _COMPUTES:
    setattr(Unset, _name, _same)
for _name in (*_DECIDES, "__hash__", "__float__"):
    setattr(Unset, _name, _refuse)
