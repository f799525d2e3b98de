"""Exact separation of antichain cuts below one trunk, for all slopes at once.

For the cut `sum_C D(c) <= g(q(C))` fix a slope `s`: the antichain with the largest `sum_C (D(c) - s q(c))` comes from
one pass up the tree. As a function of `s` this is convex and piecewise linear, the upper hull of the points
`(q(C), D(C))`. Carry the hull up the tree: the hull of siblings is their segments merged by slope, and a parent with
`D(c) >= sum_y D(c,y)` changes only its end point, so it replaces some last segments by one. That segment's slope is
where `c` itself enters the antichain: the antichain at slope `s` holds the topmost nodes whose slope is at least `s`.
Since `g` is concave, the most violated antichain is a corner of the hull.
"""

from collections.abc import Sequence
from heapq import merge
from typing import Any, TypeAlias

from draftproof.lp_analysis.nodes import NodeValues

#: A segment of a hull: minus its slope (segments are sorted by it), its width in `q`, its height in `D`.
Segment: TypeAlias = tuple[Any, Any, Any]


def hull(reached: NodeValues, masses: NodeValues) -> tuple[list[Segment], NodeValues]:
    """The hull at the root, and for each depth `1..` the slope at which each node enters the antichain.

    reached, masses: `D` and `q` below a trunk, `[d]` of shape `(V**d,)`, either arithmetic; the trunk itself (`d = 0`)
    is no candidate. A node of mass 0 never enters.
    """
    size = len(reached[1])
    slopes: list[list[Any]] = []
    level: list[list[Segment]] = [[] for _ in range(len(reached[-1]))]
    for depth in range(len(reached) - 1, 0, -1):
        entered = []
        for c, segments in enumerate(level):
            entered.append(_enter(segments, reached[depth][c], masses[depth][c]))
        slopes.insert(0, entered)
        level = [list(merge(*level[c : c + size])) for c in range(0, len(level), size)]
    return level[0], slopes


def _enter(segments: list[Segment], value: Any, mass: Any) -> Any:
    """Move the end of the hull to `(mass, value)`, in place; the slope of the new last segment, None without one."""
    if not mass > 0:
        return None
    width, height = mass, value
    for _, w, h in segments:
        width, height = width - w, height - h
    while segments and (not width > 0 or height * segments[-1][1] >= segments[-1][2] * width):
        _, w, h = segments.pop()
        width, height = width + w, height + h
    if not width > 0:
        return None
    slope = height / width
    segments.append((-slope, width, height))
    return slope


def antichain_at(slope: Any, slopes: NodeValues) -> list[tuple[int, int]]:
    """The topmost nodes that enter at `slope` or above, as (depth, index)."""
    size = len(slopes[0])
    chosen, open_nodes = [], [(1, c) for c in range(size)]
    while open_nodes:
        depth, c = open_nodes.pop()
        own = slopes[depth - 1][c]
        if own is not None and own >= slope:
            chosen.append((depth, c))
        elif depth < len(slopes):
            open_nodes += [(depth + 1, c * size + y) for y in range(size)]
    return sorted(chosen)


def corners(segments: Sequence[Segment]) -> list[tuple[Any, Any, Any]]:
    """The corners of the hull after each segment: slope there, `q(C)`, `D(C)`; segments of one slope count as one."""
    corner_list: list[tuple[Any, Any, Any]] = []
    mass, value = 0, 0
    for negative, width, height in segments:
        mass, value = mass + width, value + height
        if corner_list and corner_list[-1][0] == -negative:
            corner_list.pop()
        corner_list.append((-negative, mass, value))
    return corner_list
