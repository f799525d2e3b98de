"""A primal-dual interior-point method for the price program with levels (`level_rows`).

Every pair of slack and multiplier is driven to `mu * omega` with its own weight `omega`: the geometric mean of the
natural mass of the pair (`q(x) w_j` for the transport, `q(c)` and reaches for nodes) and of the average one. Equal
weights starve the small paths, natural ones make their steps tiny; between the two, 15 to 45 steps suffice whatever the
number of paths. The start is strictly feasible on both sides, so that every step yields bounds: `pi` gives prices, the
transport a selection law.

1. Predictor: the Newton direction to `mu = 0`; its step lengths give the centring `sigma`.
2. Corrector: Mehrotra's second-order term, then up to three of Gondzio's centrality corrections, each kept only while
   it lengthens the steps. All use one factorisation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import children, hit_probability, reach
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.level_rows import Constraints, LevelRows, Unknowns
from draftproof.lp_analysis.solvers.tree_system import TreeSystem

#: Share of the way to the boundary that a step may go.
DAMPING = 0.99
#: A complementarity product should stay within this factor of its target.
CENTRAL = 10.0


@dataclass
class State:
    """Unknowns `x` with their slacks, multipliers, and the weight of every pair."""

    x: Unknowns
    slack: Constraints
    multiplier: Constraints
    omega: Constraints

    @property
    def mu(self) -> float:
        """The duality gap per weight."""
        return float(self.slack.flat() @ self.multiplier.flat() / self.omega.flat().sum())


class LevelProgram:
    """The program for one instance and one set of knots; `step` moves a `State` towards the optimum.

    problem: in float64, every entry positive. knots: shape `(T, M + 1)`, increasing from 0 to 1.
    """

    def __init__(self, problem: BoundProblem, knots: Any) -> None:
        self.problem = problem
        widths = np.diff(knots, axis=1)
        self.rows = LevelRows(problem, np.diff(hit_probability(knots, problem.iid.scheme.K), axis=1) / widths)
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
        reached = reach(masses, target)
        held = [values * (1 - 0.5 * d / L) for d, values in enumerate(reached)]
        i = np.concatenate(held[1:])
        ii = np.concatenate([children(held[d], target[d]) for d in range(L)]) - i
        iii = np.concatenate(masses[1:]) - i
        cells = self.problem.iid.shares[:, :, None] * self.cost.b[:, None, :]
        natural = Constraints(i, ii + i, iii + i, cells)
        mean = natural.flat().mean()
        omega = Constraints(*(np.sqrt(mean * mass) for mass in natural))
        pi = np.concatenate([np.full(rows.V**d, 0.5 * d) for d in range(1, L + 1)])
        t = np.concatenate([np.full(rows.V**d, 1.5 * (L - d + 1)) for d in range(1, L + 1)])
        b = np.zeros((rows.T, rows.M))
        a = rows.slopes.max() * 0.5 * L + 1 + np.minimum(0.3 * (omega.cells / cells).max(2), 50.0)
        return self._state(Unknowns(t, pi, a, b), Constraints(i, ii, iii, cells), omega)

    def _state(self, x: Unknowns, multiplier: Constraints, omega: Constraints) -> State:
        left = self.rows.apply(x)
        return State(x, left._replace(i=left.i - 1), multiplier, omega)

    def value(self, x: Unknowns) -> float:
        """The objective plus 1: an upper bound on the optimum over the interpolated `g`."""
        return 1 + sum(float((c * v).sum()) for c, v in zip(self.cost, x, strict=True))

    def step(self, state: State) -> State:
        """One predictor-corrector step. Raises `LinAlgError` where float64 can go no further."""
        mu, slack, multiplier = state.mu, state.slack, state.multiplier
        self.system.factor(Constraints(*(m / s for m, s in zip(multiplier, slack, strict=True))))
        products = Constraints(*(m * s for m, s in zip(multiplier, slack, strict=True)))
        missing = _subtract(self.cost, self.rows.adjoint(multiplier))
        predictor = self._newton(state, Constraints(*(-v for v in products)), missing)
        primal, dual = _lengths(state, predictor)
        after = (slack.flat() + primal * predictor[1].flat()) @ (multiplier.flat() + dual * predictor[2].flat())
        sigma = (float(after) / (mu * state.omega.flat().sum())) ** 3
        goal = Constraints(*(max(sigma, 1e-4) * mu * w for w in state.omega))
        change = Constraints(
            *(
                np.clip(w - ds * dl, -CENTRAL * w, CENTRAL * w) - v
                for w, ds, dl, v in zip(goal, predictor[1], predictor[2], products, strict=True)
            )
        )
        direction = self._newton(state, change, missing)
        direction = self._centre(state, direction, change, goal, missing)
        primal, dual = (min(1.0, DAMPING * length) for length in _lengths(state, direction))
        moved = Unknowns(*(v + primal * d for v, d in zip(state.x, direction[0], strict=True)))
        slack = Constraints(*(v + primal * d for v, d in zip(slack, direction[1], strict=True)))
        multiplier = Constraints(*(v + dual * d for v, d in zip(multiplier, direction[2], strict=True)))
        return State(moved, slack, multiplier, state.omega)

    def _centre(
        self,
        state: State,
        direction: tuple[Unknowns, Constraints, Constraints],
        change: Constraints,
        goal: Constraints,
        missing: Unknowns,
    ) -> tuple[Unknowns, Constraints, Constraints]:
        primal, dual = _lengths(state, direction)
        for _ in range(3):
            further, also = min(1.0, 1.2 * primal + 0.1), min(1.0, 1.2 * dual + 0.1)
            update = []
            for s, m, ds, dm, w, c in zip(
                state.slack, state.multiplier, direction[1], direction[2], goal, change, strict=True
            ):
                product = (s + further * ds) * (m + also * dm)
                wanted = np.clip(product, w / CENTRAL, w * CENTRAL) - product
                update.append(c + np.maximum(wanted, -CENTRAL * w))
            trial = self._newton(state, Constraints(*update), missing)
            lengths = _lengths(state, trial)
            if min(lengths) < 1.1 * min(primal, dual) or sum(lengths) < primal + dual:
                break
            direction, change, (primal, dual) = trial, Constraints(*update), lengths
        return direction

    def _newton(
        self, state: State, change: Constraints, missing: Unknowns
    ) -> tuple[Unknowns, Constraints, Constraints]:
        scaled = Constraints(*(c / s for c, s in zip(change, state.slack, strict=True)))
        right = _subtract(self.rows.adjoint(scaled), missing)
        dx = self.system.solve(right)
        ds = self.rows.apply(dx)
        back = self.rows.adjoint(Constraints(*(w * d for w, d in zip(self.system.weights, ds, strict=True))))
        more = self.system.solve(_subtract(right, back))  # one step of iterative refinement
        dx = Unknowns(*(v + d for v, d in zip(dx, more, strict=True)))
        ds = self.rows.apply(dx)
        dm = Constraints(*(v - w * d for v, w, d in zip(scaled, self.system.weights, ds, strict=True)))
        return dx, ds, dm


def _subtract(a: Unknowns, b: Unknowns) -> Unknowns:
    return Unknowns(*(v - w for v, w in zip(a, b, strict=True)))


def _lengths(state: State, direction: tuple[Unknowns, Constraints, Constraints]) -> tuple[float, float]:
    """The longest steps, at most 1, that keep slacks and multipliers nonnegative."""

    def longest(values: Constraints, change: Constraints) -> float:
        return min(1.0, *(1 / max(float((-d / v).max()), 1e-300) for v, d in zip(values, change, strict=True)))

    return longest(state.slack, direction[1]), longest(state.multiplier, direction[2])
