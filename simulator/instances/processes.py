"""Order-m Markov processes, and any process as tables; `V` is the vocabulary size."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL, Arithmetic, arithmetic_of, as_rows, unmasked
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Context, TokenProcess, Vector
from draftproof.simulator.tables import (
    MAX_FLOAT_ENTRIES,
    MAX_TABLE_ENTRIES,
    TableProcess,
    check_entries,
    check_table_size,
    context_at,
    context_index,
    validate_rows,
)

P = TypeVar("P", bound=TokenProcess)


class MarkovProcess:
    """An order-m Markov process: the next token depends on the last `m` tokens.

    table: shape `(V**m, V)`, one row for each context of length `m`.
    root: the `m` tokens before the root of the draft tree.
    """

    #: The largest change to an entry when `from_softmax` made rows sum to 1; 0 for other rows. No correction token.
    correction: Fraction = Fraction(0)
    #: Of a draft: the rows that verifiers get as `q`, where they are others than those that tokens are drawn from.
    told: TokenProcess | None = None

    def __init__(self, table: Any, root: Context = (), name: str = "process") -> None:
        check_entries(table, name)
        array = as_rows(table)
        if array.ndim != 2 or array.shape[1] < 1:
            raise InvalidInput(f"{name}: the table has shape {array.shape}; it must be (V**m, V)")
        self.vocab_size = int(array.shape[1])
        self.order = len(root)
        self.name = name
        if array.shape[0] != self.vocab_size**self.order:
            raise InvalidInput(
                f"{name}: {array.shape[0]} rows do not fit the root context {root}: "
                f"order {self.order} at V = {self.vocab_size} needs {self.vocab_size**self.order} rows"
            )
        validate_rows(array, arithmetic_of(array), lambda i: f"{name} row {context_at(i, self.order, self.vocab_size)}")
        array.setflags(write=False)
        self.arithmetic = arithmetic_of(array)
        #: The table in every arithmetic that was asked for; shared by processes that differ in their root only.
        self._tables = {self.arithmetic.name: array}
        self._set_root(root)

    def row(self, context: Context) -> Vector:
        """The row of the last `m` tokens of `root + context`."""
        state = (self.root + context)[len(context) :]
        return self.states[context_index(state, self.vocab_size)]

    @property
    def states(self) -> Any:
        """The row of every context of length `m`, shape `(V**m, V)`, read-only."""
        return self._tables[self.arithmetic.name]

    @property
    def exact(self) -> Any:
        """The exact rows that `states` was made from, or `states` if exact; None where there are none."""
        return self._tables.get(RATIONAL.name)

    def table(self, depth: int) -> Any:
        """The rows of all contexts of length `depth` after the root, shape `(V**depth, V)`."""
        check_table_size(self.vocab_size, depth, self.arithmetic)
        contexts = self.vocab_size**depth
        states = self.vocab_size**self.order
        root = context_index(self.root, self.vocab_size)
        # In base V the number of root + context is root * contexts + context; its last m digits are the state.
        return self.states[(root * (contexts % states) + np.arange(contexts)) % states]

    def starting_at(self, root: Context) -> MarkovProcess:
        """The same process with another root context."""
        other = copy(self)
        other._set_root(root)
        return other

    def converted(self, arithmetic: Arithmetic, name: str | None = None) -> MarkovProcess:
        """The same process in another arithmetic; raises `InvalidInput` for floats that should become exact.

        name: what the error calls it, by default its own name.
        """
        if arithmetic.name not in self._tables:
            table = _converted(self.states, arithmetic, name or self.name)
            table.setflags(write=False)
            self._tables[arithmetic.name] = table
        other = copy(self)
        other.arithmetic = arithmetic
        if isinstance(self.told, MarkovProcess):
            other.told = self.told.converted(arithmetic, name)
        elif isinstance(self.told, TableProcess):
            other.told = tabulate(self.told, self.told.depth, arithmetic, name or self.name)
        return other

    def __repr__(self) -> str:
        shape = f"V = {self.vocab_size}, order {self.order}, root {self.root}"
        return f"MarkovProcess({self.name}: {shape}, {self.arithmetic.name})"

    def _set_root(self, root: Context) -> None:
        if len(root) != self.order or any(not 0 <= token < self.vocab_size for token in root):
            raise InvalidInput(
                f"{self.name}: root context {root} must hold {self.order} tokens, each of 0..{self.vocab_size - 1}"
            )
        self.root = tuple(root)


def tabulate(process: TokenProcess, depth: int, arithmetic: Arithmetic, name: str = "process") -> TableProcess:
    """The tables of `process` for contexts of length 0..depth, in `arithmetic`.

    Exact rows become floats on request; float rows never become exact: that raises `InvalidInput`.
    Raises `TooLarge` above `MAX_TABLE_ENTRIES` entries, `MAX_FLOAT_ENTRIES` in float64.
    """
    check_table_size(process.vocab_size, depth, arithmetic)
    if isinstance(process, TableProcess) and process.arithmetic is arithmetic and process.depth == depth:
        return process
    rows = [_rows(process, length) for length in range(depth + 1)]
    made = TableProcess([_converted(table, arithmetic, name) for table in rows], name)
    made.exact = rows if arithmetic_of(rows[0]).exact else getattr(process, "exact", None)
    told = told_of(process)
    made.told = None if told is None else tabulate(told, depth, arithmetic, name)
    return made


def told_of(draft: TokenProcess) -> TokenProcess | None:
    """The rows that verifiers get as `q`, where they are others than those that tokens are drawn from."""
    told: TokenProcess | None = getattr(draft, "told", None)
    return told


def telling(draft: P, told: TokenProcess | None) -> P:
    """The draft, with `told` as the rows that verifiers get as `q`; None: those that tokens are drawn from."""
    other: Any = copy(draft)
    other.told = told
    made: P = other
    return made


def _rows(process: TokenProcess, length: int) -> Any:
    """The rows of all contexts of this length."""
    if isinstance(process, MarkovProcess):
        return process.table(length)
    if isinstance(process, TableProcess) and length <= process.depth:
        return process.tables[length]
    size = process.vocab_size
    return np.stack([process.row(context_at(i, length, size)) for i in range(size**length)])


def _converted(rows: Any, arithmetic: Arithmetic, name: str) -> Any:
    if arithmetic_of(rows) is arithmetic:
        return rows
    if arithmetic.exact:
        raise InvalidInput(
            f"{name} holds floats; rational arithmetic needs exact rows: "
            "make them exact with from_softmax(rows), round them with rationalise, or ask for float64"
        )
    return arithmetic.vector(rows)


def remembering(process: TokenProcess, memory: int, depth: int, name: str = "draft") -> TableProcess:
    """The rows of a process given the root, the depth and the last `memory` tokens before it, to depth `depth`.

    So draft block-parallel drafters (Medusa heads, diffusion drafters), which predict all tokens of a block in one
    pass: with a memory of 0 tokens the row of the token at depth `t` is `q_t` given the root, whatever was drafted
    before it, and a path is drawn from a product.

    A row is the mean of the process's own rows after the contexts `c` that end in these tokens, each weighted with
    `q(c)`, the probability that the process itself draws `c` from the root on. So with a memory of 0 it is the marginal
    law of the token at its depth; up to `memory` tokens after the root it is the process's own row. The last
    `memory + 1` tokens before each depth have the law that they have under the process. Where the process never draws
    the last tokens, their row is never asked for; it is one of its own.

    Raises `TooLarge` as `tabulate`.
    """
    tables = tabulate(process, depth, arithmetic_of(process.row(())), name).tables
    size, masses, made = tables[0].shape[1], tables[0][:, 0] * 0 + 1, []
    for length, table in enumerate(tables):
        count = size ** min(memory, length)
        joint = masses[:, np.newaxis] * table
        endings = masses.reshape(-1, count).sum(axis=0)
        drawn = endings > 0
        rows = table.reshape(-1, count, size)[0].copy()
        rows[drawn] = joint.reshape(-1, count, size).sum(axis=0)[drawn] / endings[drawn, np.newaxis]
        made.append(np.tile(rows, (len(table) // count, 1)))
        masses = joint.reshape(-1)
    return TableProcess(made, name)


def check_denominator(denominator: int, vocab_size: int) -> None:
    """Raises `InvalidInput` for a common denominator that is too coarse for a row or too fine for float64."""
    if not vocab_size <= denominator <= 2**40:
        raise InvalidInput(f"denominator {denominator} does not fit {vocab_size} tokens; use {vocab_size} to 2^40")


def rationalise(rows: Any, denominator: int, arithmetic: Arithmetic = RATIONAL) -> Any:
    """Float rows, shape `(n, V)`, as exact rows over one denominator; the remainder goes to the largest entry.

    arithmetic: FLOAT64 gives the same fractions as floats, without the time and the memory of exact ones.
    Raises `TooLarge` above `MAX_TABLE_ENTRIES` entries, `MAX_FLOAT_ENTRIES` in float64.
    """
    check_entries(rows, "rows", MAX_TABLE_ENTRIES if arithmetic.exact else MAX_FLOAT_ENTRIES)
    floats = np.asarray(unmasked(rows), dtype=np.float64)
    units = np.floor(floats * denominator).astype(int)
    units[np.arange(len(units)), floats.argmax(axis=1)] += denominator - units.sum(axis=1)
    return arithmetic.vector(units) / arithmetic.number(denominator) if arithmetic.exact else units / denominator
