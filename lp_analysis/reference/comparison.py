"""The same optimum by every program, with sizes and times: what the collapse to one variable a node buys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import numpy as np

from lp_analysis.reference.cuts import cut_bound
from lp_analysis.reference.direct import MOST_VARIABLES, direct_bound
from lp_analysis.reference.hitting import IidBranches
from lp_analysis.solve import optimum
from lp_analysis.solvers.minimise import Clock
from simulator.instances.instance import Instance

PROGRAMS = ("direct", "cuts", "columns", "levels")


@dataclass(frozen=True)
class ProgramRow:
    """One program on one instance. value: upper bound; gap: to the lower bound where the program has one, else None.

    variables: of its (first) linear program. seconds, value: None if the program is too large to be built.
    complete: whether it was solved to the end; `value` is an upper bound all the same.
    """

    program: str
    variables: int
    seconds: float | None
    value: float | None
    gap: float | None
    complete: bool


def direct_size(V: int, K: int, L1: int, L2: int) -> int:
    """Variables of the direct program where `q > 0`: for each trunk and set of at most `K` branches, its nodes.

    A node at depth `d` of the branches lies in all sets but those that avoid its `V**(L2 - d)` paths.
    """

    def sets(paths: int) -> int:
        return sum(comb(paths, count) for count in range(1, K + 1))

    paths: int = V**L2
    below = sum(V**d * (sets(paths) - sets(paths - V ** (L2 - d))) for d in range(1, L2 + 1))
    return int(V**L1 * ((L1 + 1) * sets(paths) + below))


def compare_programs(
    instance: Instance, K: int, L1: int, L2: int, clock: Clock, gap: float = 1e-6, seconds: float = 60.0
) -> list[ProgramRow]:
    """One row for each of `PROGRAMS` on an exact instance. clock: such as `time.perf_counter`; seconds: for each."""

    def timed(work: Callable[[], Any]) -> tuple[Any, float]:
        start = clock()
        result = work()
        return result, clock() - start

    target, draft = instance.target.tables, instance.draft.tables
    V, depth = instance.vocab_size, L1 + L2
    nodes = sum(V**d for d in range(1, depth + 1))
    scheme = IidBranches([np.asarray(table, dtype=np.float64) for table in draft], K, L1, L2)
    size = direct_size(V, K, L1, L2)
    rows = [ProgramRow("direct", size, None, None, None, False)]
    if size <= MOST_VARIABLES:
        value, spent = timed(lambda: direct_bound(target[:depth], scheme.trees()))
        rows = [ProgramRow("direct", size, spent, value, None, True)]
    end = clock() + seconds
    bound, spent = timed(lambda: cut_bound(target, scheme, lambda: clock() > end))
    rows.append(ProgramRow("cuts", nodes, spent, bound.value, None, bound.complete))
    for method in ("columns", "levels"):
        found, spent = timed(partial(optimum, target, draft, K, L1, L2, gap, seconds, method, clock=clock))
        rows.append(ProgramRow(method, nodes, spent, float(found.upper), float(found.gap), found.gap <= gap))
    return rows
