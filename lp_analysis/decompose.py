"""Selection laws as mixtures of path orders: repair of a float law, and Caratheodory's decomposition.

The selection laws on the paths of one trunk form the base polytope of `g(q(.))`: `r(S) <= g(q(S))` for every set `S`,
with equality for all paths. Its vertices are the laws of total orders. Since `g` is concave and a function of mass
only, the tightest sets are prefixes of the paths sorted by `r/q`: one sort replaces all `2^N` sets.
"""

from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import hit_probability
from draftproof.lp_analysis.orders import order_law
from draftproof.simulator.residual import positive_part

#: An excess below this is rounding, of sums of at most some 10^4 masses.
ROUNDING = 1e-14


def iid_law(order: Any, masses: Any, K: int) -> Any:
    """The law of an order of the paths of these masses, of which `K` are drawn."""
    return order_law(order, hit_probability(masses[order].cumsum(), K))


def best_first(law: Any, masses: Any) -> Any:
    """The paths by `law / masses`, largest first; paths without mass come last."""
    with np.errstate(over="ignore"):  # infinite ratios come first all the same
        return (-law / (masses + (masses == 0) * 1)).argsort(kind="stable")


def repaired(law: Any, masses: Any, K: int) -> Any:
    """The law with its excess cut off: of the paths sorted by `r/q`, no prefix keeps more than `g` of its mass.

    law: nonnegative; paths without mass are set to 0 and the rest is scaled to sum 1 first. Either arithmetic; exact
    numbers give an exact member of the base polytope. `min(r(S), g(q(S)))` is concave along the prefixes `S`, so its
    differences sort the paths as before, so membership needs a check of these prefixes only. The law loses exactly its
    excess, however small the masses of the paths that exceed.
    """
    law = law * (masses > 0)
    total = law.sum()
    if not total > 0:
        return masses * 1
    law = law / total
    order = best_first(law, masses)
    sums = np.minimum(law[order].cumsum(), hit_probability(masses[order].cumsum(), K))
    sums[1:] = sums[1:] - sums[:-1].copy()
    result = law * 0
    result[order] = positive_part(sums)  # differences of floats: rounding is no mass
    return result


def decompose(law: Any, masses: Any, K: int, stop: float = 1e-12) -> tuple[list[float], list[Any]]:
    """Weights and orders whose mixed law is `law`, up to a total variation of `stop`, in float64.

    The paths are kept in blocks, best block first, such that all unions of first blocks are tight.
    1. Take the order by block, then by `point / masses`: its vertex lies in the smallest face of the point.
    2. Move away from the vertex until another set becomes tight (Newton's method); it splits a block.
    3. Record the vertex with the weight that leads back, and go on from there: at most as many orders as paths.
    """
    point, left = positive_part(law), 1.0
    block = np.zeros(len(law))
    weights: list[float] = []
    orders: list[Any] = []
    while True:
        order = np.lexsort((-point / np.maximum(masses, 1e-300), block))
        vertex = iid_law(order, masses, K)
        direction = point - vertex
        orders.append(order)
        if left * abs(direction).sum() / 2 <= stop or len(orders) >= len(law) or (np.diff(block[order]) > 0).all():
            weights.append(left)
            return weights, orders
        step, (tight, last) = _longest(point, direction, masses, block, K)
        if step == np.inf:  # the point is the vertex, up to rounding
            weights.append(left)
            return weights, orders
        weights.append(left * step / (1 + step))
        left /= 1 + step
        point = positive_part(point + step * direction)
        behind = block >= last
        behind[tight] = False
        block[behind] += 1


def _longest(point: Any, direction: Any, masses: Any, block: Any, K: int) -> tuple[float, tuple[Any, float]]:
    """The largest `step` with `point + step direction` in the face, the set that becomes tight and its last block.

    The step is infinite where no path of a block loses mass: then the point is the vertex, up to rounding. Where a path
    of tiny mass reaches 0 before rounding shows a violated set, the set is its block without it.
    """
    _, member, sizes = np.unique(block, return_inverse=True, return_counts=True)
    limits = np.where((direction < 0) & (sizes[member] > 1), point / np.minimum(direction, -1e-300), -np.inf)
    first = int(limits.argmax())
    step = -float(limits[first])
    tight = np.flatnonzero((block <= block[first]) & (np.arange(len(block)) != first))
    last = float(block[first])
    if step == np.inf:
        return step, (tight, last)
    for _ in range(100):
        moved = point + step * direction
        order = np.lexsort((-moved / np.maximum(masses, 1e-300), block))
        inside = np.diff(block[order], append=np.inf) == 0  # the end of a block is tight already
        excess = np.where(inside, moved[order].cumsum() - hit_probability(masses[order].cumsum(), K), -np.inf)
        worst = int(excess.argmax())
        if excess[worst] <= ROUNDING:
            break
        chosen = order[: worst + 1]
        rise, gap = (
            float(direction[chosen].sum()),
            float(hit_probability(masses[chosen].sum(), K) - point[chosen].sum()),
        )
        if rise <= 0 or max(gap, 0.0) / rise >= step:
            break
        step, tight, last = max(gap, 0.0) / rise, chosen, float(block[chosen[-1]])
    return step, (tight, last)
