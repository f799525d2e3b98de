"""The optimum over all lossless verifiers on the trees of a scheme: exact bounds from both sides, with plan and prices.

Solvers work in float64. Their prices and orders are rounded to rationals, and both bounds are recomputed exactly from
those: any prices give an upper bound and any mixture of orders is attained, so rounding makes neither bound wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.lp_analysis.decompose import ROUNDING, decompose, repaired
from draftproof.lp_analysis.nodes import NodeValues, children, reach, worth
from draftproof.lp_analysis.orders import Plan, as_plan, mixed_law
from draftproof.lp_analysis.prices import price_bound
from draftproof.lp_analysis.problem import BoundProblem, delayed_only
from draftproof.lp_analysis.single_step import best_set, selection_law
from draftproof.lp_analysis.solvers.columns import Columns, generate
from draftproof.lp_analysis.solvers.minimise import Clock, Report, Search, minimise, stopped
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.exact import ProcessLike
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.shown import fields_html, number_text


def single_path_prices(problem: BoundProblem) -> NodeValues:
    """Optimal prices of one path (`K = 1`) by depth, 0 at the root, in the arithmetic of the tables; no weight is < 0.

    With one path there is one selection law, `q` itself, so block verification is optimal, with the efficiency of
    `D(c,y) = min(q(c,y), D(c) p(y|c))`.
    Let `v(c) = w(c) + sum over children with D(c,y) < q(c,y) of p(y|c) v(c,y)`, the derivative of the efficiency by
    `D(c)`. The price of `c` is `v(c)` where `D(c) = q(c)`, 0 elsewhere; the price bound then equals the optimum.
    """
    law = problem.iid.masses
    reached = reach(law, problem.target)
    value = law[-1] * 0 + problem.weights[-1]
    prices: NodeValues = []
    for d in range(problem.depth, 0, -1):
        stopped = law[d] < children(reached[d - 1], problem.target[d - 1])
        prices.insert(0, value * stopped)
        table = problem.target[d - 1]
        value = problem.weights[d - 1] + (table * (value * ~stopped).reshape(table.shape)).sum(axis=1)
    return [law[0] * 0, *prices]


#: Node prices are rounded to multiples of one over this.
PRICE_UNIT = 2**40
#: Up to this many paths of a delayed tree, column generation finishes what the level programs leave open.
POLISHED = 300

METHODS = ("auto", "levels", "columns")


class OptimumInterrupted(KeyboardInterrupt):
    """Ctrl-C while a solver ran. bounds: the exact ones that were at hand, with `timed_out`."""

    def __init__(self, bounds: "Optimum") -> None:
        super().__init__()
        self.bounds = bounds


@dataclass(frozen=True, repr=False)
class Optimum:
    """Exact bounds `lower <= optimum <= upper` on block efficiency, or on the weights of what is accepted.

    plan: a mixture of orders; block verification of its choice has block efficiency `lower`.
    prices: for `d = 0..L` one price a node, 0 at the root; their price bound is `upper`.
    weights: by depth, one number a node; None for 1 everywhere. limits: where a weight is negative, what the verifier
    of the plan reaches no node more often than, by depth; None for no limit.
    history: (seconds, lower, upper) in float64 while the solver ran. method: which solver, "exact" if none was needed.
    timed_out: whether the solver was stopped by its time limit or by Ctrl-C.
    """

    lower: Fraction
    upper: Fraction
    plan: Plan
    prices: tuple[tuple[Fraction, ...], ...]
    history: tuple[tuple[float, float, float], ...]
    method: str
    timed_out: bool = False
    weights: tuple[tuple[Fraction, ...], ...] | None = None
    limits: tuple[tuple[Fraction, ...], ...] | None = None

    @property
    def scheme(self) -> DraftScheme:
        """The scheme that it is about."""
        return self.plan.scheme

    @property
    def gap(self) -> Fraction:
        """`upper - lower`."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """The bounds; plan and prices stay with the certificate."""
        bounds = {"lower": self.lower, "upper": self.upper, "gap": self.gap}
        return {**bounds, "method": self.method, "timed_out": self.timed_out}

    def __repr__(self) -> str:
        bounds = ", ".join(f"{key} = {number_text(value)}" for key, value in list(self.to_dict().items())[:3])
        return f"Optimum({bounds}, {self.method})"

    def _repr_html_(self) -> str:
        return fields_html("optimum over all lossless verifiers", self.to_dict())


def optimum(
    target: ProcessLike,
    draft: ProcessLike,
    scheme: DraftScheme,
    *,
    weights: Sequence[Any] | None = None,
    gap: float = 1e-6,
    seconds: float | None = None,
    method: str = "auto",
    report: Report | None = None,
    clock: Clock | None = None,
) -> Optimum:
    """Bounds on the best block efficiency of a lossless verifier, at most `gap` apart if `seconds` allow.

    target, draft: processes, or their tables, `[d]` of shape `(V**d, V)`, of depth at least `L - 1`. The bounds are of
    their rows in rationals: floats are rounded as `draftproof.simulator.instances.exact` says. weights: for every node,
    by depth `0..L`, what it counts in place of 1 if it or a node below it is accepted, of any sign. method: "levels"
    (interior point on an interpolated `g`), "columns" (column generation over orders), or "auto": for delayed trees the
    former, finished by the latter on small trees if its exact gap is too wide. Their `K = 1`, and `L <= 1` without
    weights, need neither. Negative weights and other schemes take "columns", over the list of their trees where their
    chances have no closed form.
    report: called with (seconds, lower, upper) as they improve. clock: such as `time.perf_counter`, needed for
    `seconds`; without it all times are 0. A step that has begun is finished, so that `seconds` may be passed by a
    little. At Ctrl-C raises `OptimumInterrupted` with the bounds at hand, if there are any. Raises `InvalidInput` for
    rows that do not fit or an unknown method, `TooLarge` above 20,000 paths (70,000 where `K = 1`), 300 trunks or
    200,000 listed trees.
    """
    if method not in METHODS:
        raise InvalidInput(f"unknown method {method!r}; choose {', '.join(METHODS)}")
    if method == "levels":
        delayed_only(scheme, "levels are")
        if weights is not None and any(value < 0 for own in weights for value in own):
            raise InvalidInput("levels need weights of at least 0; use the method columns")
    if not gap > 0 or (seconds is not None and not seconds > 0):
        raise InvalidInput(f"gap = {gap} and seconds = {seconds} must be positive")
    if seconds is not None and clock is None:
        raise InvalidInput("seconds needs a clock; pass clock=time.perf_counter")
    problem = BoundProblem.of(target, draft, scheme, weights)
    if isinstance(scheme, Delayed) and scheme.K == 1 and not problem.lessens:
        first = ([1.0], [np.arange(problem.iid.shares.shape[1])])
        plan = as_plan(problem.vocab_size, scheme, [first] * len(problem.iid.groups))
        return _exact(problem, plan, single_path_prices(problem), (), "exact")
    if isinstance(scheme, Delayed) and scheme.depth == 1 and weights is None:
        return _exact(problem, *_one_step(problem, scheme), (), "exact")
    search = Search(report, clock or stopped, np.inf if seconds is None else seconds)
    bounds = _searched(problem, scheme, gap, method, search)
    if search.interrupted:
        raise OptimumInterrupted(bounds)
    return bounds


def _one_step(problem: BoundProblem, scheme: Delayed) -> tuple[Plan, NodeValues]:
    """Trees of depth 1: the canonical selection law as orders, and the price 1 for every token of the best set."""
    p, q, K = problem.target[0][0], problem.iid.draft_tables[0][0], scheme.K
    law = selection_law(p, q, K).astype(np.float64)
    plan = as_plan(len(q), scheme, [decompose(law, q.astype(np.float64), K, 1e-15)])
    prices = p * 0
    prices[best_set(p, q, K)] = prices[0] + 1
    return plan, [q[:1] * 0, prices]


def _searched(problem: BoundProblem, scheme: DraftScheme, gap: float, method: str, search: Search) -> Optimum:
    """The bounds by the level programs, by column generation, or by the latter after the former."""
    goal = 0.9 * gap  # rounding takes the rest

    def exact(mixtures: list[tuple[Any, list[Any]]], used: str) -> Optimum:
        late = search.late  # before the rationals, which take time too
        plan = as_plan(problem.vocab_size, scheme, mixtures)
        limits = rounded(search.law) if problem.lessens else None
        bounds = _exact(problem, plan, rounded(search.prices), tuple(search.history), used, limits)
        return replace(bounds, timed_out=late)

    if method == "columns" or problem.lessens or not isinstance(scheme, Delayed):
        return exact(generate(Columns(problem.floats), goal, search), "columns")
    with search.until_interrupted():
        minimise(problem.floats, goal, search)
    mixtures = mixtures_of(search.law, problem.floats, gap)
    first = exact(mixtures, "levels")
    done = search.gap <= goal and first.gap <= gap
    if done or method == "levels" or search.late or problem.iid.shares.size > POLISHED:
        return first
    search.lower = float(first.lower)  # what is attained, where rounding has hidden that it is less
    start = [orders for _, orders in mixtures]
    finer = exact(generate(Columns(problem.floats), goal, search, start), "levels+columns")
    return finer if finer.lower >= first.lower else replace(finer, lower=first.lower, plan=first.plan)


def mixtures_of(law: Any, problem: BoundProblem, gap: float) -> list[tuple[Any, list[Any]]]:
    """A mixture of orders for each trunk with this law on the paths; problem: in float64."""
    mixtures = []
    trees = problem.iid
    for own, mass, parts in zip(trees.shares, trees.groups, law.reshape(trees.shares.shape), strict=True):
        if not mass > 0:
            mixtures.append(([1.0], [np.arange(len(own))]))
            continue
        stop = max(1e-3 * gap / problem.depth, ROUNDING)
        mixtures.append(decompose(repaired(parts, own, trees.scheme.K), own, trees.scheme.K, stop))
    return mixtures


def rounded(prices: NodeValues) -> NodeValues:
    """In rationals, multiples of 2^-40."""
    return [
        RATIONAL.vector(np.rint(values * PRICE_UNIT).astype(np.int64)) / RATIONAL.number(PRICE_UNIT)
        for values in prices
    ]


def _exact(
    problem: BoundProblem,
    plan: Plan,
    prices: NodeValues,
    history: tuple[tuple[float, float, float], ...],
    method: str,
    limits: NodeValues | None = None,
) -> Optimum:
    """Both bounds recomputed in rationals from the plan and the prices."""
    lower = worth(reach(mixed_law(plan, problem), problem.target, limits), problem.weights)
    bounds = Fraction(as_python(lower)), Fraction(as_python(price_bound(prices, problem)))
    weights, stated = (None if values is None else _fractions(values) for values in (problem.node_weights, limits))
    return Optimum(*bounds, plan, _fractions(prices), history, method, weights=weights, limits=stated)


def _fractions(values: NodeValues) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(as_python(value)) for value in level) for level in values)
