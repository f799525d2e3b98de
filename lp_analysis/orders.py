"""Orders of the ends of trees: their selection laws, and mixtures of them as plans.

An order ranks the `N` ends below each of the `G` trunks (see `draftproof.lp_analysis.hitting`); the verifier takes the
best leaf that was drafted and block-verifies its path against the law of that choice. Orders have shape `(G, N)`, best
end first. The ends of delayed trees are all paths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.plan import PathPlan
from draftproof.simulator.protocol import DraftScheme

#: Weights of orders are rounded to multiples of one over this.
WEIGHT_UNIT = 2**40


@dataclass(frozen=True)
class Mixture:
    """A mixture of orders for other trees than delayed ones, whose plan is a `PathPlan`.

    weights: one for every order, at least 0, sum 1. orders: `orders[i][trunk]` is a permutation of the `N` ends.
    """

    scheme: DraftScheme
    weights: tuple[Fraction, ...]
    orders: tuple[tuple[tuple[int, ...], ...], ...]


#: What a lower bound is attained by.
Plan: TypeAlias = PathPlan | Mixture


def order_law(order: Any, chances: Any) -> Any:
    """The law of "take the best leaf": the chance of an end or a better one minus that of the better ones.

    order: shape `(N,)`. chances: of the first ends of the order, shape `(N,)`, in either arithmetic.
    """
    gained = chances.copy()
    gained[1:] = gained[1:] - gained[:-1].copy()
    law = gained * 0
    law[order] = gained
    return law


def selection_law(orders: Any, problem: BoundProblem) -> NodeValues:
    """`r(c)` of every node under one order, shape of `orders`: `(G, N)`."""
    chances = problem.trees.chances(orders)
    return _joined(problem, [order_law(*part) for part in zip(orders, chances, strict=True)])


def mixed_law(plan: Plan, problem: BoundProblem) -> NodeValues:
    """`r(c)` of every node under a mixture of orders, exactly where the problem is exact."""
    trees = problem.trees
    laws = trees.shares * 0
    for weight, order in zip(plan.weights, plan.orders, strict=True):
        share = arithmetic_of(laws).number(weight)
        chances = trees.chances(np.array(order))
        laws = laws + share * np.stack(
            [order_law(np.array(part), met) for part, met in zip(order, chances, strict=True)]
        )
    return _joined(problem, laws)


def _joined(problem: BoundProblem, laws: Sequence[Any]) -> NodeValues:
    """The masses of nodes, given the law on the ends of each trunk."""
    trees = problem.trees
    parts = [trees.through(law * mass) for law, mass in zip(laws, trees.fixed[-1], strict=True)]
    levels = [np.concatenate(level) for level in zip(*parts, strict=True)]
    while len(levels) <= problem.depth:
        levels.insert(0, levels[0].reshape(-1, problem.vocab_size).sum(axis=1))
    return levels


def as_plan(vocab_size: int, scheme: DraftScheme, mixtures: Sequence[tuple[Sequence[float], Sequence[Any]]]) -> Plan:
    """One plan from a float mixture of orders for each trunk: `mixtures[trunk] = (weights, orders)`.

    The weights are rounded to multiples of 2^-40. One number drawn uniformly from (0, 1) picks the order of every
    trunk, so that the plan has about as many orders as the mixtures together; no trunk's law depends on another's.
    """
    ends = [_ends(weights) for weights, _ in mixtures]
    cuts = sorted({0, *(end for trunk in ends for end in trunk)})
    weights, orders = [], []
    for start, end in pairwise(cuts):
        index = [int(np.searchsorted(trunk, start, side="right")) for trunk in ends]
        weights.append(Fraction(end - start, WEIGHT_UNIT))
        orders.append(tuple(tuple(map(int, mixtures[t][1][i])) for t, i in enumerate(index)))
    if isinstance(scheme, Delayed):
        return PathPlan(vocab_size, scheme.K, scheme.L1, scheme.L2, tuple(weights), tuple(orders))
    return Mixture(scheme, tuple(weights), tuple(orders))


def _ends(weights: Sequence[float]) -> list[int]:
    """Where the share of each order ends, in units; the last ends at 1 whatever was rounded."""
    total = float(np.sum(weights))
    ends = [round(float(end) / total * WEIGHT_UNIT) for end in np.cumsum(weights)]
    return [*(min(end, WEIGHT_UNIT) for end in ends[:-1]), WEIGHT_UNIT]
