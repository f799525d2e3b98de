"""The order of least cost: which order of `n` tokens a column generation over token orders takes next.

A token of mass `q` with mass `A` ranked below it costs `sum_j factor_j A^j`, where `factor_j` is a number of the token.
1. With one power above the constant the tokens sorted by `factor_1 / q` are an order of least cost (exchange of
   neighbours: swapping `x` above `y` changes the cost by `factor_1(x) q(y) - factor_1(y) q(x)`).
2. Else, for few tokens, dynamic programming over the set ranked below: `A` depends on that set only.
3. For more, a search: sorted by the slope of the cost at half the mass, then neighbours are exchanged while that gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

#: Dynamic programming over all sets is for at most so many tokens.
FEW = 10
#: An exchange of neighbours must gain more than the rounding of a few products.
_GAIN = 1e-14


def cheapest_order(factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Positions of the tokens, worst first.

    factors: by power of `A`, each of shape `(n,)`. mass: `q > 0`, shape `(n,)`. below: mass ranked below all of them.
    """
    middle = below + mass.sum() / 2
    slope = sum(j * factor * middle ** (j - 1) for j, factor in enumerate(factors) if j)
    order = np.argsort(-slope / mass, kind="stable")
    if len(factors) <= 2:
        return order
    return _over_sets(factors, mass, below) if len(mass) <= FEW else _exchanged(order, factors, mass, below)


def ranked_below(order: Any, mass: Any, below: float) -> Any:
    """`A` of the tokens of an order, worst first."""
    return below + mass[order].cumsum() - mass[order]


def _over_sets(factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Step 2. Sets are numbers whose bits are the tokens."""
    size = len(mass)
    member, levels = _sets(size)
    inside = below + member @ mass
    cost = sum(factor[:, np.newaxis] * inside**j for j, factor in enumerate(factors))  # of a token above a set
    least = np.zeros(2**size)
    last = np.zeros(2**size, dtype=int)
    for sets, without in levels:
        costs = np.where(member[sets] > 0, least[without] + cost[np.arange(size), without], np.inf)
        last[sets] = costs.argmin(axis=1)
        least[sets] = costs.min(axis=1)
    order, left = [], 2**size - 1
    while left:
        order.append(int(last[left]))
        left -= 2 ** order[-1]
    return np.array(order[::-1])


@lru_cache(maxsize=FEW + 1)
def _sets(size: int) -> tuple[Any, list[tuple[Any, Any]]]:
    """Which set has which token, and by size of set: the sets, and each without one of its tokens."""
    sets = np.arange(2**size)
    bits = 2 ** np.arange(size)
    member = (sets[:, np.newaxis] & bits > 0).astype(float)
    sizes = member.sum(axis=1)
    levels = [sets[sizes == count] for count in range(1, size + 1)]
    return member, [(level, level[:, np.newaxis] & ~bits) for level in levels]


def _exchanged(order: Any, factors: Sequence[Any], mass: Any, below: float) -> Any:
    """Step 3."""

    def cost(tokens: Any, under: Any) -> Any:
        return sum(factor[tokens] * under**j for j, factor in enumerate(factors))

    idle = 0
    for turn in range(2 * len(order)):  # as many as put any order into any other
        places = np.arange(turn % 2, len(order) - 1, 2)
        low, high, under = order[places], order[places + 1], ranked_below(order, mass, below)[places]
        kept = cost(low, under) + cost(high, under + mass[low])
        swapped = cost(high, under) + cost(low, under + mass[high])
        better = places[swapped < kept - _GAIN]
        order[better], order[better + 1] = order[better + 1], order[better]
        idle = 0 if len(better) else idle + 1
        if idle == 2:
            break
    return order
