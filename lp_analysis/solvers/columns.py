"""Column generation over orders of ends: the optimum as a mixture of orders, solved exactly by the simplex method.

Master program over the reach `D` and weights of the orders found so far, one mixture for each trunk:

    maximise sum w D   with   D(c) <= r(c),  D(c,y) <= D(c) p(y|c),   r = mixture of the orders' selection laws,

where `w` is the weight of a node, 1 for block efficiency.

1. Solve the master (HiGHS, warm start). Its value is a lower bound, attained by block verification against `r`.
2. The duals of `D <= r` are node prices; any prices give an upper bound (`prices`). Keep the best.
3. Stabilise: besides the master's prices, look at points between them and the best prices so far (in-out), where the
   duals of a degenerate master do not oscillate. Each point gives one order a trunk; all new ones are added; repeat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, prefix_masses
from draftproof.lp_analysis.orders import order_law
from draftproof.lp_analysis.prices import price_bound, sorted_levels, subgradient
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.minimise import Search

#: Shares of the best prices in the points at which orders are asked for.
IN_OUT = (0.0, 0.3, 0.6, 0.9)
#: Most rounds; the number of vertices is finite but large.
ROUNDS = 2000
#: Feasibility tolerance of rows and of reduced costs.
ACCURACY = 1e-10
INFINITY = float(highspy.kHighsInf)

#: The entries of an empty column or row.
EMPTY = (np.array([], dtype=np.int32), np.array([]))


def warm_model() -> Any:
    """An empty, silent model on one thread; rows and columns may join it between solves."""
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1)):
        model.setOptionValue(name, value)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        model.setOptionValue(name, ACCURACY)
    return model


@dataclass
class Columns:
    """The master program. problem: in float64."""

    problem: BoundProblem
    orders: list[list[Any]] = field(init=False)  # for each trunk, the orders in it

    def __post_init__(self) -> None:
        self.V, self.L, self.fixed = self.problem.vocab_size, self.problem.depth, self.problem.trees.fixed
        self.starts = np.cumsum([0] + [self.V**d for d in range(1, self.L + 1)])
        self.orders = [[] for _ in self.fixed[-1]]
        self._columns: list[list[int]] = [[] for _ in self.orders]
        self._seen: list[set[bytes]] = [set() for _ in self.orders]
        self._build()

    def _build(self) -> None:
        """Variables `D(c)`; rows `D(c) <= r(c)`, one convexity row a trunk, then what the output has to obey."""
        self.n, trunks = int(self.starts[-1]), len(self.orders)
        self.model = model = warm_model()
        model.addCols(self.n, -self.problem.weights_below, np.zeros(self.n), np.ones(self.n), 0, EMPTY[0], *EMPTY)
        for depth in range(1, self.L + 1):
            fixed = self.fixed[depth] if depth < len(self.fixed) else np.zeros(self.V**depth)
            for i, right in enumerate(fixed):
                model.addRow(-INFINITY, float(right), 1, np.array([self.starts[depth - 1] + i]), np.ones(1))
        for _ in range(trunks):
            model.addRow(1.0, 1.0, 0, *EMPTY)
        self._match(model, self.problem.target)

    def _match(self, model: Any, target: Sequence[Any]) -> None:
        """Target matching, `D(c,y) <= D(c) p(y|c)`."""
        model.changeColsBounds(self.V, np.arange(self.V, dtype=np.int32), np.zeros(self.V), target[0].ravel())
        for depth in range(1, self.L):
            for i, p in enumerate(target[depth].ravel()):
                index = np.array([self.starts[depth] + i, self.starts[depth - 1] + i // self.V])
                model.addRow(-INFINITY, 0.0, 2, index, np.array([1.0, -float(p)]))

    def add(self, trunk: int, order: Any) -> bool:
        """Add an order of the ends of this trunk to the mixture; False if it is there already."""
        key = np.asarray(order, dtype=np.int32).tobytes()
        if key in self._seen[trunk]:
            return False
        self._seen[trunk].add(key)
        trees = self.problem.trees
        law = order_law(order, trees.chances(order[np.newaxis], [trunk])[0]) * self.fixed[-1][trunk]
        rows, values = [np.array([self.n + trunk])], [np.ones(1)]
        for depth, masses in reversed(list(enumerate(trees.through(law)[1:], start=len(self.fixed)))):
            rows.append(self.starts[depth - 1] + trunk * len(masses) + np.arange(len(masses)))
            values.append(-masses)
        self._columns[trunk].append(self.model.getNumCol())
        self.orders[trunk].append(order)
        index = np.concatenate(rows).astype(np.int32)
        self.model.addCol(0.0, 0.0, INFINITY, len(index), index, np.concatenate(values))
        return True

    def solve(self) -> tuple[float, NodeValues, list[Any]]:
        """Value of the master with the root, prices by depth, and the weights of the orders of each trunk."""
        self.model.run()
        solution = self.model.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        prices = [np.zeros(1)] + [np.maximum(-duals[self.starts[d] : self.starts[d + 1]], 0) for d in range(self.L)]
        weights = [np.maximum(values[columns], 0) for columns in self._columns]
        self.reached = [np.ones(1)] + [values[self.starts[d] : self.starts[d + 1]] for d in range(self.L)]
        return float(self.problem.weights[0][0]) - float(self.model.getInfo().objective_function_value), prices, weights


def likely_orders(problem: BoundProblem) -> Any:
    """For each trunk, its ends by `p/q`, largest first: shape `(G, N)`. problem: in float64."""
    masses = prefix_masses(problem.target, problem.depth)
    likely = problem.trees.at_ends(masses) / np.maximum(masses[len(problem.trees.fixed) - 1], 1e-300)[:, np.newaxis]
    return (-likely / np.maximum(problem.trees.shares, 1e-300)).argsort(axis=1, kind="stable")


def generate(
    columns: Columns, gap: float, search: Search, start: Sequence[Sequence[Any]] = ()
) -> list[tuple[Any, list[Any]]]:
    """Column generation until the gap of `search` is at most `gap`, time is up or there is no new order.

    Returns the mixture of each trunk.

    start: for each trunk, orders to begin with.
    """
    for trunk, orders in enumerate(start):
        for order in orders:
            columns.add(trunk, order)
    problem = columns.problem
    for trunk, order in enumerate(likely_orders(problem)):
        columns.add(trunk, order)
    best: list[tuple[Any, list[Any]]] = []
    with search.until_interrupted():
        for _ in range(ROUNDS):
            lower, prices, weights = columns.solve()
            if not best or lower > search.lower:
                best = [(w, list(orders)) for w, orders in zip(weights, columns.orders, strict=True)]
            search.offer(lower, columns.reached, float(price_bound(prices, problem)), prices)
            if search.gap <= gap or search.late or not _grow(columns, prices, search):
                break
    return best


def _grow(columns: Columns, prices: NodeValues, search: Search) -> bool:
    """Add the orders at points between `prices` and the best prices; whether any was new."""
    grown = False
    points = [[share * b + (1 - share) * p for b, p in zip(search.prices, prices, strict=True)] for share in IN_OUT]
    points.append(_lowered(columns, search))
    for point in points:
        search.offer(search.lower, search.law, float(price_bound(point, columns.problem)), point)
        for trunk, order in enumerate(sorted_levels(point, columns.problem)[0]):
            grown |= columns.add(trunk, order)
    return grown


def _lowered(columns: Columns, search: Search) -> NodeValues:
    """One Polyak step from the best prices towards the lower bound."""
    slope = subgradient(search.prices, columns.problem)
    square = sum(float((values[...] ** 2).sum()) for values in slope[1:])
    length = search.gap / square if square > 0 else 0.0
    return [search.prices[0]] + [
        np.maximum(values - length * step, 0) for values, step in zip(search.prices[1:], slope[1:], strict=True)
    ]
