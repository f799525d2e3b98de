"""Tokens that have a name and no number: tokens of one row are compared for equality, nothing else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any, TypeAlias

from draftproof.simulator.origins import HOME
from draftproof.simulator.theorems.proof.numbers import line_of_code
from draftproof.simulator.theorems.proof.watch import NotFollowed

#: The way out where code cannot be followed.
ADVICE = "for every V only what is linear in p and q and alike for all tokens is followed: prove it at one V, such as 3"
#: What was refused in the current run, in case the code that asked has caught it.
refused: list[NotFollowed] = []
_others = count(2)


class Token:
    """A token of the row after a context: a named one, or, with a name below 0, one that is none of the named ones.

    It claims to be an `int` and refuses whatever would tell its number. Tokens after different contexts may have one
    number, and so may two tokens without a name, so these are not compared. A set or a dictionary would compare it
    with numbers without asking it; so only the library may look it up in one.
    """

    __slots__ = ("_name", "row")

    def __init__(self, name: int, row: tuple[Any, ...]) -> None:
        self._name, self.row = name, row

    @classmethod
    def other(cls, row: tuple[Any, ...]) -> Token:
        """A token after this context that is none of the named ones."""
        return cls(-next(_others), row)

    @property
    def alike(self) -> Token:
        """The same for all tokens of its row without a name: what a law counts together."""
        return self if self.is_named else Token(-1, self.row)

    @property
    def is_named(self) -> bool:
        """Whether it has a name."""
        return self._name >= 0

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return int
        if asked_by_others():
            _refuse(f"a token was asked for {name!r}")
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not Token:
            _refuse("a token was compared with what is no token")
        if self.row != other.row:  # type: ignore[attr-defined]
            _refuse("tokens after different contexts were compared")
        if self._name == other._name:  # type: ignore[attr-defined]
            return True
        if self._name < 0 and other._name < 0:  # type: ignore[attr-defined]
            _refuse("two tokens that were drawn were compared with each other")
        return False

    def __hash__(self) -> int:
        if asked_by_others():
            _refuse("a token became a key of a dictionary or an element of a set (compare it by ==)")
        return hash((self._name, "token"))

    def __repr__(self) -> str:
        if asked_by_others():
            _refuse("text was made of a token")
        return "other" if self._name < 0 else f"t{self._name}"

    def __copy__(self) -> Token:
        return self

    def __deepcopy__(self, memory: Any) -> Token:
        return self

    def _number(self, *_: Any) -> Any:
        _refuse("a token was used as a number")

    __str__ = __repr__
    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = __complex__ = __bool__ = _number
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __floordiv__ = _number
    __rfloordiv__ = __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _number
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = _number
    __rrshift__ = __invert__ = __neg__ = __pos__ = __abs__ = __round__ = __trunc__ = __floor__ = __ceil__ = _number
    __format__ = __array__ = __reduce__ = __reduce_ex__ = __sizeof__ = __dir__ = _number


#: The tokens since the root.
Context: TypeAlias = tuple[Token, ...]


def asked_by_others(between: Sequence[str] = ()) -> bool:
    """Whether code outside of draftproof called the method that asks. between: files of code that may pass it on."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename in between and frame.f_back is not None:
        frame = frame.f_back
    return not frame.f_code.co_filename.startswith(HOME)


def _refuse(what: str) -> None:
    refused.append(NotFollowed(f"{what} at {line_of_code()}; {ADVICE}"))
    raise refused[-1]
