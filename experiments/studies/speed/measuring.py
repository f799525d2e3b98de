"""One comparison of two times of this run, how long to measure, and the problems that are timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64, Arithmetic
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.laws.structured import (
    MetricsSink,
    RowSource,
    TableRows,
    run,
)
from draftproof.simulator.protocol import Verifier

TOP_DOWN = ("nss", "naive_tree", "specinfer", "spectr")


@dataclass(frozen=True)
class Row:
    """One comparison.

    measured, other: in `unit`, "" for a plain number. faster: whether the ratio is `other / measured`, not its
    inverse.
    """

    section: str
    problem: str
    measured: float
    against: str
    other: float
    goal: float | None = None
    faster: bool = False
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.other / self.measured if self.faster else self.measured / self.other

    @property
    def met(self) -> bool | None:
        """Whether the ratio is at least the goal where `faster`, else at most; None without a goal."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.faster else self.ratio <= self.goal

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


@dataclass(frozen=True)
class Sizes:
    """How long to measure: the whole table, or its smallest version, which only shows that everything runs."""

    quick: bool

    @property
    def budget(self) -> float:
        """Seconds for one group of timings."""
        return 0.0 if self.quick else 2.5

    @property
    def limit(self) -> float:
        """Seconds that a verifier with programs at its nodes may take."""
        return 0.2 if self.quick else 20.0


def seconds_of(task: Callable[[], object]) -> float:
    """Processor time of one run, at least the resolution of the clock: others on a busy machine do not count."""
    begun = time.process_time()
    task()
    return max(time.process_time() - begun, time.get_clock_info("process_time").resolution)


def in_turn(tasks: Mapping[str, Callable[[], object]], budget: float) -> dict[str, float]:
    """The least time of each task; all run in turn, again and again until the budget is used up."""
    least = dict.fromkeys(tasks, float("inf"))
    end = time.perf_counter() + budget
    while True:
        for name, task in tasks.items():
            least[name] = min(least[name], seconds_of(task))
        if time.perf_counter() >= end:
            return least


def random_rows(V: int, L: int, roots: int = 1, seed: int = 0) -> tuple[TableRows, list[Any], list[Any]]:
    """Dirichlet tables of depths `0..L - 1`, all that the metrics of trees of depth `L` read."""
    generator = np.random.default_rng(seed)
    target, draft = (
        [generator.dirichlet(np.ones(V), size=roots * V**depth) for depth in range(L)] for _ in ("target", "draft")
    )
    return TableRows(target, draft, roots), target, draft


def summed(verifier: Verifier, rows: RowSource, scheme: Delayed) -> Callable[[], object]:
    """The evaluation that is timed: depth distribution and largest deviation of every root."""
    return lambda: run(verifier, rows, scheme, MetricsSink(rows, scheme.depth))


def named(verifier: str, V: int, scheme: Delayed, arithmetic: Arithmetic = FLOAT64) -> str:
    """The problem in words: without a trunk, and in float64 unless it says otherwise."""
    return f"{verifier} V={V} K={scheme.K} L2={scheme.L2}" + (" rational" if arithmetic.exact else "")


def peak_mib() -> float:
    """The most memory that this process has held so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
