"""Path orders: their selection laws, and mixtures of them as plans.

A path order ranks the `N = V**L2` paths below each of the `T = V**L1` trunks; the verifier takes the best branch that
was drafted and block-verifies it against the law of that choice. Orders have shape `(T, N)`, best path first.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, from_leaves, hit_probability
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.plan import PathPlan

#: Weights of orders are rounded to multiples of one over this.
WEIGHT_UNIT = 2**40


def order_law(order: Any, masses: Any, K: int) -> Any:
    """The law of "take the best present path": `g` of the mass up to a path minus `g` of the mass before it.

    order: shape `(N,)`. masses: `q(path | trunk)`, shape `(N,)`, in either arithmetic.
    """
    gained = hit_probability(masses[order].cumsum(), K)
    gained[1:] = gained[1:] - gained[:-1].copy()
    law = gained * 0
    law[order] = gained
    return law


def selection_law(order: Any, problem: BoundProblem) -> NodeValues:
    """`r(c)` of every node under one order, shape of `order`: `(T, N)`."""
    trunks = zip(order, problem.paths, problem.trunks, strict=True)
    law = np.concatenate([order_law(part, paths, problem.scheme.K) * mass for part, paths, mass in trunks])
    return from_leaves(law, problem.vocab_size, problem.depth)


def as_plan(vocab_size: int, scheme: Delayed, mixtures: Sequence[tuple[Sequence[float], Sequence[Any]]]) -> PathPlan:
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
    return PathPlan(vocab_size, scheme.K, scheme.L1, scheme.L2, tuple(weights), tuple(orders))


def _ends(weights: Sequence[float]) -> list[int]:
    """Where the share of each order ends, in units; the last ends at 1 whatever was rounded."""
    total = float(np.sum(weights))
    ends = [round(float(end) / total * WEIGHT_UNIT) for end in np.cumsum(weights)]
    return [*(min(end, WEIGHT_UNIT) for end in ends[:-1]), WEIGHT_UNIT]
