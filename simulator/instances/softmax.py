"""Processes from the output of a softmax: rows in low precision, whose sums are only nearly 1, made exact.

A float is a fraction, so every row can be divided by its exact sum: nothing is rounded, and the exact rows differ from
the given ones by the stated `correction` at most.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL, as_python, unmasked
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import MarkovProcess, check_denominator, rationalise
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, TableProcess, check_entries

#: How far the sum of a row may be from 1: more than rounding in half precision causes.
SLACK = 0.02


def from_softmax(
    rows: Any,
    root: Context | None = None,
    denominator: int | None = None,
    name: str = "process",
    sampling: str | Sampling = "",
) -> TableProcess | MarkovProcess:
    """The process of float rows (numpy, torch or lists; any precision), each divided by its exact sum.

    rows: `(V,)`, the same row after every context; `(V**m, V)` or `(V, .., V)`, the rows after the last `m` tokens,
    with `root`, the `m` tokens before the draft tree; or a list of tables, `[d]` of shape `(V**d, V)`.
    denominator: one for all rows, which keeps exact sums short; the rows are then rounded to it.
    sampling: how tokens are drawn from the rows, such as "temperature=.5,top_p=.9".
    Tokens that are masked in a masked array of numpy have probability 0.
    The largest change of an entry before is the `correction` of the result. Raises `InvalidInput` for rows that are
    no distributions (a sum further than 0.02 from 1, a negative entry), `TooLarge` above 4,000,000 entries.
    """
    given = list(rows) if _is_list_of_tables(rows) else [rows]
    masked = any(isinstance(table, np.ma.MaskedArray) for table in given)
    told = f"{name}, where masked tokens have probability 0," if masked else name
    for table in given:
        check_entries(table, name, MAX_TABLE_ENTRIES)
    tables = [_floats(table, name) for table in given]
    if sum(table.size for table in tables) > MAX_TABLE_ENTRIES:
        raise TooLarge(f"{name}: more than {MAX_TABLE_ENTRIES:,} entries; keep fewer tokens or contexts")
    flat = [table.reshape(-1, table.shape[-1]) for table in tables]
    exact, corrections = zip(*(_exact(table, denominator, told) for table in flat), strict=True)
    made: TableProcess | MarkovProcess
    if _is_list_of_tables(rows):
        if root is not None:
            raise InvalidInput(f"{name}: a list of tables begins at the root of the draft tree; leave out root")
        made = TableProcess(exact, name)
    else:
        made = MarkovProcess(exact[0], _root(tables[0], root, name), name)
    chain = Sampling.parse(sampling) if isinstance(sampling, str) else sampling
    if isinstance(made, MarkovProcess) and chain.depends_on_text:
        what = "a repetition penalty depends" if chain.repetition_penalty is not None else "masks depend"
        raise InvalidInput(f"{name}: {what} on all tokens before; give a list of tables, [d] of shape (V**d, V)")
    drawn = chain.process(made, denominator=denominator, depth=getattr(made, "depth", None))
    assert isinstance(drawn, (TableProcess, MarkovProcess))
    drawn.correction = max(corrections)
    return drawn


def _is_list_of_tables(rows: Any) -> bool:
    return isinstance(rows, (list, tuple)) and len(rows) > 0 and all(np.ndim(_plain(table)) == 2 for table in rows)


def _plain(rows: Any) -> Any:
    """A torch tensor as numpy (torch itself is not imported), anything else as it is."""
    if not hasattr(rows, "detach"):
        return unmasked(rows)
    tensor = rows.detach().cpu()
    return (
        tensor if str(tensor.dtype) in ("torch.float16", "torch.float32", "torch.float64") else tensor.double()
    ).numpy()


def _floats(rows: Any, name: str) -> Any:
    try:
        array = np.asarray(_plain(rows), dtype=np.float64)
    except (ValueError, TypeError):
        raise InvalidInput(
            f"{name}: rows must be numbers, V to each row; fractions as text, such as '1/3', go to check as they are"
        ) from None
    if array.ndim < 1 or array.size == 0:
        raise InvalidInput(f"{name} has shape {array.shape}; give (V,), (V**m, V) or a list of tables")
    return array


def _root(array: Any, root: Context | None, name: str) -> Context:
    size = array.shape[-1]
    count, order = array.size // size, 0
    while size**order < count and size > 1:
        order += 1
    if size**order != count:
        raise InvalidInput(f"{name} has {count} rows; V = {size} tokens need 1, {size} or {size**2} of them")
    if order and root is None:
        raise InvalidInput(
            f"{name} has {count} rows, one for each context of {order} token{'s' if order > 1 else ''}: "
            f"say with root={tuple([0] * order)} or the like what stands before the draft tree"
        )
    return tuple(root or ())


def _exact(table: Any, denominator: int | None, name: str) -> tuple[Any, Fraction]:
    """The rows divided by their sums, and the largest change of an entry."""
    for i, row in enumerate(table):
        if not (row >= 0).all():
            token = int(np.argmin(row >= 0))
            raise InvalidInput(f"{name} row {i} gives token {token} probability {row[token]}; take the softmax first")
        if not abs(row.sum() - 1) <= SLACK:
            raise InvalidInput(f"{name} row {i} sums to {row.sum():.6g}, no softmax does; take the softmax first")
    given = RATIONAL.vector([[Fraction(value) for value in row] for row in table.tolist()])
    exact = given / given.sum(axis=1)[:, None]
    if denominator is not None:
        check_denominator(denominator, table.shape[1])
        exact = rationalise(table / table.sum(axis=1, keepdims=True), denominator)
    return exact, Fraction(as_python(abs(exact - given).max()))
