"""What a session notices about random numbers beside what they decide."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq


@dataclass(frozen=True)
class Reuse:
    """One random number that made two decisions, at these lines."""

    what: str
    first: str
    again: str

    def __str__(self) -> str:
        where = self.first if self.first == self.again else f"{self.first} and again {self.again}"
        return f"{self.what} decides at {where}"


@dataclass(frozen=True)
class BoundaryEvent:
    """A corner coin of this run: its exact value and the line whose comparison met it."""

    what: str
    value: fmpq
    line: str

    def __str__(self) -> str:
        return f"{self.what} is exactly {self.value} at {self.line}"
