"""The price program with levels: its unknowns, its constraints and their transpose.

`g` is replaced by the concave function through its values at `knots`, linear between them (`M` cells of width `w_j` and
slope `s_j`). With `n` nodes below the root, `T = V**L1` trunks and `N = V**L2` paths of each, the program is

    minimise  sum_y p(y) t(y) + sum_x q(x) a(x) + sum_j q(trunk) w_j b(trunk, j)
    i.    t(c) + pi(c) - pi(parent) - sum_y p(y|c) t(c,y)  >= 1      multiplier: reach D(c)
    ii.   t(c) >= 0                                                  multiplier: correction mass
    iii.  pi(c) - pi(parent) >= 0                                    multiplier: r(c) - D(c)
    iv.   a(x) + b(trunk, j) - s_j pi(x) >= 0                        multiplier: transport X(x, j)

`pi` sums the prices along the path. The transport spreads the mass of path `x` over the cells, and
`r(x) = sum_j s_j X(x, j)` is a selection law in the base polytope, since the interpolated `g` lies below `g`.
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
