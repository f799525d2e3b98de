"""The optimum over all lossless verifiers of a delayed tree: both bounds exact, with what attains them.

Solvers work in float64. Their prices and orders are rounded to rationals, and both bounds are recomputed exactly from
those: any prices bound from above, any mixture of orders is attained, so no rounding has to be repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lp_analysis.decompose import ROUNDING, decompose, repaired
from lp_analysis.nodes import NodeValues, as_floats, conditional, efficiency, prefix_masses, reach
from lp_analysis.orders import as_plan
from lp_analysis.prices import price_bound
from lp_analysis.single_step.canonical import selection_law
from lp_analysis.single_step.subsets import best_set
from lp_analysis.solvers.columns import Columns, generate
from lp_analysis.solvers.minimise import Clock, Report, Search, minimise, stopped
from lp_analysis.solvers.single_path import single_path_prices
from simulator.arithmetic import RATIONAL, as_python
from simulator.drafts import Delayed
from simulator.errors import InvalidInput, TooLarge
from simulator.instances.plan import PathPlan

#: Node prices are rounded to multiples of one over this.
PRICE_UNIT = 2**40
#: Most paths `V**L` that are tried.
MOST_PATHS = 20_000
#: Most trunks `V**L1`: they are tied to each other densely, and a plan ranks the paths of each.
MOST_TRUNKS = 300
#: Up to this many paths, column generation finishes what the level programs leave open.
POLISHED = 300

METHODS = ("auto", "levels", "columns")


@dataclass(frozen=True)
class Optimum:
    """Exact bounds `lower <= optimum <= upper` on block efficiency.

    plan: a mixture of path orders; block verification of its choice has block efficiency `lower`.
    prices: for `d = 0..L` one price a node, 0 at the root; their price bound is `upper`.
    history: (seconds, lower, upper) in float64 while the solver ran. method: which solver, "exact" if none was needed.
    timed_out: whether the solver was stopped by its time limit.
    """

    lower: Fraction
    upper: Fraction
    plan: PathPlan
    prices: tuple[tuple[Fraction, ...], ...]
    history: tuple[tuple[float, float, float], ...]
    method: str
    timed_out: bool = False

    @property
    def gap(self) -> Fraction:
        """`upper - lower`."""
        return self.upper - self.lower


def optimum(
    target_tables: Sequence[Any],
    draft_tables: Sequence[Any],
    K: int,
    L1: int,
    L2: int,
    gap: float = 1e-6,
    seconds: float | None = None,
    method: str = "auto",
    progress: Report | None = None,
    clock: Clock | None = None,
) -> Optimum:
    """Bounds on the best block efficiency of a lossless verifier, at most `gap` apart if `seconds` allow.

    target_tables, draft_tables: exact tables, `[d]` of shape `(V**d, V)`, of depth at least `L - 1`.
    method: "levels" (interior point on an interpolated `g`), "columns" (column generation over path orders), or "auto":
    the former, finished by the latter on small trees if its exact gap is too wide. `L <= 1` and `K = 1` need neither.
    progress: told (seconds, lower, upper) as they improve. clock: such as `time.perf_counter`, needed for `seconds`;
    without it all times are 0.
    Raises `InvalidInput` for float tables, wrong shapes or an unknown method, `TooLarge` above 20,000 paths or 300
    trunks. A step that has begun is finished, so that `seconds` may be passed by a little.
    """
    target, draft = _checked(target_tables, draft_tables, K, L1, L2, method)
    if not gap > 0 or (seconds is not None and not seconds > 0):
        raise InvalidInput(f"gap = {gap} and seconds = {seconds} must be positive")
    if seconds is not None and clock is None:
        raise InvalidInput("seconds needs a clock; pass clock=time.perf_counter")
    size = int(draft[0].shape[1])
    if K == 1:
        plan = as_plan(size, 1, L1, L2, [([1.0], [np.arange(size**L2)])] * size**L1)
        return _exact(target, draft, plan, single_path_prices(target, draft, L1 + L2), (), "exact")
    if L1 + L2 == 1:
        return _exact(target, draft, *_one_step(target[0][0], draft[0][0], K), (), "exact")
    search = Search(progress, clock or stopped, np.inf if seconds is None else seconds)
    return _searched(target, draft, (K, L1, L2), gap, method, search)


def _checked(
    target: Sequence[Any], draft: Sequence[Any], K: int, L1: int, L2: int, method: str
) -> tuple[list[Any], list[Any]]:
    Delayed(K, L1, L2)
    depth = L1 + L2
    if method not in METHODS:
        raise InvalidInput(f"unknown method {method!r}; choose {', '.join(METHODS)}")
    if not len(target) or not len(draft):
        raise InvalidInput("target and draft need at least the table of the empty context")
    size = target[0].shape[1]
    for name, tables in (("target", target), ("draft", draft)):
        if len(tables) < depth:
            raise InvalidInput(f"{name} tables end at depth {len(tables) - 1}; trees of depth {depth} need {depth - 1}")
        for d, table in enumerate(tables[: max(depth, 1)]):
            if table.dtype != object:
                raise InvalidInput(f"{name} tables are floats; bounds are exact: round them with simulator.rationalise")
            if table.shape != (size**d, size):
                raise InvalidInput(f"{name} table {d} has shape {table.shape}; it must be {(size**d, size)}")
    if size**depth > MOST_PATHS:
        raise TooLarge(f"V^L = {size}^{depth} paths are more than {MOST_PATHS:,}; use a smaller vocabulary or tree")
    if K > 1 and size**L1 > MOST_TRUNKS:
        raise TooLarge(f"V^L1 = {size}^{L1} trunks are more than {MOST_TRUNKS}; use a shorter trunk or a smaller V")
    return list(target[: max(depth, 1)]), list(draft[: max(depth, 1)])


def _one_step(p: Any, q: Any, K: int) -> tuple[PathPlan, NodeValues]:
    """Trees of depth 1: the canonical selection law as orders, and the price 1 for every token of the best set."""
    law = selection_law(p, q, K).astype(np.float64)
    plan = as_plan(len(q), K, 0, 1, [decompose(law, q.astype(np.float64), K, 1e-15)])
    prices = p * 0
    prices[best_set(p, q, K)] = prices[0] + 1
    return plan, [q[:1] * 0, prices]


def _searched(
    target: list[Any], draft: list[Any], shape: tuple[int, int, int], gap: float, method: str, search: Search
) -> Optimum:
    """The bounds by the level programs, by column generation, or by the latter after the former."""
    floats = as_floats(target), as_floats(draft)
    size, (K, L1, L2) = int(draft[0].shape[1]), shape
    goal = 0.9 * gap  # the rest is for rounding

    def exact(mixtures: list[tuple[Any, list[Any]]], used: str) -> Optimum:
        late = search.late  # before the rationals, which take time too
        plan = as_plan(size, K, L1, L2, mixtures)
        found = _exact(target, draft, plan, _rounded(search.prices), tuple(search.history), used)
        return replace(found, timed_out=late)

    if method == "columns":
        return exact(generate(Columns(*floats, K, L1, L2), goal, search), method)
    minimise(*floats, K, L1, L2, goal, search)
    mixtures = _from_law(search.law, floats[1], shape, gap)
    found = exact(mixtures, "levels")
    done = search.gap <= goal and found.gap <= gap
    if done or method == "levels" or search.late or size ** (L1 + L2) > POLISHED:
        return found
    search.lower = float(found.lower)  # what is attained, where rounding has hidden that it is less
    columns = Columns(*floats, K, L1, L2)
    finer = exact(generate(columns, goal, search, [orders for _, orders in mixtures]), "levels+columns")
    return finer if finer.lower >= found.lower else replace(finer, lower=found.lower, plan=found.plan)


def _from_law(law: Any, draft: list[Any], shape: tuple[int, int, int], gap: float) -> list[tuple[Any, list[Any]]]:
    K, L1, L2 = shape
    masses = prefix_masses(draft, L1 + L2)
    paths = conditional(masses, L1)
    mixtures = []
    for own, mass, parts in zip(paths, masses[L1], law.reshape(paths.shape), strict=True):
        if not mass > 0:
            mixtures.append(([1.0], [np.arange(len(own))]))
            continue
        stop = max(1e-3 * gap / (L1 + L2), ROUNDING)
        mixtures.append(decompose(repaired(parts, own, K), own, K, stop))
    return mixtures


def _rounded(prices: NodeValues) -> NodeValues:
    return [
        RATIONAL.vector(np.rint(values * PRICE_UNIT).astype(np.int64)) / RATIONAL.number(PRICE_UNIT)
        for values in prices
    ]


def _exact(
    target: list[Any],
    draft: list[Any],
    plan: PathPlan,
    prices: NodeValues,
    history: tuple[tuple[float, float, float], ...],
    method: str,
) -> Optimum:
    """Both bounds recomputed in rationals from the plan and the prices."""
    masses = prefix_masses(draft, plan.depth)
    upper = price_bound(prices, target, masses, plan.K, plan.L1)
    lower = efficiency(reach(plan.selection(draft), target))
    exact_prices = tuple(tuple(Fraction(as_python(value)) for value in values) for values in prices)
    return Optimum(Fraction(as_python(lower)), Fraction(as_python(upper)), plan, exact_prices, history, method)
