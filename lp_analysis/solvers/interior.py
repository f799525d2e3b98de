"""A primal-dual interior-point method for the price program with levels (`rows`).

Every pair of slack and multiplier is driven to `mu * omega` with its own weight `omega`: the geometric mean of the
natural mass of the pair (`q(x) w_j` for the transport, `q(c)` and reaches for nodes) and of the average one. Equal
weights starve the small paths, natural ones make their steps tiny; between the two, 15 to 45 steps suffice whatever the
number of paths. The start is strictly feasible on both sides, so that every step yields bounds: `pi` gives prices, the
transport a selection law.

1. Predictor: the Newton direction to `mu = 0`; its step lengths give the centring `sigma`.
2. Corrector: Mehrotra's second-order term, then up to three of Gondzio's centrality corrections, each kept only while
   it lengthens the steps. All use one factorisation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.rows import Rows, Unknowns
from draftproof.lp_analysis.solvers.tree_system import TreeSystem

#: Share of the way to the boundary that a step may go.
DAMPING = 0.99
#: A complementarity product should stay within this factor of its target.
CENTRAL = 10.0


@dataclass
class State:
    """Unknowns `x` with their slacks, multipliers, and the weight of every pair: named tuples of arrays."""

    x: Any
    slack: Any
    multiplier: Any
    omega: Any

    @property
    def mu(self) -> float:
        """The duality gap per weight."""
        return dot(self.slack, self.multiplier) / sum(float(part.sum()) for part in self.omega)


class Reading(NamedTuple):
    """Bounds that a state gives.

    attained: what has the lower one. prices: what gives the upper one. value: the upper one with the interpolated `g`.
    ends: what the upper one takes the largest of, shape `(T, N)`.
    """

    lower: float
    attained: Any
    upper: float
    prices: NodeValues
    value: float
    ends: Any


class InteriorPoint:
    """A program `minimise cost x` over rows with right sides; `step` moves a `State` towards the optimum."""

    cost: Unknowns

    def __init__(self, problem: BoundProblem, rows: Rows) -> None:
        self.problem, self.rows, self.system = problem, rows, TreeSystem(rows)

    def objective(self, x: Any) -> float:
        """`cost x`."""
        return dot(self.cost, x)

    def step(self, state: State) -> State:
        """One predictor-corrector step. Raises `LinAlgError` where float64 can go no further."""
        mu, slack, multiplier = state.mu, state.slack, state.multiplier
        self.system.factor(each(lambda m, s: m / s, multiplier, slack))
        products = each(lambda m, s: m * s, multiplier, slack)
        missing = each(lambda c, a: c - a, self.cost, self.rows.adjoint(multiplier))
        predictor = self._newton(state, each(lambda v: -v, products), missing)
        primal, dual = _lengths(state, predictor)
        after = dot(
            *(
                each(lambda v, d, far=far: v + far * d, now, by)
                for now, by, far in ((slack, predictor[1], primal), (multiplier, predictor[2], dual))
            )
        )
        sigma = (after / dot(slack, multiplier)) ** 3
        goal = each(lambda w: max(sigma, 1e-4) * mu * w, state.omega)
        change = each(
            lambda w, ds, dl, v: np.clip(w - ds * dl, -CENTRAL * w, CENTRAL * w) - v,
            goal,
            predictor[1],
            predictor[2],
            products,
        )
        direction = self._newton(state, change, missing)
        direction = self._centre(state, direction, change, goal, missing)
        primal, dual = (min(1.0, DAMPING * length) for length in _lengths(state, direction))
        moved, slack = (
            each(lambda v, d: v + primal * d, *pair) for pair in ((state.x, direction[0]), (slack, direction[1]))
        )
        multiplier = each(lambda v, d: v + dual * d, multiplier, direction[2])
        return State(moved, slack, multiplier, state.omega)

    def _centre(self, state: State, direction: Any, change: Any, goal: Any, missing: Any) -> Any:
        primal, dual = _lengths(state, direction)
        for _ in range(3):
            further, also = min(1.0, 1.2 * primal + 0.1), min(1.0, 1.2 * dual + 0.1)

            def nearer(s: Any, m: Any, ds: Any, dm: Any, w: Any, c: Any, by: Any = (further, also)) -> Any:
                product = (s + by[0] * ds) * (m + by[1] * dm)
                wanted = np.clip(product, w / CENTRAL, w * CENTRAL) - product
                return c + np.maximum(wanted, -CENTRAL * w)

            update = each(nearer, state.slack, state.multiplier, direction[1], direction[2], goal, change)
            trial = self._newton(state, update, missing)
            lengths = _lengths(state, trial)
            if min(lengths) < 1.1 * min(primal, dual) or sum(lengths) < primal + dual:
                break
            direction, change, (primal, dual) = trial, update, lengths
        return direction

    def _newton(self, state: State, change: Any, missing: Any) -> tuple[Any, Any, Any]:
        scaled = each(lambda c, s: c / s, change, state.slack)
        right = each(lambda r, m: r - m, self.rows.adjoint(scaled), missing)
        dx = self.system.solve(right)
        ds = self.rows.apply(dx)
        back = self.rows.adjoint(each(lambda w, d: w * d, self.system.weights, ds))
        more = self.system.solve(each(lambda r, b: r - b, right, back))  # one step of iterative refinement
        dx = each(lambda v, d: v + d, dx, more)
        ds = self.rows.apply(dx)
        dm = each(lambda v, w, d: v - w * d, scaled, self.system.weights, ds)
        return dx, ds, dm


def dot(first: Any, second: Any) -> float:
    """The sum of the products of all numbers of two tuples."""
    return sum(float(np.vdot(a, b)) for a, b in zip(first, second, strict=True))


def each(function: Callable[..., Any], *tuples: Any) -> Any:
    """The tuple of what the function gives for the arrays of the same name."""
    return type(tuples[0])(*map(function, *tuples))


def _lengths(state: State, direction: tuple[Any, Any, Any]) -> tuple[float, float]:
    """The longest steps, at most 1, that keep slacks and multipliers nonnegative."""

    def longest(values: Any, change: Any) -> float:
        return min(
            1.0, *(1 / max(float((-d / v).max()), 1e-300) for v, d in zip(values, change, strict=True) if v.size)
        )

    return longest(state.slack, direction[1]), longest(state.multiplier, direction[2])
