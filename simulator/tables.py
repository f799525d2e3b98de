"""Processes as tables: a distribution for every context, exact or float, validated when they are made.

`V` is the vocabulary size. `tables[d]` has shape `(V**d, V)` and row `c` is the distribution after the context `c`,
read in base `V` with the first token most significant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, log2, prod
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of, as_rows
from draftproof.simulator.errors import InvalidInput, TooLarge, cut
from draftproof.simulator.protocol import Context, TokenProcess, Vector

#: Largest number of table entries (`V**(depth+1)`) of exact processes: a quarter of a GiB.
MAX_TABLE_ENTRIES = 4_000_000
#: Likewise in float64: one GiB.
MAX_FLOAT_ENTRIES = 2**27


def context_count(vocab_size: int, depth: int) -> float:
    """Number of contexts of this length, `V**depth`; infinite where that is beyond all memory."""
    return float(vocab_size) ** depth if depth * log2(max(vocab_size, 2)) < 1000 else inf


def table_entries(vocab_size: int, depth: int) -> float:
    """Number of entries of a table of this depth, `V**(depth+1)`; infinite where that is beyond all memory."""
    return context_count(vocab_size, depth + 1)


def context_index(context: Context, vocab_size: int) -> int:
    """Position of `context` among the contexts of its length, in lexicographic order."""
    index = 0
    for token in context:
        index = index * vocab_size + token
    return index


def context_at(index: int, depth: int, vocab_size: int) -> Context:
    """The context of length `depth` at this position: the inverse of `context_index`."""
    tokens = []
    for _ in range(depth):
        index, token = divmod(index, vocab_size)
        tokens.append(token)
    return tuple(reversed(tokens))


class TableProcess:
    """A process given by its tables, of depth `len(tables) - 1`.

    tables: `tables[d]` of shape `(V**d, V)`, all float64 or all exact (`arithmetic` is derived).
    name: what error messages call it ("target" or "draft").
    Raises `InvalidInput` on a wrong shape, a negative entry or a row that does not sum to 1, `TooLarge` above
    `MAX_FLOAT_ENTRIES` entries.
    """

    #: The largest change to an entry when `from_softmax` made rows sum to 1; 0 for other rows. No correction token.
    correction: Fraction = Fraction(0)
    #: Of a draft: what verifiers get as `q`, where tokens are drawn from other rows (`--told`).
    told: TokenProcess | None = None

    def __init__(self, tables: Sequence[Any], name: str = "process") -> None:
        if not tables:
            raise InvalidInput(f"{name} has no tables; give at least the row of the empty context")
        for table in tables:
            check_entries(table, name)
        arrays = [as_rows(table) for table in tables]
        if arrays[0].ndim != 2 or arrays[0].shape[1] < 1:
            raise InvalidInput(f"{name}: table 0 has shape {arrays[0].shape}; it must be (1, V)")
        self.vocab_size = int(arrays[0].shape[1])
        self.arithmetic = arithmetic_of(arrays[0])
        self.name = name
        self.tables = [self._checked(array, depth) for depth, array in enumerate(arrays)]
        #: The exact tables that these float tables were made from, None where there are none.
        self.exact: list[Any] | None = None
        self._rows: dict[Context, Vector] = {}

    @property
    def depth(self) -> int:
        """Length of the longest context with a row."""
        return len(self.tables) - 1

    def row(self, context: Context) -> Vector:
        """The (read-only) row of `context`; raises `InvalidInput` below the last table."""
        row = self._rows.get(context)
        if row is None:
            if len(context) > self.depth:
                raise InvalidInput(
                    f"{self.name} has no row for context {context}: its tables end at depth {self.depth}; "
                    f"use a shallower draft tree or give rows to depth {len(context)}"
                )
            row = self.tables[len(context)][context_index(context, self.vocab_size)]
            self._rows[context] = row
        return row

    def __repr__(self) -> str:
        return f"TableProcess({self.name}: V = {self.vocab_size}, depth {self.depth}, {self.arithmetic.name})"

    def _checked(self, array: Any, depth: int) -> Any:
        expected = (self.vocab_size**depth, self.vocab_size)
        if array.shape != expected:
            raise InvalidInput(f"{self.name}: table {depth} has shape {array.shape}; it must be {expected}")
        if arithmetic_of(array) is not self.arithmetic:
            raise InvalidInput(f"{self.name}: table {depth} mixes exact and float rows; use one arithmetic for all")
        validate_rows(array, self.arithmetic, lambda i: f"{self.name} row {context_at(i, depth, self.vocab_size)}")
        array.setflags(write=False)
        return array


def check_table_size(vocab_size: int, depth: int, arithmetic: Arithmetic) -> None:
    """Raises `TooLarge` for tables that would not fit in memory, with the depth that does."""
    most = MAX_TABLE_ENTRIES if arithmetic.exact else MAX_FLOAT_ENTRIES
    if table_entries(vocab_size, depth) > most:
        fits = max((d for d in range(depth) if table_entries(vocab_size, d) <= most), default=0)
        raise TooLarge(
            f"tables of depth {depth} at V = {vocab_size} have more than {most:,} {arithmetic.name} entries; "
            f"the deepest that fit have depth {fits}, or use a smaller vocabulary"
        )


def check_entries(rows: Any, name: str, most: int = MAX_FLOAT_ENTRIES) -> None:
    """Raises `TooLarge` for an array of more entries, before it is copied."""
    entries = prod(rows.shape) if hasattr(rows, "shape") else 0
    if entries > most:
        raise TooLarge(
            f"{name}: {entries:,} entries are more than {most:,}; keep fewer tokens or contexts, or give a function "
            "from context to row"
        )


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
