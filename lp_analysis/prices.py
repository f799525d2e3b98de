"""The price bound: an upper bound on the block efficiency of every lossless verifier, from any node prices.

One price `mu(c) >= 0` for every node below the root. With `t(c) = max(0, w(c) + sum_y p(y|c) t(c,y) - mu(c))` from the
leaves up (no children term at depth `L`), `pi(c)` the sum of the prices along the path to `c` and `T` the draft tree,

    u(mu) = w(()) + sum_y p(y) t(y) + E[max over c in T of pi(c)].

`w` is the weight of a node, 1 for block efficiency; `u` bounds `sum_c w(c) D(c)` for weights of any sign.

`pi` never falls along a path, so that the maximum is at a leaf. With the ends of each trunk, the contexts that can be
leaves, by `pi`, largest first, the last term is
`sum_trunks q(trunk) sum_i (pi_i - pi_{i+1}) P(one of the first i ends is a leaf of T | trunk)`.
`u` is convex, and its minimum is the optimum: see the theory page. Shapes as in `draftproof.lp_analysis.nodes`.
"""

from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues, children
from draftproof.lp_analysis.orders import selection_law
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.residual import positive_part


def node_worths(prices: NodeValues, problem: BoundProblem) -> NodeValues:
    """`t(c)` of every node; the root, which costs nothing, has `w(()) + sum_y p(y) t(y)`."""
    weights = problem.weights
    worths = [weights[-1] - prices[-1]]
    if len(prices) > 1:
        worths[0] = positive_part(worths[0])
    for depth in range(len(prices) - 2, -1, -1):
        table = problem.target[depth]
        value = weights[depth] - prices[depth] + (table * worths[0].reshape(table.shape)).sum(axis=1)
        worths.insert(0, positive_part(value) if depth else value)
    return worths


def trimmed(prices: NodeValues, problem: BoundProblem) -> NodeValues:
    """`min(mu(c), (w(c) + sum_y p(y|c) t(c,y))+)`: prices that leave every `t` as it is and do not raise `u`."""
    worths = node_worths(prices, problem)
    result = [prices[0]]
    for depth in range(1, len(prices)):
        most = problem.weights[depth] + prices[depth] * 0
        if depth + 1 < len(prices):
            table = problem.target[depth]
            most = most + (table * worths[depth + 1].reshape(table.shape)).sum(axis=1)
        result.append(np.minimum(prices[depth], positive_part(most)))
    return result


def end_prices(prices: NodeValues, problem: BoundProblem) -> Any:
    """`pi` of every end, the sum of the prices along the path to it: shape `(G, N)`."""
    totals = [prices[0]]
    for values in prices[1:]:
        totals.append(totals[-1].repeat(problem.vocab_size) + values)
    return problem.trees.at_ends(totals)


def price_bound(prices: NodeValues, problem: BoundProblem) -> Any:
    """`u(mu)` in the arithmetic of its arguments.

    prices: by depth, 0 at the root. Raises `InvalidInput` on a negative price.
    """
    if any((values < 0).any() for values in prices) or prices[0][0] != 0:
        raise InvalidInput("node prices must be at least 0, and 0 at the root")
    return node_worths(prices, problem)[0][0] + mean_of_largest(end_prices(prices, problem), problem)


def mean_of_largest(values: Any, problem: BoundProblem) -> Any:
    """The mean, over draft trees, of the largest value at a leaf; values: of every end, at least 0, shape `(G, N)`."""
    total = problem.trees.fixed[0][0] * 0
    orders, jumps = levels_of(values)
    chances = problem.trees.chances(orders)
    for group, mass in enumerate(problem.trees.fixed[-1]):
        total = total + mass * (jumps[group] * chances[group]).sum()
    return total


def sorted_levels(prices: NodeValues, problem: BoundProblem) -> tuple[Any, Any]:
    """For each trunk, its ends by `pi`, largest first: their order, and `pi_i - pi_{i+1}`, each of shape `(G, N)`."""
    return levels_of(end_prices(prices, problem))


def levels_of(values: Any) -> tuple[Any, Any]:
    """Along each row, the order from the largest value down, and each value minus the next; the last minus 0."""
    orders = (-values).argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(values, orders, axis=1)
    return orders, ranked - np.concatenate([ranked[:, 1:], ranked[:, :1] * 0], axis=1)


def subgradient(prices: NodeValues, problem: BoundProblem) -> NodeValues:
    """A subgradient of `u`: the selection law of the order by `pi`, minus the reach through nodes with `t > 0`."""
    selected = selection_law(sorted_levels(prices, problem)[0], problem)
    worths = node_worths(prices, problem)
    reached = [selected[0]]
    for depth in range(1, len(prices)):
        reached.append(children(reached[-1], problem.target[depth - 1]) * (worths[depth] > 0))
    return [chosen - through for chosen, through in zip(selected, reached, strict=True)]
