"""The price bound: an upper bound on the block efficiency of every lossless verifier, from any node prices.

One price `mu(c) >= 0` for every node below the root. With `t(c) = max(0, 1 + sum_y p(y|c) t(c,y) - mu(c))` from the
leaves up (no children term at depth `L`), `pi(x)` the sum of the prices along path `x` and the paths of each trunk by
`pi`, largest first,

    u(mu) = 1 + sum_y p(y) t(y) + sum_trunks q(trunk) sum_i (pi_i - pi_{i+1}) g(mass of the first i paths).

`u` is convex, and its minimum is the optimum: see the theory page. Shapes as in `draftproof.lp_analysis.nodes`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, children, from_leaves, hit_probability
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.vectors import positive_part


def node_worths(prices: NodeValues, target_tables: Sequence[Any]) -> NodeValues:
    """`t(c)` of every node; the root, which costs nothing, has `1 + sum_y p(y) t(y)`."""
    worths = [1 - prices[-1]]
    if len(prices) > 1:
        worths[0] = positive_part(worths[0])
    for depth in range(len(prices) - 2, -1, -1):
        table = target_tables[depth]
        value = 1 - prices[depth] + (table * worths[0].reshape(table.shape)).sum(axis=1)
        worths.insert(0, positive_part(value) if depth else value)
    return worths


def trimmed(prices: NodeValues, target_tables: Sequence[Any]) -> NodeValues:
    """`min(mu(c), 1 + sum_y p(y|c) t(c,y))`: prices that leave every `t` as it is and do not raise `u`."""
    worths = node_worths(prices, target_tables)
    result = [prices[0]]
    for depth in range(1, len(prices)):
        most = 1 + prices[depth] * 0
        if depth + 1 < len(prices):
            table = target_tables[depth]
            most = most + (table * worths[depth + 1].reshape(table.shape)).sum(axis=1)
        result.append(np.minimum(prices[depth], most))
    return result


def path_prices(prices: NodeValues, size: int) -> Any:
    """`pi(x)`: the sum of the prices along every path."""
    total = prices[0]
    for values in prices[1:]:
        total = total.repeat(size) + values
    return total


def price_bound(prices: NodeValues, problem: BoundProblem) -> Any:
    """`u(mu)` in the arithmetic of its arguments.

    prices: by depth, 0 at the root. Raises `InvalidInput` on a negative price.
    """
    if any((values < 0).any() for values in prices) or prices[0][0] != 0:
        raise InvalidInput("node prices must be at least 0, and 0 at the root")
    total = node_worths(prices, problem.target)[0][0]
    _, jumps, below = sorted_levels(prices, problem)
    for trunk, mass in enumerate(problem.trunks):
        total = total + mass * (jumps[trunk] * hit_probability(below[trunk], problem.scheme.K)).sum()
    return total


def sorted_levels(prices: NodeValues, problem: BoundProblem) -> tuple[Any, Any, Any]:
    """For each trunk, paths by `pi`, largest first: their order, `pi_i - pi_{i+1}` and the mass of the first `i`.

    Each of shape `(V**L1, V**L2)`; the masses are given the trunk.
    """
    paths = problem.paths
    values = path_prices(prices, problem.vocab_size).reshape(paths.shape)
    order = (-values).argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    jumps = ranked - np.concatenate([ranked[:, 1:], ranked[:, :1] * 0], axis=1)
    return order, jumps, np.take_along_axis(paths, order, axis=1).cumsum(axis=1)


def subgradient(prices: NodeValues, problem: BoundProblem) -> NodeValues:
    """A subgradient of `u`: the selection law of the order by `pi`, minus the reach through nodes with `t > 0`."""
    order, _, below = sorted_levels(prices, problem)
    gained = hit_probability(below, problem.scheme.K)
    gained[:, 1:] = gained[:, 1:] - gained[:, :-1].copy()
    law = np.empty_like(gained)
    np.put_along_axis(law, order, gained * problem.trunks[:, np.newaxis], axis=1)
    selected = from_leaves(law.reshape(-1), problem.vocab_size, problem.depth)
    worths = node_worths(prices, problem.target)
    reached = [selected[0]]
    for depth in range(1, len(prices)):
        reached.append(children(reached[-1], problem.target[depth - 1]) * (worths[depth] > 0))
    return [chosen - through for chosen, through in zip(selected, reached, strict=True)]
