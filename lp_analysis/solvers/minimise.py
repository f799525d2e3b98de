"""Direct minimisation of the price bound: interior-point solves over an interpolated `g`, its knots refined in stages.

1. Interpolate `g` on a few cells, solve the level program (`interior`); every step gives prices and a selection law.
2. Once the error of the interpolation dominates the gap, split the cells that cause it, drop useless knots, and repeat.

In the end the knots are where the optimal order changes level, and the interpolation is exact there.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draftproof.lp_analysis.hitting import IidBranches
from draftproof.lp_analysis.nodes import NodeValues, reach, worth
from draftproof.lp_analysis.prices import price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.interior import State
from draftproof.lp_analysis.solvers.levels import errors, first_knots, refined
from draftproof.lp_analysis.solvers.programs import PriceProgram

#: Called with the seconds since the start and the bounds so far.
Report = Callable[[float, float, float], None]
#: A clock such as `time.perf_counter`; the library itself reads none.
Clock = Callable[[], float]


def stopped() -> float:
    """The default clock: always 0."""
    return 0.0


#: Share of the uniform distribution mixed into tables with entries below the second number, zeros above all, so that
#: the program has an interior and products of entries are no zeros.
BLEND, SMALLEST = 1e-9, 1e-20
#: A stage ends when its own gap is this share of the interpolation error and of the best gap so far.
STAGE_END = 0.3
#: Steps without progress that end a stage; the first ones, where rows have zeros, may take longer.
PATIENCE = 15
#: Most steps of a stage, and most numbers in its arrays of paths times cells.
STEPS, CELLS = 200, 20_000_000


@dataclass
class Search:
    """The best bounds so far, in float64, with their law and prices.

    history: (seconds, lower, upper). interrupted: whether Ctrl-C ended the search.
    """

    report: Report | None = None
    clock: Clock = stopped
    seconds: float = np.inf
    interrupted: bool = False
    started: float = field(init=False)
    lower: float = -np.inf
    upper: float = np.inf
    law: Any = None
    prices: NodeValues = field(default_factory=list)
    history: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def offer(self, lower: float, law: Any, upper: float, prices: NodeValues) -> None:
        """Replace the best bounds by these where they are better, and add them to the history."""
        if lower > self.lower:
            self.lower, self.law = lower, law
        if upper < self.upper:
            self.upper, self.prices = upper, prices
        self.note()

    def note(self) -> None:
        """Add the bounds to the history if they have changed."""
        seconds = self.clock() - self.started
        if not self.history or self.history[-1][1:] != (self.lower, self.upper):
            self.history.append((seconds, self.lower, self.upper))
            if self.report is not None:
                self.report(*self.history[-1])

    @property
    def gap(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower

    @property
    def late(self) -> bool:
        """Whether the time is up, or Ctrl-C was pressed."""
        return self.interrupted or self.clock() - self.started > self.seconds

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Within it Ctrl-C ends the search and keeps the best bounds; before there are any, it is raised."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.prices or self.lower == -np.inf:
                raise
            self.interrupted = True


def minimise(problem: BoundProblem, gap: float, search: Search) -> None:
    """Improve `search`, of the optimum, until its gap is at most `gap`, time is up, or float64 does not suffice.

    problem: of a delayed tree, in float64.
    """
    trees = problem.iid
    nothing = [values * 0 for values in trees.masses]  # first bounds, from prices of 0
    alone = float(worth(reach(trees.masses, problem.target), problem.weights))
    search.offer(alone, trees.masses[-1], float(price_bound(nothing, problem)), nothing)
    in_stages(problem, first_knots(len(trees.groups), 16), gap, search)


def in_stages(problem: BoundProblem, knots: Any, gap: float, search: Search, bias: float | None = None) -> Any:
    """Solve programs, each at knots that the one before refines, from these on; returns the last ones."""
    trees = problem.iid
    branches = IidBranches(_blended(trees.draft_tables), trees.scheme)
    smooth = BoundProblem(_blended(problem.target), branches, problem.node_weights)
    idle = 0
    while idle < 3 and not search.late and trees.shares.size * knots.shape[1] < CELLS:
        before = search.gap
        ends = _stage(PriceProgram(smooth, knots, bias), problem, knots, gap, search)
        if search.gap <= gap or ends is None:
            break
        idle = 0 if search.gap < 0.8 * before else idle + 1
        knots = refined(ends, smooth, knots)
    return knots


def _stage(program: PriceProgram, truth: BoundProblem, knots: Any, gap: float, search: Search) -> Any:
    """Solve for one set of knots; returns the last values at the ends, None if not even one step could be made."""
    state = program.start()
    ends, latest, begun = None, (np.inf, 0), 0.0
    for step in range(STEPS):
        advanced = _advanced(program, state)
        if advanced is None:
            break
        state = advanced
        reading = program.read(state, truth)
        ends = reading.ends
        search.offer(reading.lower, reading.attained, reading.upper, reading.prices)
        own = reading.value - reading.lower
        begun = begun or own
        latest = (own, step) if own < 0.9 * latest[0] else latest
        error = float(errors(ends, program.problem, knots)[0].sum())
        if (
            own < max(STAGE_END * min(error, search.gap), 1e-11)
            or search.gap <= gap
            or search.late
            or step > latest[1] + (PATIENCE if own < 0.5 * begun else 4 * PATIENCE)
        ):
            break
    return ends


def _advanced(program: PriceProgram, state: State) -> State | None:
    try:
        with np.errstate(all="ignore"):
            state = program.step(state)
    except (np.linalg.LinAlgError, ValueError):  # scipy reports numbers that are not finite as a ValueError
        return None
    finite = all(np.isfinite(part).all() for part in (*state.slack, *state.multiplier))
    return state if finite else None


def _blended(tables: Sequence[Any]) -> list[Any]:
    return [table if (table >= SMALLEST).all() else (1 - BLEND) * table + BLEND / table.shape[1] for table in tables]
