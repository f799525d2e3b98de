"""The same optimum by every program, with sizes and times: what the collapse to one variable a node buys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

from lp_analysis.reference.cuts import cut_bound
from lp_analysis.reference.direct import MOST_VARIABLES, direct_bound
from lp_analysis.solve import optimum
from lp_analysis.solvers.minimise import Clock
from lp_analysis.subject import Subject
from simulator.drafts import Delayed
from simulator.instances.exact import Given

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


def direct_size(vocab_size: int, scheme: Delayed) -> int:
    """Variables of the direct program where `q > 0`: for each trunk and set of at most `K` branches, its nodes.

    A node at depth `d` of the branches lies in all sets but those that avoid its `V**(L2 - d)` paths.
    """

    V, L1, L2 = vocab_size, scheme.L1, scheme.L2

    def sets(paths: int) -> int:
        return sum(comb(paths, count) for count in range(1, scheme.K + 1))

    paths: int = V**L2
    below = sum(V**d * (sets(paths) - sets(paths - V ** (L2 - d))) for d in range(1, L2 + 1))
    return int(V**L1 * ((L1 + 1) * sets(paths) + below))


def compare_programs(
    target: Given, draft: Given, scheme: Delayed, *, clock: Clock, gap: float = 1e-6, seconds: float = 60.0
) -> list[ProgramRow]:
    """One row for each of `PROGRAMS` on one instance. clock: such as `time.perf_counter`; seconds: for each."""

    def timed(work: Callable[[], Any]) -> tuple[Any, float]:
        start = clock()
        result = work()
        return result, clock() - start

    subject = Subject.of(target, draft, scheme)
    nodes = sum(subject.vocab_size**d for d in range(1, subject.depth + 1))
    size = direct_size(subject.vocab_size, scheme)
    rows = [ProgramRow("direct", size, None, None, None, False)]
    if size <= MOST_VARIABLES:
        value, spent = timed(partial(direct_bound, subject.target, subject.draft, scheme))
        rows = [ProgramRow("direct", size, spent, value, None, True)]
    end = clock() + seconds
    bound, spent = timed(partial(cut_bound, subject.target, subject.draft, scheme, stop=lambda: clock() > end))
    rows.append(ProgramRow("cuts", nodes, spent, bound.value, None, bound.complete))
    for method in ("columns", "levels"):
        limits: Any = {"gap": gap, "seconds": seconds, "method": method, "clock": clock}
        bounds, spent = timed(partial(optimum, subject.target, subject.draft, scheme, **limits))
        rows.append(ProgramRow(method, nodes, spent, float(bounds.upper), float(bounds.gap), bounds.gap <= gap))
    return rows
