"""Rows in rationals, from exact rows or floats: for computations that are exact only, such as bounds."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import rationalise, tabulate, telling, told_of
from draftproof.simulator.protocol import TokenProcess
from draftproof.simulator.tables import TableProcess

#: A process, or its tables: `[d]` of shape `(V**d, V)`.
ProcessLike: TypeAlias = TokenProcess | Sequence[Any]
#: Floats become multiples of one over this: the resolution of float64 next to 1.
FLOAT_UNIT = 2**52


def exact_tables(given: ProcessLike, depth: int, name: str = "process") -> list[Any]:
    """The tables of depths `0..depth` in rationals.

    Exact rows stay as they are. Rows of floats, which sum to 1 up to rounding, are rounded to multiples of `2^-52`, the
    remainder going to the largest entry. Raises `InvalidInput` for rows that are missing or no distributions.
    """
    process = as_process(given, name)
    arithmetic = arithmetic_of(process.row(()))
    tables = tabulate(process, depth, arithmetic, name).tables[: depth + 1]
    return tables if arithmetic.exact else [rationalise(table, FLOAT_UNIT) for table in tables]


def exact_instance(target: ProcessLike, draft: ProcessLike, depth: int) -> Instance:
    """The rows for trees of depth `depth` in rationals, each as in `exact_tables`."""
    target_rows = TableProcess(exact_tables(target, depth, "target"), "target")
    draft = as_process(draft, "draft")
    draft_rows = TableProcess(exact_tables(draft, max(depth - 1, 0), "draft"), "draft")
    told = told_of(draft)
    if told is not None:
        draft_rows = telling(draft_rows, TableProcess(exact_tables(told, max(depth - 1, 0), "told"), "told"))
    return Instance(target_rows, draft_rows)


def as_process(given: ProcessLike, name: str) -> TokenProcess:
    """A process as it is, tables as a checked process."""
    if isinstance(given, Sequence):
        return TableProcess(given, name)
    if not hasattr(given, "row") or not hasattr(given, "vocab_size"):
        raise InvalidInput(f"{name} is {given!r}; give a process or its tables, one array of shape (V**d, V) a depth")
    return given
