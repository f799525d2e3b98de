"""The price program that the interior-point method solves: a strictly feasible start, and what a state says."""

from itertools import accumulate
from typing import Any

import numpy as np

from draftproof.lp_analysis.bias_prices import bias_bound, end_worths
from draftproof.lp_analysis.nodes import NodeValues, children, from_leaves, hit_probability, prefix_masses, reach, worth
from draftproof.lp_analysis.prices import end_prices, price_bound, trimmed
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.interior import InteriorPoint, Reading, State, each
from draftproof.lp_analysis.solvers.rows import Constraints, Rows, Unknowns


class PriceProgram(InteriorPoint):
    """The price program with levels for one instance, one set of knots and one bias, or none.

    problem: in float64, every entry positive. knots: shape `(T, M + 1)`, increasing from 0 to 1. bias: positive, with
    weights of 1 only; None for the optimum, whose weights are at least 0.
    """

    def __init__(self, problem: BoundProblem, knots: Any, bias: float | None = None) -> None:
        slopes = np.diff(hit_probability(knots, problem.iid.scheme.K), axis=1) / np.diff(knots, axis=1)
        rows = Rows(problem, slopes, bias is not None)
        super().__init__(problem, rows)
        self.bias, self.masses = bias, prefix_masses(problem.target, problem.depth)
        z = np.zeros(rows.n)
        if bias is None:
            z[: rows.V] = -self.masses[1]
        else:
            z[rows.inner :] = -self.masses[-1]
        self.cost = Unknowns(
            np.zeros(rows.n + 1),
            z,
            np.array([bias or 0.0]),
            problem.iid.masses[-1].reshape(rows.T, rows.N),
            problem.iid.groups[:, None] * np.diff(knots, axis=1),
        )
        counted = [own.astype(float) * np.ones(rows.V**d) for d, own in enumerate(problem.weights)]
        totals: NodeValues = list(accumulate(counted, lambda above, own: above.repeat(rows.V) + own))
        zero = Constraints(*(np.zeros(1) for _ in Constraints._fields))
        self.right = zero._replace(ended=totals[-1], corrected=np.concatenate(totals[:-1])[rows.parents])

    def start(self) -> State:
        """Half the reach of the law `q`, lossless, the independent transport; loose prices.

        natural: for each pair of a slack and a multiplier the mass that its weight comes from; see `interior`.
        """
        rows, target, drafted = self.rows, self.problem.target, self.problem.iid.masses
        L, held = rows.L, half_reach(self.problem)
        reached = np.concatenate(held[1:])
        corrected = np.concatenate([children(held[d], target[d]) for d in range(L)]) - reached
        chosen, inner = np.concatenate(drafted[1:]) - reached, reached[: rows.inner]
        cells = self.problem.iid.shares[:, :, None] * self.cost.b[:, None, :]
        multiplier = Constraints(chosen, held[-1], corrected, inner, np.zeros(0), np.zeros(0), cells)
        natural = multiplier._replace(chosen=chosen + reached, corrected=corrected + reached)
        W, w = self.right.corrected, max(float(self.problem.weights_below.max()), 1.0)
        depths = np.concatenate([np.full(rows.V**d, d) for d in range(L + 1)])
        price, pi = 2.0, 0.5 * depths
        z = pi[rows.parents] - W - 1.5 * w * (L - depths[1:] + 1)
        if self.bias is not None:
            likely, short = np.concatenate(self.masses[1:])[: rows.inner], self.bias * self.masses[-1]
            multiplier = multiplier._replace(continued=likely - inner, excess=short, short=short)
            natural = natural._replace(continued=likely, excess=short, short=short)
            pi, z = L + 3 + 0.5 * (L + depths), 1 + 0.5 * (L - depths[1:])
        mean = np.concatenate([part.ravel() for part in natural]).mean()
        omega = each(lambda mass: np.sqrt(mean * mass), natural)
        b = np.zeros((rows.T, rows.M))
        a = rows.slopes.max() * pi[-1] + 1 + np.minimum(0.3 * (omega.cells / cells).max(2), 50.0)
        x = Unknowns(pi, z, np.array([price]), a, b)
        slack = Constraints(*(left - right for left, right in zip(rows.apply(x), self.right, strict=True)))
        return State(x, slack, multiplier, omega)

    def read(self, state: State, truth: BoundProblem) -> Reading:
        """Bounds on the instance that the program is of; `problem` may be blended.

        Without a bias the law of the transport attains the lower one, and prices are those of nodes. With one a law, a
        reach and corrections attain it, and prices are those of shortfalls, and of bias.
        """
        rows, multiplier = self.rows, state.multiplier
        law = np.maximum(rows.law(multiplier.cells), 0)
        value = self.objective(state.x)
        if self.bias is None:
            steps = state.x.pi[1:] - state.x.pi[rows.parents]
            prices = trimmed(rows.nodes(np.maximum(steps, 0)), truth)
            lower = float(worth(reach(from_leaves(law, rows.V, rows.L), truth.target), truth.weights))
            return Reading(lower, law, float(price_bound(prices, truth)), prices, value, end_prices(prices, truth))
        corrections = rows.nodes(multiplier.corrected)
        reached = [multiplier.ended]
        for depth in range(rows.L, 0, -1):
            reached.insert(0, (reached[0] + corrections[depth]).reshape(-1, rows.V).sum(1))
        lower = float(multiplier.ended @ self.right.ended + multiplier.corrected @ self.right.corrected)
        price = np.maximum(state.x.price, 0)
        shortfalls = np.clip(state.x.z[rows.inner :], 0, price)
        return Reading(
            lower,
            (law, reached, corrections),
            float(bias_bound(shortfalls, price[0], self.bias, truth)),
            [shortfalls, price],
            value,
            end_worths(shortfalls, truth),
        )


def half_reach(problem: BoundProblem) -> NodeValues:
    """The reach of the law `q`, cut down further at every depth, so that it is inside its bounds."""
    reached = reach(problem.iid.masses, problem.target)
    return [values * (1 - 0.5 * d / problem.depth) for d, values in enumerate(reached)]
