"""The price programs that the interior-point method solves: strictly feasible starts, and what a state says."""

from typing import Any

import numpy as np

from draftproof.lp_analysis.bias_prices import bias_bound, end_worths
from draftproof.lp_analysis.nodes import (
    NodeValues,
    children,
    from_leaves,
    hit_probability,
    prefix_masses,
    reach,
    worth,
)
from draftproof.lp_analysis.prices import end_prices, price_bound, trimmed
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.biased_system import BiasedSystem
from draftproof.lp_analysis.solvers.interior import InteriorPoint, Reading, State, each
from draftproof.lp_analysis.solvers.rows import (
    BiasedConstraints,
    BiasedRows,
    BiasedUnknowns,
    Constraints,
    LevelRows,
    Unknowns,
)
from draftproof.lp_analysis.solvers.tree_system import TreeSystem


class LevelProgram(InteriorPoint):
    """The price program with levels for one instance and one set of knots.

    problem: in float64, every entry positive. knots: shape `(T, M + 1)`, increasing from 0 to 1.
    """

    rows: LevelRows

    def __init__(self, problem: BoundProblem, knots: Any) -> None:
        self.problem = problem
        widths = np.diff(knots, axis=1)
        self.rows = LevelRows(problem, cell_slopes(problem, knots))
        self.system = TreeSystem(self.rows)
        self.cost = Unknowns(
            np.concatenate([problem.target[0].ravel(), np.zeros(self.rows.n - self.rows.V)]),
            np.zeros(self.rows.n),
            problem.iid.masses[-1].reshape(self.rows.T, -1),
            problem.iid.groups[:, None] * widths,
        )

    def start(self) -> State:
        """A strictly feasible start: half the reach of the law `q`, the independent transport, loose prices."""
        rows, L, target, masses = self.rows, self.rows.L, self.problem.target, self.problem.iid.masses
        held = half_reach(self.problem)
        i = np.concatenate(held[1:])
        ii = np.concatenate([children(held[d], target[d]) for d in range(L)]) - i
        iii = np.concatenate(masses[1:]) - i
        cells = self.problem.iid.shares[:, :, None] * self.cost.b[:, None, :]
        natural = Constraints(i, ii + i, iii + i, cells)
        omega = between(natural)
        pi = np.concatenate([np.full(rows.V**d, 0.5 * d) for d in range(1, L + 1)])
        w = self.problem.weights_below
        most = max(float(w.max()), 1.0)
        t = np.concatenate([np.full(rows.V**d, 1.5 * most * (L - d + 1)) for d in range(1, L + 1)])
        b = np.zeros((rows.T, rows.M))
        a = rows.slopes.max() * 0.5 * L + 1 + np.minimum(0.3 * (omega.cells / cells).max(2), 50.0)
        x = Unknowns(t, pi, a, b)
        left = rows.apply(x)
        return State(x, left._replace(i=left.i - w), Constraints(i, ii, iii, cells), omega)

    def read(self, state: State, truth: BoundProblem) -> Reading:
        """The law of the transport, and the prices."""
        rows = self.rows
        law = np.maximum(rows.law(state.multiplier.cells), 0)
        prices = trimmed(rows.nodes(np.maximum(rows.steps(state.x.pi), 0)), truth)
        lower = float(worth(reach(from_leaves(law, rows.V, rows.L), truth.target), truth.weights))
        upper = float(price_bound(prices, truth))
        value = float(truth.weights[0][0]) + self.objective(state.x)
        return Reading(lower, law, upper, prices, value, end_prices(prices, truth))


def cell_slopes(problem: BoundProblem, knots: Any) -> Any:
    """The slopes of the interpolated `g`, shape `(T, M)`."""
    return np.diff(hit_probability(knots, problem.iid.scheme.K), axis=1) / np.diff(knots, axis=1)


def half_reach(problem: BoundProblem) -> NodeValues:
    """The reach of the law `q`, cut down further at every depth, so that it is inside its bounds."""
    reached = reach(problem.iid.masses, problem.target)
    return [values * (1 - 0.5 * d / problem.depth) for d, values in enumerate(reached)]


def between(natural: Any) -> Any:
    """The weights of pairs, given their natural masses."""
    mean = np.concatenate([part.ravel() for part in natural]).mean()
    return each(lambda mass: np.sqrt(mean * mass), natural)


class BiasedProgram(InteriorPoint):
    """The program for one instance, one bias and one set of knots.

    problem: in float64, every entry positive. knots: shape `(T, M + 1)`, increasing from 0 to 1. bias: positive.
    """

    rows: BiasedRows

    def __init__(self, problem: BoundProblem, knots: Any, bias: float) -> None:
        self.problem, self.bias = problem, bias
        self.rows = BiasedRows(problem, cell_slopes(problem, knots))
        self.system = BiasedSystem(self.rows)
        rows, self.masses = self.rows, prefix_masses(problem.target, problem.depth)
        z = np.zeros(rows.n)
        z[rows.inner :] = -self.masses[-1]
        self.cost = BiasedUnknowns(
            np.zeros(rows.n + 1),
            z,
            np.array([bias]),
            problem.iid.masses[-1].reshape(rows.T, rows.N),
            problem.iid.groups[:, None] * np.diff(knots, axis=1),
        )
        depths = np.concatenate([np.full(rows.V**d, float(d)) for d in range(1, rows.L + 1)])
        zero = BiasedConstraints(*(np.zeros(1) for _ in range(7)))
        self.right = zero._replace(ended=np.full(rows.V**rows.L, rows.L + 1.0), corrected=depths)

    def start(self) -> State:
        """Half the reach of the law `q`, lossless, the independent transport; loose prices."""
        rows, target, drafted = self.rows, self.problem.target, self.problem.iid.masses
        L, held = rows.L, half_reach(self.problem)
        reached = np.concatenate(held[1:])
        corrected = np.concatenate([children(held[d], target[d]) for d in range(L)]) - reached
        likely, chosen = np.concatenate(self.masses[1:]), np.concatenate(drafted[1:]) - reached
        cells = self.problem.iid.shares[:, :, None] * self.cost.b[:, None, :]
        short = self.bias * self.masses[-1]
        multiplier = BiasedConstraints(
            chosen, held[-1], corrected, likely[: rows.inner] - reached[: rows.inner], short, short, cells
        )
        natural = multiplier._replace(
            chosen=chosen + reached, corrected=corrected + reached, continued=likely[: rows.inner]
        )
        omega = between(natural)
        z = np.concatenate([np.full(rows.V**d, 1 + 0.5 * (L - d)) for d in range(1, L + 1)])
        pi = np.concatenate([np.full(rows.V**d, L + 3 + 0.5 * (L + d)) for d in range(L + 1)])
        b = np.zeros((rows.T, rows.M))
        a = rows.slopes.max() * pi[-1] + 1 + np.minimum(0.3 * (omega.cells / cells).max(2), 50.0)
        x = BiasedUnknowns(pi, z, np.array([2.0]), a, b)
        slack = BiasedConstraints(*(left - right for left, right in zip(rows.apply(x), self.right, strict=True)))
        return State(x, slack, multiplier, omega)

    def read(self, state: State, truth: BoundProblem) -> Reading:
        """Attained by a law on the paths, a reach and corrections; prices: of shortfalls, and of bias."""
        rows, found = self.rows, state.multiplier
        corrections = rows.nodes(found.corrected)
        reached = [found.ended]
        for depth in range(rows.L, 0, -1):
            reached.insert(0, (reached[0] + corrections[depth]).reshape(-1, rows.V).sum(1))
        lower = float(found.ended @ self.right.ended + found.corrected @ self.right.corrected)
        price = np.maximum(state.x.price, 0)
        shortfalls = np.clip(state.x.z[rows.inner :], 0, price)
        return Reading(
            lower,
            (np.maximum(rows.law(found.cells), 0), reached, corrections),
            float(bias_bound(shortfalls, price[0], self.bias, truth)),
            [shortfalls, price],
            self.objective(state.x),
            end_worths(shortfalls, truth),
        )
