"""The upper bound of the frontier: from prices of shortfalls and a price of bias, whatever they are.

`T` is the draft tree, `O(x)` the probability that the output begins with the path `x` of `L` tokens. With prices
`0 <= z(x) <= lambda` of the shortfall `(p(x) - O(x))+` of each path, `Z(c) = sum_y p(y|c) Z(c,y)` and `Z = z` at the
paths, accepting `c` is worth `w(c) = |c| + 1 + max_y Z(c,y)`, or `L + 1 + z(c)` at depth `L`, and

    lambda bias - Z(()) + E[max over c in T of w(c)]

is an upper bound. The least of these is the frontier (duality), whose slope is `lambda`. Shapes as in `hitting`.
"""

from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.prices import mean_of_largest
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.errors import InvalidInput


def bias_bound(shortfalls: Any, price: Any, bias: Any, problem: BoundProblem) -> Any:
    """The upper bound by the prices of shortfalls, shape `(V**L,)`, and `lambda`, in the arithmetic of its arguments.

    Raises `InvalidInput` unless the former are between 0 and the latter.
    """
    if (shortfalls < 0).any() or (shortfalls > price).any():
        raise InvalidInput("prices of shortfalls must be between 0 and the price of bias")
    worths, mean = _worths(shortfalls, problem)
    return price * bias - mean + mean_of_largest(problem.trees.at_ends(worths), problem)


def end_worths(shortfalls: Any, problem: BoundProblem) -> Any:
    """The largest `w` on the path to each end, shape `(G, N)`."""
    return problem.trees.at_ends(_worths(shortfalls, problem)[0])


def _worths(shortfalls: Any, problem: BoundProblem) -> tuple[NodeValues, Any]:
    """For every node the largest `w` on the path to it, and `Z(())`."""
    worths, prices = [problem.depth + 1 + shortfalls], shortfalls
    for depth in range(problem.depth - 1, -1, -1):
        table = problem.target[depth]
        prices = prices.reshape(table.shape)
        worths.insert(0, depth + 1 + prices.max(axis=1))
        prices = (table * prices).sum(axis=1)
    for depth in range(1, problem.depth + 1):
        worths[depth] = np.maximum(worths[depth], worths[depth - 1].repeat(problem.vocab_size))
    return worths, prices[0]
