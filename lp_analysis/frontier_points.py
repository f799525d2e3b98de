"""The frontier of lossy verification: the most tokens a block at a given bias, with exact bounds from both sides.

The bias of a verifier is the total variation between the first `L + 1` tokens of a block, short ones continued by the
target, and the target's. A point of the frontier is the largest `E[tau + 1]` of all verifiers of at most this bias.

*Lower side.* A mixture of orders of ends selects a path with law `r`. Reaches `D(c) <= r(c)` with
`sum_y D(c,y) <= D(c)` belong to a verifier, which corrects from the node where it stops by any law it likes.

*Upper side.* Prices `0 <= z(x) <= lambda` of the shortfall `(p(x) - o(x))+` of each path, with
`Z(c) = sum_y p(y|c) Z(c,y)` and `Z = z` at the paths: accepting `c` is worth `w(c) = |c| + 1 + max_y Z(c,y)`,
or `L + 1 + z(c)` at depth `L`, so

    lambda bias - Z(()) + E[max over c in T of w(c)]

is an upper bound. The least of these is the frontier (duality), whose slope is `lambda`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.lp_analysis.nodes import NodeValues, children, efficiency, prefix_masses, reach
from draftproof.lp_analysis.orders import Plan, as_plan, mixed_law
from draftproof.lp_analysis.prices import levels_of, mean_of_largest
from draftproof.lp_analysis.problem import BoundProblem, is_one_path
from draftproof.lp_analysis.solve import rounded
from draftproof.lp_analysis.solvers.biased import BiasedColumns
from draftproof.lp_analysis.solvers.columns import IN_OUT, ROUNDS, likely_orders
from draftproof.lp_analysis.solvers.minimise import Clock, Search, stopped
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.shown import number_text
from draftproof.simulator.vectors import positive_part

#: The most paths `V**L` where there are several branches: the master program has four variables a node.
MOST_FRONTIER_PATHS = 1_100
#: The solver's least bias. At 0 the prices are not unique; those of this bias are the slope of the curve from 0 on.
LEAST_BIAS = 1e-7
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
) -> list[FrontierPoint]:
    """The most tokens a block at each bias: bounds at most about `gap` apart, if `seconds` allow, in the order given.

    target, draft: as `optimum` takes them; every scheme that it takes. bias: total variations in 0..1. seconds: for
    all points together, by `clock`; every point has at least one round of the solver. report: called with each point.
    At Ctrl-C raises `FrontierInterrupted` with the points at hand, if there are any. Raises `InvalidInput`, and
    `TooLarge` above 1,100 paths, of one path (`K = 1`) above 70,000.
    """
    if not gap > 0 or (seconds is not None and (clock is None or not seconds > 0)):
        raise InvalidInput(f"gap = {gap} and seconds = {seconds} must be positive, and seconds need a clock")
    search = Search(clock=clock or stopped, seconds=np.inf if seconds is None else seconds)
    wanted = [biased(value) for value in bias]
    problem = BoundProblem.of(target, draft, scheme)
    if problem.vocab_size**problem.depth > MOST_FRONTIER_PATHS and not is_one_path(scheme):
        raise TooLarge(
            f"V^L = {problem.vocab_size}^{problem.depth} paths are more than {MOST_FRONTIER_PATHS:,}; "
            "use a smaller vocabulary or tree"
        )
    if problem.depth == 0:
        raise InvalidInput(f"{scheme} drafts nothing, so nothing can be accepted; use a depth of at least 1")
    columns = BiasedColumns(problem.floats)
    for trunk, order in enumerate(likely_orders(columns.problem)):
        columns.add(trunk, order)
    points: list[FrontierPoint] = []
    for value in wanted:
        try:
            points.append(_solved(columns, problem, scheme, value, 0.5 * gap, search))  # rounding takes the rest
        except KeyboardInterrupt:
            if not points:
                raise
            search.interrupted = True
        if search.interrupted:
            raise FrontierInterrupted(points)
        if report:
            report(points[-1])
    return points


def biased(value: Any) -> Fraction:
    """A bias as a rational, in 0..1; raises `InvalidInput`."""
    try:
        number = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise InvalidInput(f"bias {value!r} is no total variation; give numbers in 0..1, such as 0,.01,.05")
    return number


def _solved(
    columns: BiasedColumns, problem: BoundProblem, scheme: DraftScheme, bias: Fraction, gap: float, search: Search
) -> FrontierPoint:
    """One point by column generation, then both bounds in rationals.

    At Ctrl-C after the first round `search` is interrupted, and the point is that of the last round.
    """
    allowed = max(float(bias), LEAST_BIAS)
    columns.allow(allowed)
    best: tuple[float, Any, float] = (np.inf, 0, 0)
    held: Any = None
    try:
        for _ in range(ROUNDS):
            lower, shortfalls, price, *primal = columns.point()
            held = [*primal, [list(part) for part in columns.orders]]
            grown = False
            for share in IN_OUT if best[0] < np.inf else IN_OUT[:1]:
                z, slope = share * best[1] + (1 - share) * shortfalls, share * best[2] + (1 - share) * price
                upper = float(bias_bound(z, slope, allowed, columns.problem))
                best = min(best, (upper, z, slope), key=lambda found: found[0])
                for trunk, order in enumerate(levels_of(_at_ends(z, columns.problem))[0]):
                    grown |= columns.add(trunk, order)
            if best[0] - lower <= gap or not grown or search.late:
                break
    except KeyboardInterrupt:
        if best[0] == np.inf:
            raise
        search.interrupted = True
    weights, reached, corrected, orders = held
    plan = as_plan(problem.vocab_size, scheme, list(zip(weights, orders, strict=True)))
    prices = rounded([best[1], np.array([best[2]])])
    slope, z = prices[1][0], np.minimum(prices[0], prices[1][0])
    exact = RATIONAL.number(bias)
    tokens, *attained = _attained(plan, rounded(reached), rounded(corrected), exact, problem)
    numbers = tokens, bias_bound(z, slope, exact, problem), slope
    lowest, highest, steepest = (Fraction(as_python(value)) for value in numbers)
    return FrontierPoint(bias, lowest, highest, steepest, Proof(plan, attained[0], attained[1], z))


def _worths(shortfalls: Any, problem: BoundProblem) -> tuple[NodeValues, Any]:
    """For every node the largest `w` on the path to it, and `Z(())`."""
    worths, after = [problem.depth + 1 + shortfalls], shortfalls
    for depth in range(problem.depth - 1, -1, -1):
        table = problem.target[depth]
        after = after.reshape(table.shape)
        worths.insert(0, depth + 1 + after.max(axis=1))
        after = (table * after).sum(axis=1)
    for depth in range(1, problem.depth + 1):
        worths[depth] = np.maximum(worths[depth], worths[depth - 1].repeat(problem.vocab_size))
    return worths, after[0]


def _at_ends(shortfalls: Any, problem: BoundProblem) -> Any:
    """The largest `w` on the path to each end, shape `(G, N)`."""
    return problem.trees.at_ends(_worths(shortfalls, problem)[0])


def bias_bound(shortfalls: Any, price: Any, bias: Any, problem: BoundProblem) -> Any:
    """The upper bound by the prices of shortfalls, shape `(V**L,)`, and `lambda`, in the arithmetic of its arguments.

    Raises `InvalidInput` unless the former are between 0 and the latter.
    """
    if (shortfalls < 0).any() or (shortfalls > price).any():
        raise InvalidInput("prices of shortfalls must be between 0 and the price of bias")
    worths, mean = _worths(shortfalls, problem)
    return price * bias - mean + mean_of_largest(problem.trees.at_ends(worths), problem)


def shortfall(reached: NodeValues, corrections: NodeValues, target: Sequence[Any]) -> Any:
    """The total variation of the output: the mass by which paths fall short of the target's."""
    output = reached[0] * 0
    for depth in range(1, len(reached)):
        output = children(output, target[depth - 1]) + corrections[depth]
    return positive_part(prefix_masses(target, len(reached) - 1)[-1] - output - reached[-1]).sum()


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
    slack = [law[0] * 0] + [
        children(lossless[d - 1], problem.target[d - 1]) - lossless[d] for d in range(1, problem.depth + 1)
    ]
    found = shortfall(cut, corrected, problem.target)
    kept = _floored(np.array([bias / found]))[0] if found > bias else bias * 0 + 1
    mixed, corrected = (
        [kept * one + (1 - kept) * other for one, other in zip(*pair, strict=True)]
        for pair in ((cut, lossless), (corrected, slack))
    )
    return efficiency(mixed), mixed, corrected


def _floored(values: Any) -> Any:
    """The largest multiples of one over `MASS_UNIT` that are not above exact numbers."""
    floors = [fmpq((value * MASS_UNIT).floor(), MASS_UNIT) for value in values.ravel()]
    return RATIONAL.vector(floors).reshape(values.shape)
