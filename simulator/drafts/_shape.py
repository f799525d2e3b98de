"""Parameters of schemes: as plain data and as text, and what K, L1 and L2 may be."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput

#: The longest and widest trees; larger numbers are taken for mistakes.
LARGEST = 1000


class Parameters:
    """The data and the text of a scheme whose fields are its parameters."""

    name: ClassVar[str]
    #: The verifier that its paper verifies it with, "" without one.
    verified_with: ClassVar[str] = ""

    def _parameters(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"name": self.name, **{key: _plain(value) for key, value in self._parameters().items()}}

    def __str__(self) -> str:
        shown = (f"{key}={_text(value)}" for key, value in self._parameters().items())
        return f"{self.name}({', '.join(shown)})"


def validate_shape(K: int, L1: int, L2: int) -> None:
    """Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, and `L2 >= 1` where `K > 1`."""
    for name, value in (("K", K), ("L1", L1), ("L2", L2)):
        if type(value) is not int or value > LARGEST:
            raise InvalidInput(f"{name} = {value!r} must be a whole number of at most {LARGEST}")
    if K < 1:
        raise InvalidInput(f"K = {K}: a draft tree needs at least one branch; use K >= 1")
    if L1 < 0 or L2 < 0:
        raise InvalidInput(f"L1 = {L1}, L2 = {L2}: lengths cannot be negative; use 0 or more")
    if L2 == 0 and K > 1:
        raise InvalidInput(f"L2 = 0 leaves no room for K = {K} branches; use K = 1 or L2 >= 1")


def smaller_shapes(K: int, L1: int, L2: int) -> list[tuple[int, int, int]]:
    """Every shape that is no larger, itself included; single paths once for every length."""
    single = [(1, 0, length) for length in range(L1 + L2 + 1)]
    several = [(k, l1, l2) for k in range(2, K + 1) for l1 in range(L1 + 1) for l2 in range(1, L2 + 1)]
    return single + several


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Fraction) else value


def _text(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
