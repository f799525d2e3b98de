"""The price program with levels, of the optimum and of the frontier: unknowns, constraints and their transpose.

`g` is replaced by the concave function through its values at `knots`, linear between them (`M` cells of width `w_j` and
slope `s_j`). There are `n` nodes below the root, `T = V**L1` trunks and `N = V**L2` paths of each. `z(x)` prices the
shortfall of a path and `Z(c)` is at least the mean of `Z` below `c` (`Z = z` at the paths); `W(c)` sums the weights of
the nodes down to `c`, each 1 for block efficiency; `pi(c)` is the largest worth on the path to `c`. The program is

    minimise  lambda bias - sum_x p(x) z(x) + sum_x q(x) a(x) + sum_j q(trunk) w_j b(trunk, j)
    chosen:     pi(c) - pi(parent) >= 0                    multiplier: r(c) - D(c)
    ended:      pi(x) - z(x) >= W(x)                       multiplier: D(x) at the paths
    corrected:  pi(parent) - Z(c) >= W(parent)             multiplier: e(c), the mass whose correction makes `c`
    continued:  Z(c) - sum_y p(y|c) Z(c,y) >= 0            multiplier: o(c), the output that was corrected before
    excess:     z(x) >= 0                                  multiplier: (O(x) - p(x))+, or more
    short:      lambda - z(x) >= 0                         multiplier: (p(x) - O(x))+, or more
    cells:      a(x) + b(trunk, j) - s_j pi(x) >= 0        multiplier: transport X(x, j)

`chosen` and `corrected` are for all nodes below the root, `continued` for those above depth `L`. The transport spreads
the mass of path `x` over the cells. `r(x) = sum_j s_j X(x, j)` is a selection law in the base polytope, since the
interpolated `g` lies below `g`.

Without a bias the output is the target, `o(c) = p(c) - D(c)`: there are no `excess`, `short` and lambda, `continued`
has the other sign and the multiplier `D(c)`, and `-sum_y p(y) Z(y)` over the tokens of the first step stands in the
cost. `pi(c) - pi(parent)` is then the price of the node `c`, and `pi` of the root is any number.
"""

from typing import Any, NamedTuple

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.problem import BoundProblem


class Unknowns(NamedTuple):
    """`pi` of all nodes, root first: shape `(n + 1,)`; `Z`: `(n,)`; lambda: `(1,)`; `a`: `(T, N)`; `b`: `(T, M)`."""

    pi: Any
    z: Any
    price: Any
    a: Any
    b: Any


class Constraints(NamedTuple):
    """One number for every constraint, by the names of the module."""

    chosen: Any
    ended: Any
    corrected: Any
    continued: Any
    excess: Any
    short: Any
    cells: Any


class Rows:
    """The constraints as an operator on `Unknowns`.

    problem: in float64. slopes: of the cells of each trunk, shape `(T, M)`. biased: whether there are rows of a bias.
    """

    def __init__(self, problem: BoundProblem, slopes: Any, biased: bool) -> None:
        self.V, self.L1, self.L = problem.vocab_size, problem.iid.scheme.L1, problem.depth
        self.T, self.N = problem.iid.shares.shape
        self.slopes, self.biased, self._sign = slopes, biased, 1 if biased else -1
        self.M = int(slopes.shape[1])
        starts = np.cumsum([0] + [self.V**d for d in range(1, self.L + 1)])
        self.at = [slice(0, 0)] + [slice(int(starts[d]), int(starts[d + 1])) for d in range(self.L)]
        self.n = int(starts[-1])
        self.inner = self.at[self.L].start  # nodes above depth `L`, without the root
        self.parents = np.arange(self.n) // self.V  # places in `pi`
        self.tables = np.concatenate([table.ravel() for table in problem.target[: self.L]])

    def nodes(self, values: Any) -> NodeValues:
        """A vector over nodes as a list by depth, 0 at the root."""
        return [np.zeros(1)] + [values[self.at[d]] for d in range(1, self.L + 1)]

    def law(self, cells: Any) -> Any:
        """`r(x) = sum_j s_j X(x, j)` for every path, shape `(T N,)`."""
        return np.matmul(cells, self.slopes[:, :, None]).ravel()

    def apply(self, x: Unknowns) -> Constraints:
        """The left sides of the constraints."""
        above, paths, z = x.pi[self.parents], x.pi[1 + self.inner :], x.z[self.inner :]
        mean = (self.tables * x.z)[self.V :].reshape(-1, self.V).sum(1)
        cells = x.a[:, :, None] + x.b[:, None, :] - self.slopes[:, None, :] * paths.reshape(self.T, self.N, 1)
        excess, short = (z * 1, x.price - z) if self.biased else (z[:0], z[:0])
        return Constraints(
            x.pi[1:] - above, paths - z, above - x.z, self._sign * (x.z[: self.inner] - mean), excess, short, cells
        )

    def adjoint(self, rows: Constraints) -> Unknowns:
        """The transpose of `apply`."""
        pi = np.concatenate([np.zeros(1), rows.chosen])
        pi[: self.inner + 1] += (rows.corrected - rows.chosen).reshape(-1, self.V).sum(1)
        pi[1 + self.inner :] += rows.ended - self.law(rows.cells)
        z, continued = -rows.corrected, self._sign * rows.continued
        z[: self.inner] += continued
        z[self.V :] -= self.tables[self.V :] * continued.repeat(self.V)
        z[self.inner :] -= rows.ended
        if self.biased:
            z[self.inner :] += rows.excess - rows.short
        return Unknowns(pi, z, rows.short.sum(keepdims=True), rows.cells.sum(2), rows.cells.sum(1))
