"""The certified bounds of a scheme at a root, their expected time and their JSON: for `bound` and `compare`."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from draftproof.experiments.grid.rows import mixture
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.runtime import limited
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import Tick
from draftproof.lp_analysis import Optimum, optimum
from draftproof.lp_analysis.hitting import has_closed_form, listed_draws
from draftproof.lp_analysis.problem import assert_size
from draftproof.lp_analysis.solve import OptimumInterrupted
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.tables import context_count

#: Processor seconds that a solver takes to a gap of 1e-6 on 64 paths `V**L`: for each level of delayed trees, and for
#: others; the power of the paths that they grow with; what each further digit of the gap multiplies them by. For
#: estimates only.
_A_LEVEL, _SECONDS, _POWER, GROWTH = 0.015, 0.1, 1.4, 2.3
#: The steps of a bar for one root.
STEPS = 100
#: Seconds that listing one draft tree in rationals has taken.
_LISTED = 5e-4
#: Bounds are quick for at most this many paths, if their trees are listed in at most so many seconds.
QUICK_PATHS, QUICK_SECONDS = 256, 2.0
#: A solver stops after `Goal.seconds`. Solving and the exact recomputation after it may take `TIME_FACTOR` times as
#: long, and at least `LEAST_SECONDS`; beyond that there are no bounds.
TIME_FACTOR, LEAST_SECONDS = 1.8, 5.0


@dataclass(frozen=True)
class Goal:
    """When a solver stops: at this certified gap, or after so many seconds."""

    gap: float = 1e-6
    seconds: float | None = None
    method: str = "auto"


@dataclass(frozen=True)
class Bound:
    """The certified bounds at one root, and the seconds that they took.

    above: where the rows at the root are an approximation, the optimum on `Case.above`, which bounds the true one.
    """

    root: Case
    optimum: Optimum
    seconds: float
    above: Optimum | None = None

    @property
    def lower(self) -> Fraction:
        """A block efficiency that some lossless verifier attains."""
        return self.optimum.lower

    @property
    def upper(self) -> Fraction:
        """A block efficiency that no lossless verifier exceeds."""
        return (self.above or self.optimum).upper

    @property
    def solver_gap(self) -> Fraction:
        """The gap that the solver left; the rest of `upper - lower` comes from approximate rows."""
        return max(self.optimum.gap, (self.above or self.optimum).gap)


class BoundInterrupted(KeyboardInterrupt):
    """Ctrl-C while the bounds at a root were computed. at_hand: those that were found."""

    def __init__(self, at_hand: Bound) -> None:
        super().__init__()
        self.at_hand = at_hand


def bound_roots(problem: World, scheme: DraftScheme) -> list[Case]:
    """The roots of a problem for bounds; `Case.above` bounds the optimum of delayed trees only."""
    roots = problem.cases(scheme.depth, RATIONAL)
    return [root if isinstance(scheme, Delayed) else replace(root, above=None) for root in roots]


def bound_root(root: Case, scheme: DraftScheme, goal: Goal, tick: Tick | None = None) -> Bound:
    """The certified bounds at one root. tick: called with each hundredth of the way to the gap of the goal.

    At Ctrl-C raises `BoundInterrupted` with the bounds at hand, if there are any.
    """
    started = time.perf_counter()

    def bound(solved: Optimum, above: Optimum | None) -> Bound:
        return Bound(root, solved, time.perf_counter() - started, above)

    try:
        solved = _optimum(root, scheme, goal, tick)
    except OptimumInterrupted as stop:
        if root.above is None:
            raise BoundInterrupted(bound(stop.bounds, None)) from None
        raise KeyboardInterrupt from None  # nothing bounds the true rows from above
    try:
        above = None if root.above is None else _optimum(root.above, scheme, goal, None)
    except OptimumInterrupted as stop:
        raise BoundInterrupted(bound(solved, stop.bounds)) from None
    return bound(solved, above)


def _optimum(root: Case, scheme: DraftScheme, goal: Goal, tick: Tick | None) -> Optimum:
    instance = root.rows(scheme.depth)
    reported = 0

    def report(seconds: float, lower: float, upper: float) -> None:
        nonlocal reported
        done = hundredths(upper - lower, goal.gap)
        if tick and done > reported:
            tick(done - reported)
            reported = done

    limits: Any = {"gap": goal.gap, "seconds": goal.seconds, "method": goal.method}
    most = None if goal.seconds is None else max(TIME_FACTOR * goal.seconds, LEAST_SECONDS)
    with limited(most, _too_late(most, scheme)):
        solved = optimum(instance.target, instance.draft, scheme, **limits, report=report, clock=time.perf_counter)
    if tick:
        tick(STEPS - reported)
    return solved


def _too_late(most: float | None, scheme: DraftScheme) -> str:
    work = f"exact recomputation (powers up to K = {scheme.K} of the rows)" if isinstance(scheme, Delayed) else "work"
    return (
        f"no bounds: their {work} was not finished after "
        f"{most} s; give more seconds, a smaller tree or rows of shorter numbers"
    )


def hundredths(gap: float, goal: float) -> int:
    """The part of the time from a gap of 1 to that of the goal."""
    if gap <= goal:
        return STEPS
    return int(STEPS * (_shares_of_time(gap) / max(_shares_of_time(goal), 1e-9)))


def _shares_of_time(gap: float) -> float:
    """How long it takes to come from a gap of 1 to this one, in arbitrary units."""
    return float(GROWTH ** max(0.0, -math.log10(gap))) - 1


def expected_seconds(vocab_size: int, scheme: DraftScheme, draft: TokenProcess, gap: float = Goal.gap) -> float:
    """A rough time for the bounds at one root; raises `TooLarge` where there are too many paths or trees."""
    assert_size(vocab_size, scheme)
    if isinstance(scheme, Delayed) and (scheme.K == 1 or scheme.depth <= 1):
        return 0.05
    paths = context_count(vocab_size, scheme.depth)
    on_few = _A_LEVEL * scheme.depth if isinstance(scheme, Delayed) else _SECONDS
    digits = math.log10(Goal.gap / max(gap, 1e-300))
    solver = max(0.02, on_few * math.pow(paths / 64, _POWER) * math.pow(GROWTH, digits))
    return solver if has_closed_form(scheme) else solver + _LISTED * listed_draws(scheme, draft)


def is_quick(draft: TokenProcess, scheme: DraftScheme) -> bool:
    """Whether the bounds at one root take a few seconds at most."""
    if context_count(draft.vocab_size, scheme.depth) > QUICK_PATHS:
        return False
    try:
        return isinstance(scheme, Delayed) or expected_seconds(draft.vocab_size, scheme, draft) <= QUICK_SECONDS
    except TooLarge:
        return False


def average(bounds: Sequence[Bound]) -> tuple[Fraction, Fraction]:
    """Lower and upper bound, averaged over these roots by weight."""
    whole = sum(Fraction(bound.root.weight) for bound in bounds)
    weights = [Fraction(bound.root.weight) / whole for bound in bounds]
    lower = mixture(weights, [bound.lower for bound in bounds])
    upper = mixture(weights, [bound.upper for bound in bounds])
    return Fraction(lower), Fraction(upper)


def between(lower: Fraction, upper: Fraction) -> dict[str, Any]:
    """Two bounds and their gap, as row fields."""
    return {
        **number_fields("lower", lower),
        **number_fields("upper", upper),
        **number_fields("gap", upper - lower),
    }


def bound_fields(bounds: Sequence[Bound], scheme: DraftScheme) -> dict[str, Any]:
    """The bounds as a row. `optimum` repeats `lower`, which a lossless verifier attains; none exceeds `upper`.

    cut: whether rows are approximations (`Case.above`); the bounds are then about the true rows.
    """
    lower, upper = average(bounds)
    return {
        "scheme": scheme.as_dict(),
        **number_fields("optimum", lower),
        **between(lower, upper),
        "cut": any(bound.above for bound in bounds),
        "method": ", ".join(dict.fromkeys(bound.optimum.method for bound in bounds)),
        "seconds": round(sum(bound.seconds for bound in bounds), 3),
    }
