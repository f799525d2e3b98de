"""The frontier of lossy verification: the most tokens a block at a given bias, with exact bounds from both sides.

The bias of a verifier is the total variation between the first `L + 1` tokens of a block, short ones continued by the
target, and the target's. A point of the frontier is the largest `E[tau + 1]` of all verifiers of at most this bias.

*Lower side.* A mixture of orders of ends selects a path with law `r`. Reaches `D(c) <= r(c)` with
`sum_y D(c,y) <= D(c)` belong to a verifier, which corrects from the node where it stops by any law it likes.

*Upper side.* Prices of shortfalls (`bias_prices`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.lp_analysis.bias_prices import bias_bound
from draftproof.lp_analysis.nodes import NodeValues, children, efficiency, prefix_masses, reach
from draftproof.lp_analysis.orders import Plan, as_plan, mixed_law
from draftproof.lp_analysis.problem import BoundProblem, assert_size
from draftproof.lp_analysis.solve import POLISHED, mixtures_of, rounded
from draftproof.lp_analysis.solvers.biased import BiasedColumns
from draftproof.lp_analysis.solvers.levels import first_knots
from draftproof.lp_analysis.solvers.minimise import Clock, Report, Search, in_stages, stopped
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.residual import positive_part
from draftproof.simulator.shown import number_text
from draftproof.simulator.tables import context_count

#: The most paths `V**L` for column generation: its master program has four variables a node.
MOST_COLUMN_PATHS = 1_100
#: Up to this many paths of delayed trees column generation is quicker than levels.
FEW_PATHS = 64
#: The masses of the verifiers that attain points are multiples of one over this, so that certificates stay short.
MASS_UNIT = 2**48


@dataclass(frozen=True, repr=False)
class Proof:
    """What the bounds of a point are recomputed from, by depth.

    plan: mixture of orders. reach: `D(c)`. corrections: `e(c)`, the mass that the correction token makes `c`.
    shortfalls: the price `z` of each path.
    """

    plan: Plan
    reach: NodeValues
    corrections: NodeValues
    shortfalls: Any


@dataclass(frozen=True, repr=False)
class FrontierPoint:
    """Exact bounds `lower <= E[tau + 1] <= upper` on the best verifier of total variation at most `bias` a block.

    price: tokens a unit of further bias brings at most, `lambda`. verified_by: what the bounds follow from.
    """

    bias: Fraction
    lower: Fraction
    upper: Fraction
    price: Fraction
    verified_by: Proof

    def to_dict(self) -> dict[str, Fraction]:
        """The numbers."""
        return {"bias": self.bias, "lower": self.lower, "upper": self.upper, "price": self.price}

    def __repr__(self) -> str:
        return f"FrontierPoint({', '.join(f'{key} = {number_text(x)}' for key, x in self.to_dict().items())})"


class FrontierInterrupted(KeyboardInterrupt):
    """Ctrl-C while the frontier was traced. points: those at hand, the last with the gap that it had."""

    def __init__(self, points: list[FrontierPoint]) -> None:
        super().__init__()
        self.points = points


def frontier(
    target: ProcessLike,
    draft: ProcessLike,
    scheme: DraftScheme,
    bias: Sequence[Any],
    *,
    gap: float = 1e-6,
    seconds: float | None = None,
    clock: Clock | None = None,
    report: Callable[[FrontierPoint], None] | None = None,
    on_bounds: Report | None = None,
) -> list[FrontierPoint]:
    """The most tokens a block at each bias: bounds at most about `gap` apart, if `seconds` allow, in the order given.

    target, draft: as `optimum` takes them; every scheme that it takes. bias: total variations in 0..1. seconds: for
    all points together, by `clock`; what one point leaves is for the others, and a step that has begun is finished.
    Delayed trees of several branches are solved by levels, as `optimum` does, other schemes by column generation.
    report: called with each point; on_bounds: with seconds, lower and upper bound, in float64, as a point improves.
    At Ctrl-C raises `FrontierInterrupted` with the points at hand, if there are any. Raises `InvalidInput`, and
    `TooLarge` above the paths that `optimum` takes, and above 1,100 for other schemes than delayed trees.
    """
    if not gap > 0 or (seconds is not None and (clock is None or not seconds > 0)):
        raise InvalidInput(f"gap = {gap} and seconds = {seconds} must be positive, and seconds need a clock")
    clock, interrupted = clock or stopped, False
    begun = clock()
    wanted = [biased(value) for value in bias]
    problem = BoundProblem.of(target, draft, scheme)
    assert_frontier_size(problem.vocab_size, scheme)
    if problem.depth == 0:
        raise InvalidInput(f"{scheme} drafts nothing, so nothing can be accepted; use a depth of at least 1")
    paths = context_count(problem.vocab_size, problem.depth)
    by_levels = isinstance(scheme, Delayed) and scheme.K > 1 and paths > FEW_PATHS
    solver = (_Levels if by_levels else BiasedColumns)(problem.floats)
    points: list[FrontierPoint] = []
    for value in wanted:
        left = np.inf if seconds is None else (begun + seconds - clock()) / (len(wanted) - len(points))
        search = Search(on_bounds, clock, left)
        try:
            points.append(_solved(solver, problem, scheme, value, gap, search))
            interrupted = search.interrupted
        except KeyboardInterrupt:
            if not points:
                raise
            interrupted = True
        if interrupted:
            raise FrontierInterrupted(points)
        if report:
            report(points[-1])
    return points


def assert_frontier_size(vocab_size: int, scheme: DraftScheme) -> None:
    """Raise `TooLarge` for what `optimum` does not take, and where column generation would not end."""
    assert_size(vocab_size, scheme)
    if context_count(vocab_size, scheme.depth) > MOST_COLUMN_PATHS and not isinstance(scheme, Delayed):
        raise TooLarge(
            f"V^L = {vocab_size}^{scheme.depth} paths are more than {MOST_COLUMN_PATHS:,}, the most for frontiers of "
            "other schemes than delayed trees; use a smaller vocabulary or tree"
        )


def biased(value: Any) -> Fraction:
    """A bias as a rational, in 0..1; raises `InvalidInput`."""
    try:
        number = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise InvalidInput(f"bias {value!r} is no total variation; give numbers in 0..1, such as 0,.01,.05")
    return number


class _Levels:
    """The interior-point method on interpolated `g`; each point begins with the knots of the one before."""

    least = 1e-8

    def __init__(self, problem: BoundProblem) -> None:
        self.problem = problem
        self.knots = first_knots(len(problem.iid.groups), 16)
        lossless = reach(problem.iid.masses, problem.target)
        attained = problem.iid.masses[-1], lossless, lossless_corrections(lossless, problem.target)
        self.known = [(0.0, float(efficiency(lossless)), attained)]  # verifiers; the first is block verification
        self.prices = [[lossless[-1] * 0, np.zeros(1)]]

    def improve(self, bias: float, gap: float, search: Search) -> None:
        """Better bounds from those of other points, whose prices hold at every bias and verifiers at larger ones.

        Attained by mixtures of orders, a reach and corrections.
        """
        problem = self.problem
        with search.until_interrupted():
            for prices in self.prices:
                upper = float(bias_bound(prices[0], prices[1][0], bias, problem))
                for _, lower, attained in (verifier for verifier in self.known if verifier[0] <= bias):
                    search.offer(lower, attained, upper, prices)
            self.knots = in_stages(problem, self.knots, gap, search, bias)
        self.known.append((bias, search.lower, search.law))
        self.prices.append(search.prices)
        law, reached, corrected = search.law
        mixtures = mixtures_of(law, problem, gap)
        search.law = mixtures, reached, corrected
        if search.gap > gap and not search.late and law.size <= POLISHED:
            finer = BiasedColumns(problem)
            for trunk, (_, orders) in enumerate(mixtures):
                for order in orders:
                    finer.add(trunk, order)
            finer.improve(bias, gap, search)


def _solved(
    solver: BiasedColumns | _Levels,
    problem: BoundProblem,
    scheme: DraftScheme,
    bias: Fraction,
    gap: float,
    search: Search,
) -> FrontierPoint:
    """One point by a solver, then both bounds in rationals.

    At Ctrl-C when there are bounds `search` is interrupted, and the point is the best at hand.
    """
    solver.improve(max(float(bias), solver.least), 0.5 * gap, search)  # rounding takes the rest
    mixtures, reached, corrected = search.law
    plan = as_plan(problem.vocab_size, scheme, mixtures)
    shortfalls, (slope,) = rounded(search.prices)
    z = np.minimum(shortfalls, slope)
    z = z - z.min()  # a constant changes no bound but the price, which need be no more than the largest
    slope = z.max()
    exact = RATIONAL.number(bias)
    tokens, *attained = _attained(plan, rounded(reached), rounded(corrected), exact, problem)
    numbers = tokens, bias_bound(z, slope, exact, problem), slope
    lowest, highest, steepest = (Fraction(as_python(value)) for value in numbers)
    return FrontierPoint(bias, lowest, highest, steepest, Proof(plan, attained[0], attained[1], z))


def shortfall(reached: NodeValues, corrections: NodeValues, target: Sequence[Any]) -> Any:
    """The total variation of the output: the mass by which paths fall short of the target's."""
    output = reached[0] * 0
    for depth in range(1, len(reached)):
        output = children(output, target[depth - 1]) + corrections[depth]
    return positive_part(prefix_masses(target, len(reached) - 1)[-1] - output - reached[-1]).sum()


def lossless_corrections(reached: NodeValues, target: Sequence[Any]) -> NodeValues:
    """`e(c, y) = D(c) p(y|c) - D(c, y)`, of the lossless verifier with this reach."""
    below = zip(reached, target, reached[1:], strict=False)
    return [reached[0] * 0, *(children(above, table) - own for above, table, own in below)]


def _attained(
    plan: Plan, reached: NodeValues, corrections: NodeValues, bias: Any, problem: BoundProblem
) -> tuple[Any, NodeValues, NodeValues]:
    """The tokens, reach and corrections of a verifier near these of at most this bias, exactly.

    Masses are multiples of one over `MASS_UNIT`. A bias that is too large is brought down by mixing with block
    verification against the same law, which is lossless: total variation is convex.
    """
    law, V = mixed_law(plan, problem), problem.vocab_size
    cut, corrected = [law[0]], [law[0] * 0]
    for depth in range(1, problem.depth + 1):
        own = _floored(np.minimum(reached[depth], law[depth])).reshape(-1, V)
        sums = own.sum(axis=1)
        factor = np.minimum(cut[-1], sums) / (sums + (sums == 0) * 1)
        own = _floored(own * factor[:, np.newaxis])
        left = cut[-1] - own.sum(axis=1)
        wanted = corrections[depth].reshape(-1, V)
        wanted = wanted + (wanted.sum(axis=1) == 0)[:, np.newaxis] * problem.target[depth - 1]
        spread = _floored(wanted * (left / wanted.sum(axis=1))[:, np.newaxis])
        most = wanted.argmax(axis=1), left - spread.sum(axis=1)
        spread[np.arange(len(spread)), most[0]] += most[1]  # what was cut goes to the likeliest correction
        cut.append(own.reshape(-1))
        corrected.append(spread.reshape(-1))
    lossless = reach(law, problem.target)
    spent = shortfall(cut, corrected, problem.target)
    share = _floored(np.array([bias / spent]))[0] if spent > bias else bias * 0 + 1
    mixed, corrected = (
        [share * one + (1 - share) * other for one, other in zip(*pair, strict=True)]
        for pair in ((cut, lossless), (corrected, lossless_corrections(lossless, problem.target)))
    )
    return efficiency(mixed), mixed, corrected


def _floored(values: Any) -> Any:
    """The largest multiples of one over `MASS_UNIT` that are not above exact numbers."""
    floors = [fmpq((value * MASS_UNIT).floor(), MASS_UNIT) for value in values.ravel()]
    return RATIONAL.vector(floors).reshape(values.shape)
