"""The knots where `g` (`hit_probability`) is interpolated: the error in an upper bound, and refined knots.

values: of every path, what the bound takes the largest of in a tree; shape `(trunks, paths)`.
"""

from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import hit_probability
from draftproof.lp_analysis.prices import levels_of
from draftproof.lp_analysis.problem import BoundProblem

#: Knots are never closer than this; the interpolated `g` is then off by less than K^2 times 1e-11.
CLOSEST = 1e-5


def first_knots(trunks: int, cells: int) -> Any:
    """Equal cells for every trunk, shape `(trunks, cells + 1)`."""
    return np.tile(np.linspace(0, 1, cells + 1), (trunks, 1))


def errors(values: Any, problem: BoundProblem, knots: Any) -> tuple[Any, Any]:
    """The part of each prefix of the sorted paths in the error of the bound, and the masses of the prefixes.

    Both of shape `(trunks, prefixes)`. The sum of the first is the bound minus its value with interpolated `g`.
    """
    jumps, below = _prefixes(values, problem)
    K, below = problem.iid.scheme.K, np.minimum(below, 1.0)
    straight = np.stack([np.interp(x, k, hit_probability(k, K)) for x, k in zip(below, knots, strict=True)])
    return problem.iid.groups[:, None] * jumps * (hit_probability(below, K) - straight), below


def refined(values: Any, problem: BoundProblem, knots: Any, grow: float = 2.0) -> Any:
    """New knots: the cells with most of the error are split, at most `grow` times as many cells.

    A cell is split at the mass of the prefix next to the middle of its error. All trunks keep the same number of cells.
    """
    jumps, below = _prefixes(values, problem)
    knots = _without_idle(jumps, below, knots, problem.iid.scheme.K)
    error, below = errors(values, problem, knots)
    cells = knots.shape[1] - 1
    chosen = []
    for e, x, k in zip(error, below, knots, strict=True):
        cell = np.clip(np.searchsorted(k, x, side="left") - 1, 0, cells - 1)
        points, gains = [], []
        for j in np.unique(cell):
            inside = np.flatnonzero((cell == j) & (e > 0))
            if len(inside) == 0:
                continue
            half = np.searchsorted(e[inside].cumsum(), e[inside].sum() / 2)
            point = x[inside[min(half, len(inside) - 1)]]
            if min(point - k[j], k[j + 1] - point) > CLOSEST:
                points.append(point)
                gains.append(e[inside].sum())
        best = np.argsort(gains)[::-1]
        chosen.append([points[i] for i in best])
    count = min(int(cells * (grow - 1)) or 1, max(len(points) for points in chosen))
    return np.stack([_with(k, points[:count], count) for k, points in zip(knots, chosen, strict=True)])


def _prefixes(values: Any, problem: BoundProblem) -> tuple[Any, Any]:
    """The differences of the sorted values, and the mass of the first `i` paths of each trunk."""
    orders, jumps = levels_of(values)
    return jumps, np.take_along_axis(problem.iid.shares, orders, axis=1).cumsum(axis=1)


def _with(knots: Any, points: list[float], count: int) -> Any:
    """`knots` with these points; where they are fewer than `count`, the widest cells are halved."""
    values = sorted({*knots.tolist(), *points})
    while len(values) < len(knots) + count:
        widths = np.diff(values)
        j = int(widths.argmax())
        values.insert(j + 1, values[j] + float(widths[j]) / 2)
    return np.array(values)


def _without_idle(jumps: Any, below: Any, knots: Any, K: int, share: float = 0.05) -> Any:
    """`knots` without those that lower the bound by almost nothing, never two neighbours; the same number for all."""
    plans, counts = [], []
    for jump, x, k in zip(jumps, below, knots, strict=True):
        left, mid, right = k[:-2], k[1:-1], k[2:]
        value = hit_probability(k, K)
        height = value[1:-1] - value[:-2] - (value[2:] - value[:-2]) * (mid - left) / (right - left)
        worth = np.zeros(len(mid))
        for j in range(len(mid)):
            i, m, n = np.searchsorted(x, [left[j], mid[j], right[j]])
            rise, fall = (x[i:m] - left[j]) / (mid[j] - left[j]), (right[j] - x[m:n]) / (right[j] - mid[j])
            worth[j] = height[j] * (jump[i:m] @ rise + jump[m:n] @ fall)
        straight = np.interp(x, k, value)
        spare = share * float((jump * (hit_probability(x, K) - straight)).sum())
        dropped: list[int] = []
        for j in np.argsort(worth):
            spare -= worth[j]
            if spare < 0:
                break
            if not {j - 1, j + 1} & set(dropped):
                dropped.append(int(j))
        plans.append((k, dropped))
        counts.append(len(dropped))
    return np.stack([np.delete(k, [j + 1 for j in dropped[: min(counts)]]) for k, dropped in plans])
