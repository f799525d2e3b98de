"""Whether rows are distributions; errors say what to do with other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import cut


def validate_rows(rows: Any, arithmetic: Arithmetic, name: Callable[[int], str]) -> None:
    """Check that every row of `rows`, shape `(n, V)`, is a distribution; `name(i)` says which row is meant."""
    if not arithmetic.exact and np.all(rows >= 0) and np.all(abs(rows.sum(axis=1) - 1) <= arithmetic.tolerance):
        return
    for i, row in enumerate(rows):
        for token, value in enumerate(row):
            if not value >= 0:  # also true for NaN
                raise InvalidInput(f"{name(i)} gives token {token} probability {value}; it must be at least 0")
        total = row.sum()
        if abs(total - 1) > arithmetic.tolerance:
            way_out = "write exact fractions such as '1/3' that sum to 1"
            if not arithmetic.exact:
                softmax = abs(total - 1) < 0.02  # in low precision
                way_out = "" if softmax else "take the softmax, or divide each row by its sum; "
                way_out += "from_softmax(rows) divides rows of low precision by their sums"
            raise InvalidInput(f"{name(i)} sums to {cut(total)}, not 1; {way_out}")
