"""The price program of the frontier with levels: its unknowns, its constraints and their transpose.

`g` is interpolated as in `level_rows`. With the prices `z(x)` of shortfalls of paths, `Z(c)` at least their mean below
`c` (`Z = z` at the paths) and `pi(c)` the largest worth `w` on the path to `c`, the program is

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

from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.level_rows import CellRows


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
