"""The greedy path order: of the branches take the one that is best in lexicographic order of `p/q`.

Within a tree of `K` i.i.d. branches below a trunk, let `x = q(c)` be the mass of the prefix `c` given the trunk and `A`
the mass of the paths ranked below it. The chosen branch has the prefix `c` with probability `(A + x)^K - A^K`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from simulator.protocol import DraftNode, Vector
from simulator.vectors import ascending_ratio


def greedy_path(root: DraftNode) -> list[DraftNode]:
    """The nodes of the best path: at each node the drafted token of the highest rank."""
    path = [root]
    while path[-1].children:
        node = path[-1]
        rank = {token: place for place, token in enumerate(ascending_ratio(node.target, node.draft))}
        path.append(node.child(max(node.children, key=rank.__getitem__)))
    return path


def greedy_masses(path: Sequence[DraftNode], paths: int) -> list[tuple[Any, Vector]]:
    """For each inner node `c` of a path, `r(c)` and the vector of `r(c, y)` over all tokens `y`.

    path: the nodes of any path of the tree, root first. paths: `K`. The order is greedy whichever path is asked about.
    """
    masses = []
    trunk, prefix, below = 1, 1, 0  # mass of the trunk so far; q(c) and A, given the trunk
    branched = paths == 1
    for node, child in pairwise(path):
        q, token = node.draft, child.context[-1]
        branched = branched or len(node.children) > 1
        if not branched:
            masses.append((trunk, trunk * q))
            trunk = trunk * q[token]
            continue
        lower = _mass_below(node)
        start = below + prefix * lower
        step = prefix * q
        selected = (start + step) ** paths - start**paths
        total = (below + prefix) ** paths - below**paths
        masses.append((trunk * total, trunk * selected))
        below, prefix = start[token], step[token]
    return masses


def _mass_below(node: DraftNode) -> Vector:
    """For each token the `q`-mass of the tokens ranked below it."""
    q = node.draft
    below = q * 0
    total = q.sum() * 0
    for token in ascending_ratio(node.target, q):
        below[token] = total
        total = total + q[token]
    return below
