"""The master program of the frontier: column generation over orders of ends, with an output that may differ.

As in `columns`, `D(c) <= r(c)` with `r` a mixture of orders. In place of target matching there are, for every node
below the root, a correction mass `e(v)`, the mass `o(v)` of outputs that end at or above `v` and go on as the target
does, and, for every path `x`, a shortfall `s(x)`:

    sum_y (D(c,y) + e(c,y)) = D(c),   o(c,y) = o(c) p(y|c) + e(c,y),   D(x) + o(x) + s(x) >= p(x),   sum s <= bias.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from draftproof.lp_analysis.bias_prices import bias_bound, end_worths
from draftproof.lp_analysis.nodes import NodeValues, prefix_masses
from draftproof.lp_analysis.prices import levels_of
from draftproof.lp_analysis.solvers.columns import EMPTY, IN_OUT, INFINITY, ROUNDS, Columns, likely_orders
from draftproof.lp_analysis.solvers.minimise import Search


class BiasedColumns(Columns):
    """The master program for one bias at a time, for any scheme; each begins with the orders of those before.

    problem: in float64.
    """

    #: The solver's least bias. At 0 the prices are not unique; those of this bias are the slope of the curve from 0 on.
    least = 1e-7

    def __post_init__(self) -> None:
        super().__post_init__()
        for trunk, order in enumerate(likely_orders(self.problem)):
            self.add(trunk, order)

    def _match(self, model: Any, target: Sequence[Any]) -> None:
        n, V, paths = self.n, self.V, self.V**self.L
        extra = 2 * n + paths
        model.addCols(extra, np.zeros(extra), np.zeros(extra), np.full(extra, INFINITY), 0, EMPTY[0], *EMPTY)
        inner = n - paths
        for c in range(-1, inner):  # -1: the root; the children of node `c` are the `V` nodes from `(c + 1) V`
            children = np.arange(V) + (c + 1) * V
            index = np.concatenate([children, n + children, [c] if c >= 0 else []]).astype(np.int32)
            values = np.concatenate([np.ones(2 * V), -np.ones(len(index) - 2 * V)])
            right = float(c < 0)
            model.addRow(right, right, len(index), index, values)
        for v, p in enumerate(np.concatenate([table.ravel() for table in target[: self.L]])):
            above = [] if v < V else [2 * n + v // V - 1]
            index = np.array([2 * n + v, n + v, *above])
            model.addRow(0.0, 0.0, len(index), index, np.array([1.0, -1.0, *(-p for _ in above)]))
        self._ends = model.getNumRow()
        for x, p in enumerate(prefix_masses(target, self.L)[-1]):
            model.addRow(float(p), INFINITY, 3, np.array([inner + x, 2 * n + inner + x, 3 * n + x]), np.ones(3))
        self._budget = model.getNumRow()
        model.addRow(-INFINITY, 0.0, paths, 3 * n + np.arange(paths), np.ones(paths))

    def _point(self) -> tuple[float, Any, float, list[Any], NodeValues, NodeValues]:
        """Value of the master, prices of shortfalls, price of bias, weights of the orders, reach and corrections."""
        value, _, weights = self.solve()
        solution = self.model.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        price = max(-duals[self._budget], 0.0)
        shortfalls = np.clip(duals[self._ends : self._budget], 0, price)
        reached, corrected = (
            [np.ones(1), *np.split(np.maximum(part, 0), self.starts[1:-1])]
            for part in (values[: self.n], values[self.n : 2 * self.n])
        )
        return value, shortfalls, price, weights, reached, corrected

    def improve(self, bias: float, gap: float, search: Search) -> None:
        """Add orders until the gap of `search` is at most `gap`, time is up or no order is new.

        Attained by mixtures of orders, a reach and corrections; prices: of shortfalls, and of bias.
        """
        self.model.changeRowBounds(self._budget, -INFINITY, bias)
        with search.until_interrupted():
            for _ in range(ROUNDS):
                lower, shortfalls, price, weights, *masses = self._point()
                attained = [(w, list(orders)) for w, orders in zip(weights, self.orders, strict=True)], *masses
                grown = False
                for share in IN_OUT if search.prices else IN_OUT[:1]:
                    z, slope = shortfalls, np.array([price])
                    if share:
                        z, slope = (share * b + (1 - share) * v for b, v in zip(search.prices, (z, slope), strict=True))
                    search.offer(lower, attained, float(bias_bound(z, slope[0], bias, self.problem)), [z, slope])
                    for trunk, order in enumerate(levels_of(end_worths(z, self.problem))[0]):
                        grown |= self.add(trunk, order)
                if search.gap <= gap or not grown or search.late:
                    break
