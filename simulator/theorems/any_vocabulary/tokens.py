"""Tokens that have a name and no number: they are compared for equality, nothing else."""

from __future__ import annotations

from typing import Any, TypeAlias

from draftproof.simulator.theorems.proof.watch import NotFollowed

#: What was refused in the current run, in case the code that asked has caught it.
refused: list[NotFollowed] = []


class Token:
    """A named token, or `OTHER`. It claims to be an `int` and refuses whatever would tell its number."""

    __slots__ = ("_name",)

    def __init__(self, name: int) -> None:
        self._name = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return int

    def __eq__(self, other: object) -> bool:
        if type(other) is not Token:
            _refuse(f"a token was compared with {other!r}")
        return bool(self._name == other._name)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self._name, "token"))

    def __repr__(self) -> str:
        return "other" if self._name < 0 else f"t{self._name}"

    def _number(self, *_: Any) -> Any:
        _refuse("a token was used as a number")

    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = __bool__ = _number
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __floordiv__ = _number
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __neg__ = __abs__ = __pow__ = __truediv__ = _number


def _refuse(what: str) -> None:
    refused.append(
        NotFollowed(
            f"{what}; a proof for every vocabulary size knows no numbers of tokens: prove it at one vocabulary size"
        )
    )
    raise refused[-1]


#: A correction that is none of the named tokens.
OTHER = Token(-1)
#: The tokens since the root.
Context: TypeAlias = tuple[Token, ...]
