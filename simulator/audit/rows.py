"""The form of the rows that an audited function gets: lists, or arrays of numpy or torch.

`V` is the vocabulary size. On floats the law of a function is exact up to the function's own rounding; on rational
rows nothing is rounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.numbers import exact_fraction

LIBRARIES = ("python", "numpy", "torch")


@dataclass(frozen=True)
class NumberKind:
    """A kind of number for the rows of an audited function.

    arithmetic: of the law. tolerance: the largest bias that counts as zero: some thousand roundings of a float64
    (1.1e-16) and some hundred of a float32 (6e-8), more than a function does on small trees and far less than the
    effect of a bug. negligible: less probable branches come from rounding (a ratio of 1 computed as 1 - 1e-16)
    and are left out; ten of them stay below the tolerance.
    """

    name: str
    arithmetic: Arithmetic
    tolerance: float
    negligible: float


KINDS = {
    kind.name: kind
    for kind in (
        NumberKind("rational", RATIONAL, 0, 0),
        NumberKind("float64", FLOAT64, 1e-12, 2.0**-44),
        NumberKind("float32", FLOAT64, 1e-5, 2.0**-21),
    )
}


def kind_named(name: str) -> NumberKind:
    """The kind of number of that name; raises `InvalidInput` for any other."""
    if name not in KINDS:
        raise InvalidInput(f"unknown arithmetic {name!r} for an audit; choose {', '.join(KINDS)}")
    return KINDS[name]


@dataclass(frozen=True)
class RowForm:
    """The form in which a function wants its rows.

    library: "python" (lists), "numpy" or "torch". kind: of number. logits: whether rows are natural logarithms
    of probabilities. Raises `InvalidInput` for a combination that does not exist.
    """

    library: str = "python"
    kind: NumberKind = KINDS["float64"]
    logits: bool = False

    def __post_init__(self) -> None:
        if self.library not in LIBRARIES:
            raise InvalidInput(f"unknown library {self.library!r}; choose {', '.join(LIBRARIES)}")
        if self.kind.arithmetic.exact and (self.library == "torch" or self.logits):
            what = "logarithms are" if self.logits else f"{self.library} holds"
            raise InvalidInput(f"{what} no rationals; use arithmetic float64")

    def number(self, value: Any) -> Any:
        """One probability in this form."""
        if self.kind.arithmetic.exact:
            return exact_fraction(value)
        return float(value) if not self.logits else log(value) if value > 0 else -inf

    def array(self, values: Any) -> Any:
        """A row, or nested lists of rows, in this form; a new object at every call."""
        plain = self._plain(values)
        if self.library == "python":
            return plain
        if self.library == "numpy":
            return np.array(plain, dtype=object if self.kind.arithmetic.exact else self.kind.name)
        torch = torch_module("this interface")
        return torch.tensor(plain, dtype=getattr(torch, self.kind.name))

    def rows(self, values: Sequence[Any], size: int) -> Any:
        """Rows of this length as one array, of shape `(0, V)` where there are none."""
        made = self.array(values)
        return made if values or self.library == "python" else made.reshape(0, size)

    def integers(self, values: Any) -> Any:
        """Integers, such as tokens, in the same library."""
        if self.library == "python":
            return values
        if self.library == "numpy":
            return np.array(values, dtype=np.int64)
        torch = torch_module("this interface")
        return torch.tensor(values, dtype=torch.int64)

    @property
    def dtype(self) -> str | None:
        """The name of the type of its floats; None for rationals."""
        return None if self.kind.arithmetic.exact else self.kind.name

    def _plain(self, values: Any) -> Any:
        if isinstance(values, (list, tuple)):
            return [self._plain(value) for value in values]
        if isinstance(values, np.ndarray):
            return [self._plain(value) for value in values.tolist()]
        return self.number(values)
