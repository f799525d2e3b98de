"""Grids: every instance whose probabilities are multiples of one fraction."""

from collections.abc import Iterator
from itertools import combinations, islice, pairwise, product
from math import comb, log10
from random import Random
from typing import Any

from flint import fmpq

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, TableProcess, table_entries

#: The denominator of random instances in searches, and the largest one of shrunk instances: it keeps exact sums short.
DENOMINATOR = 20
#: Rows over one denominator that a grid lists.
MOST_ROWS = 200_000


def inner_contexts(size: int, depth: int) -> int:
    """Number of contexts above the leaves of a tree of this depth."""
    return sum(int(size**length) for length in range(depth))


def grid_size(size: int, depth: int, denominator: int) -> int:
    """Number of instances that `grid` yields; raises `TooLarge` where it has more than a thousand digits."""
    if denominator < 1:
        raise InvalidInput(f"a grid of multiples of 1/{denominator}: the denominator must be at least 1")
    if table_entries(size, depth) > MAX_TABLE_ENTRIES:
        raise TooLarge(f"V = {size} at depth {depth} has too many contexts for a grid; make it smaller")
    contexts = inner_contexts(size, depth)
    rows = comb(denominator + size - 1, size - 1)
    if rows > MOST_ROWS:
        raise TooLarge(
            f"V = {size} with multiples of 1/{denominator} has {min(rows, 10**30):,} rows; make V or D smaller"
        )
    if 2 * contexts * log10(max(rows, 2)) > 1000:
        raise TooLarge(
            f"the grid of multiples of 1/{denominator} has {rows:,}^{2 * contexts:,} instances; make V, L or D smaller"
        )
    return int(rows ** (2 * contexts))


def grid_sample(size: int, depth: int, denominator: int, random: Random) -> Instance:
    """One instance of the grid, all equally likely; raises as `grid_size` does."""
    grid_size(size, depth, denominator)
    contexts = inner_contexts(size, depth)
    rows = _grid_rows(size, denominator)
    chosen = [random.choice(rows) for _ in range(2 * contexts)]
    return assemble(chosen[:contexts], chosen[contexts:], size, depth)


def grid(size: int, depth: int, denominator: int, step: int = 1) -> Iterator[Instance]:
    """Every instance for trees of this depth whose probabilities are multiples of `1/denominator`.

    step: take only every `step`-th instance.

    The target after the last drafted token, where every verifier draws from `p` itself, is one generic row, the same
    for all contexts. Raises as `grid_size` does.
    """
    grid_size(size, depth, denominator)
    contexts = inner_contexts(size, depth)
    for rows in islice(product(_grid_rows(size, denominator), repeat=2 * contexts), 0, None, step):
        yield assemble(rows[:contexts], rows[contexts:], size, depth)


def _grid_rows(size: int, denominator: int) -> list[list[fmpq]]:
    """All rows over one denominator (stars and bars)."""
    rows = []
    for bars in combinations(range(denominator + size - 1), size - 1):
        ends = (-1, *bars, denominator + size - 1)
        rows.append([fmpq(end - start - 1, denominator) for start, end in pairwise(ends)])
    return rows


def generic_row(size: int) -> list[fmpq]:
    """A row without ties or zeros: 1, 2, 3, .. divided by their sum."""
    total = size * (size + 1) // 2
    return [fmpq(token + 1, total) for token in range(size)]


def assemble(target: Any, draft: Any, size: int, depth: int) -> Instance:
    """An instance from one row for every context above the leaves, in order of depth, then lexicographic."""
    generic = generic_row(size)
    ends = [inner_contexts(size, d) for d in range(depth + 1)]
    levels = [slice(start, end) for start, end in pairwise(ends)]
    target_tables = [RATIONAL.vector(list(target[level])) for level in levels]
    target_tables.append(RATIONAL.vector([generic] * size**depth))
    draft_tables = [RATIONAL.vector(list(draft[level])) for level in levels] or [RATIONAL.vector([generic])]
    return Instance(TableProcess(target_tables, "target"), TableProcess(draft_tables, "draft"))
