"""The price programs with levels, of the optimum and of the frontier: unknowns, constraints and their transpose.

`g` is replaced by the concave function through its values at `knots`, linear between them (`M` cells of width `w_j` and
slope `s_j`). With `n` nodes below the root, `T = V**L1` trunks and `N = V**L2` paths of each, the program is

    minimise  sum_y p(y) t(y) + sum_x q(x) a(x) + sum_j q(trunk) w_j b(trunk, j)
    i.    t(c) + pi(c) - pi(parent) - sum_y p(y|c) t(c,y)  >= w(c)   multiplier: reach D(c)
    ii.   t(c) >= 0                                                  multiplier: correction mass
    iii.  pi(c) - pi(parent) >= 0                                    multiplier: r(c) - D(c)
    iv.   a(x) + b(trunk, j) - s_j pi(x) >= 0                        multiplier: transport X(x, j)

`pi` sums the prices along the path; `w` is the weight of a node, 1 for block efficiency. The transport spreads the
mass of path `x` over the cells, and `r(x) = sum_j s_j X(x, j)` is a selection law in the base polytope, since the
interpolated `g` lies below `g`.

For the frontier `g` is interpolated as above. With the prices `z(x)` of shortfalls of paths, `Z(c)` at least their mean
below `c` (`Z = z` at the paths) and `pi(c)` the largest worth `w` on the path to `c`, the program is

    minimise  lambda bias - sum_x p(x) z(x) + sum_x q(x) a(x) + sum_j q(trunk) w_j b(trunk, j)
    chosen:     pi(c) - pi(parent) >= 0                    multiplier: r(c) - D(c)
    ended:      pi(x) - z(x) >= L + 1                      multiplier: D(x) at the paths
    corrected:  pi(parent) - Z(c) >= |c|                   multiplier: e(c), the mass whose correction makes `c`
    continued:  Z(c) - sum_y p(y|c) Z(c,y) >= 0            multiplier: o(c), the output that was corrected before
    excess:     z(x) >= 0                                  multiplier: (O(x) - p(x))+, or more
    short:      lambda - z(x) >= 0                         multiplier: (p(x) - O(x))+, or more
    cells:      a(x) + b(trunk, j) - s_j pi(x) >= 0        multiplier: transport X(x, j)

`chosen` and `corrected` are for all nodes below the root, `continued` for those above depth `L`.
"""

from typing import Any, NamedTuple

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.problem import BoundProblem


class Unknowns(NamedTuple):
    """`t`, `pi`: shape `(n,)`; `a`: `(T, N)`; `b`: `(T, M)`."""

    t: Any
    pi: Any
    a: Any
    b: Any


class Constraints(NamedTuple):
    """One number for every constraint. i, ii, iii: shape `(n,)`; cells: `(T, N, M)`."""

    i: Any
    ii: Any
    iii: Any
    cells: Any


class CellRows:
    """What operators on unknowns of nodes and cells have in common.

    problem: in float64. slopes: of the cells of each trunk, shape `(T, M)`.
    """

    def __init__(self, problem: BoundProblem, slopes: Any) -> None:
        self.target = problem.target
        self.V, self.L1, self.L = problem.vocab_size, problem.iid.scheme.L1, problem.depth
        self.T, self.N = problem.iid.shares.shape
        self.slopes = slopes
        self.M = int(slopes.shape[1])
        starts = np.cumsum([0] + [self.V**d for d in range(1, self.L + 1)])
        self.at = [slice(0, 0)] + [slice(int(starts[d]), int(starts[d + 1])) for d in range(self.L)]
        self.n = int(starts[-1])

    def nodes(self, values: Any) -> NodeValues:
        """A vector over nodes as a list by depth, 0 at the root."""
        return [np.zeros(1)] + [values[self.at[d]] for d in range(1, self.L + 1)]

    def law(self, cells: Any) -> Any:
        """`r(x) = sum_j s_j X(x, j)` for every path, shape `(T N,)`."""
        return np.matmul(cells, self.slopes[:, :, None]).ravel()


class LevelRows(CellRows):
    """The constraints i to iv as an operator on `Unknowns`."""

    def steps(self, values: Any) -> Any:
        """`values(c) - values(parent)`, with 0 at the root."""
        levels = self.nodes(values)
        return np.concatenate([levels[d] - np.repeat(levels[d - 1], self.V) for d in range(1, self.L + 1)])

    def _expected(self, t: Any) -> Any:
        """`sum_y p(y|c) t(c,y)` for every node, 0 at the leaves."""
        result = np.zeros(self.n)
        for d in range(1, self.L):
            result[self.at[d]] = (self.target[d] * t[self.at[d + 1]].reshape(-1, self.V)).sum(1)
        return result

    def apply(self, x: Unknowns) -> Constraints:
        """The left sides of the constraints."""
        step = self.steps(x.pi)
        leaves = x.pi[self.at[self.L]].reshape(self.T, self.N, 1)
        cells = x.a[:, :, None] + x.b[:, None, :] - self.slopes[:, None, :] * leaves
        return Constraints(x.t + step - self._expected(x.t), x.t * 1.0, step, cells)

    def adjoint(self, rows: Constraints) -> Unknowns:
        """The transpose of `apply`."""
        t = rows.i + rows.ii
        flow = rows.i + rows.iii
        pi = flow.copy()
        for d in range(1, self.L):
            t[self.at[d + 1]] -= (rows.i[self.at[d]][:, None] * self.target[d]).ravel()
            pi[self.at[d]] -= flow[self.at[d + 1]].reshape(-1, self.V).sum(1)
        pi[self.at[self.L]] -= self.law(rows.cells)
        return Unknowns(t, pi, rows.cells.sum(2), rows.cells.sum(1))


class BiasedUnknowns(NamedTuple):
    """`pi` of all nodes, root first: shape `(n + 1,)`; `Z`: `(n,)`; lambda: `(1,)`; `a`: `(T, N)`; `b`: `(T, M)`."""

    pi: Any
    z: Any
    price: Any
    a: Any
    b: Any


class BiasedConstraints(NamedTuple):
    """One number for every constraint, by the names of the module."""

    chosen: Any
    ended: Any
    corrected: Any
    continued: Any
    excess: Any
    short: Any
    cells: Any


class BiasedRows(CellRows):
    """The constraints as an operator on `BiasedUnknowns`; arguments as of `CellRows`."""

    def __init__(self, problem: BoundProblem, slopes: Any) -> None:
        super().__init__(problem, slopes)
        self.inner = self.at[self.L].start  # nodes above depth `L`, without the root
        self.parents = np.arange(self.n) // self.V  # places in `pi`
        self.tables = np.concatenate([table.ravel() for table in problem.target[: self.L]])

    def apply(self, x: BiasedUnknowns) -> BiasedConstraints:
        """The left sides of the constraints."""
        above, paths, z = x.pi[self.parents], x.pi[1 + self.inner :], x.z[self.inner :]
        mean = (self.tables * x.z)[self.V :].reshape(-1, self.V).sum(1)
        cells = x.a[:, :, None] + x.b[:, None, :] - self.slopes[:, None, :] * paths.reshape(self.T, self.N, 1)
        return BiasedConstraints(
            x.pi[1:] - above, paths - z, above - x.z, x.z[: self.inner] - mean, z * 1, x.price - z, cells
        )

    def adjoint(self, rows: BiasedConstraints) -> BiasedUnknowns:
        """The transpose of `apply`."""
        pi = np.concatenate([np.zeros(1), rows.chosen])
        pi[: self.inner + 1] += (rows.corrected - rows.chosen).reshape(-1, self.V).sum(1)
        pi[1 + self.inner :] += rows.ended - self.law(rows.cells)
        z = -rows.corrected
        z[: self.inner] += rows.continued
        z[self.V :] -= self.tables[self.V :] * rows.continued.repeat(self.V)
        z[self.inner :] += rows.excess - rows.short - rows.ended
        return BiasedUnknowns(pi, z, rows.short.sum(keepdims=True), rows.cells.sum(2), rows.cells.sum(1))
