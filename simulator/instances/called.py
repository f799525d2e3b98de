"""A process that is a function of the context, for instance a model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of, as_rows
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.protocol import Context, Vector
from draftproof.simulator.raised import user_lines
from draftproof.simulator.tables import validate_rows

#: So many first rows are computed twice.
ASKED_TWICE = 16
#: Two computations of a probability may differ by this: accelerators add up in varying order.
ROUNDING = 1e-5


class CallableProcess:
    """A process computed by a function from a context to a row of shape `(V,)`; rows are checked and kept.

    The first rows are computed twice, and a function that returns two different rows is refused: it is no process.
    """

    def __init__(self, vocab_size: int, function: Callable[[Context], Any], name: str = "process") -> None:
        self.vocab_size = vocab_size
        self.name = name
        self._function = function
        self._rows: dict[Context, Vector] = {}

    def row(self, context: Context) -> Vector:
        """The checked row of `context`; raises `InvalidInput` if the function returns no distribution, or two."""
        if context not in self._rows:
            row = self._called(context)
            if len(self._rows) < ASKED_TWICE and _differ(row, self._called(context)):
                raise InvalidInput(
                    f"{self.name} row {context}: the function gives another row when it is asked again; make it a "
                    "function of the context alone (fixed seeds, no dropout: model.eval())"
                )
            self._rows[context] = row
        return self._rows[context]

    def _called(self, context: Context) -> Vector:
        try:
            row = as_rows(self._function(context))
        except DraftproofError as error:
            raise type(error)(f"{self.name} row {context}: {error}") from error
        except Exception as error:
            raise InvalidInput(f"{self.name} row {context}: the function raised {user_lines(error)}") from error
        if row.shape != (self.vocab_size,):
            raise InvalidInput(f"{self.name} row {context} has shape {row.shape}; it must be ({self.vocab_size},)")
        validate_rows(row[np.newaxis], arithmetic_of(row), lambda _: f"{self.name} row {context}")
        return row

    def __repr__(self) -> str:
        of = getattr(self._function, "__name__", type(self._function).__name__)
        return f"CallableProcess({self.name}: V = {self.vocab_size}, rows of {of})"


def _differ(row: Vector, again: Vector) -> bool:
    """Whether two rows for one context differ; floats may by rounding."""
    if arithmetic_of(row) is not arithmetic_of(again):
        return True
    return bool((row != again).any() if arithmetic_of(row).exact else (abs(row - again) > ROUNDING).any())
