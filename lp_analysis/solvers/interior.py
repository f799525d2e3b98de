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

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, children, efficiency, from_leaves, hit_probability, reach
from draftproof.lp_analysis.prices import end_prices, price_bound, trimmed
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.level_rows import Constraints, LevelRows, Unknowns
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


class Rows(Protocol):
    """The left sides of the constraints as an operator on the unknowns."""

    def apply(self, x: Any) -> Any:
        """The left sides."""
        ...

    def adjoint(self, rows: Any) -> Any:
        """The transpose of `apply`."""
        ...


class System(Protocol):
    """The normal equations of the rows."""

    weights: Any

    def factor(self, weights: Any) -> None:
        """For the weights of a step; raises `LinAlgError` where float64 cannot."""
        ...

    def solve(self, right: Any) -> Any:
        """The unknowns for a right side."""
        ...


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


class InteriorPoint(ABC):
    """A program `minimise cost x` over rows with right sides; `step` moves a `State` towards the optimum."""

    problem: BoundProblem
    rows: Rows
    system: System
    cost: Any

    @abstractmethod
    def start(self) -> State:
        """A strictly feasible one."""

    @abstractmethod
    def read(self, state: State, truth: BoundProblem) -> Reading:
        """Bounds on the instance that the program is of; `problem` may be blended."""

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
        t = np.concatenate([np.full(rows.V**d, 1.5 * (L - d + 1)) for d in range(1, L + 1)])
        b = np.zeros((rows.T, rows.M))
        a = rows.slopes.max() * 0.5 * L + 1 + np.minimum(0.3 * (omega.cells / cells).max(2), 50.0)
        x = Unknowns(t, pi, a, b)
        left = rows.apply(x)
        return State(x, left._replace(i=left.i - 1), Constraints(i, ii, iii, cells), omega)

    def read(self, state: State, truth: BoundProblem) -> Reading:
        """The law of the transport, and the prices."""
        rows = self.rows
        law = np.maximum(rows.law(state.multiplier.cells), 0)
        prices = trimmed(rows.nodes(np.maximum(rows.steps(state.x.pi), 0)), truth.target)
        lower = float(efficiency(reach(from_leaves(law, rows.V, rows.L), truth.target)))
        upper = float(price_bound(prices, truth))
        return Reading(lower, law, upper, prices, 1 + self.objective(state.x), end_prices(prices, truth))


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
