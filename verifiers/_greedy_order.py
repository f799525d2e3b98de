"""The greedy path order: of the branches take the one that is best in lexicographic order of `p/q`.

Within a tree of `K` i.i.d. branches below a trunk, let `x = q(c)` be the mass of the prefix `c` given the trunk and `A`
the mass of the paths ranked below it. The chosen branch has the prefix `c` with probability `(A + x)^K - A^K`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from simulator.protocol import DraftNode, Vector
from simulator.vectors import ascending_ratio, mass_below

#: What the law of the rest of the path depends on: mass of the trunk, `x` and `A`.
State = tuple[Any, Any, Any]


def greedy_path(root: DraftNode) -> list[DraftNode]:
    """The nodes of the best path: at each node the drafted token of the highest rank."""
    path = [root]
    while path[-1].children:
        node = path[-1]
        rank = {token: place for place, token in enumerate(ascending_ratio(node.target, node.draft))}
        path.append(node.child(max(node.children, key=rank.__getitem__)))
    return path


def ranked_below(p: Vector, q: Vector) -> Any:
    """Whether the second token has a lower rank than the first, booleans of shape `(n.., V, V)`."""
    ranks = (p / (q + (q == 0))).argsort(stable=True).argsort(stable=True)
    return ranks[..., None, :] < ranks[..., :, None]


def greedy_root(one: Any) -> State:
    """The state at the root; one: the number or the column of ones to start from."""
    return one, one, one * 0


def greedy_step(state: State, p: Vector, q: Vector, paths: int) -> tuple[Any, Vector, tuple[Vector, Vector, Vector]]:
    """`r(c)`, the vector of `r(c, y)` over all tokens, and the states of the children.

    p, q: shape `(n.., V)`, the parts of the state `(n.., 1)` or numbers. paths: `K`, or 1 on the trunk.
    """
    trunk, prefix, below = state
    step = prefix * q
    if paths == 1:
        return trunk * prefix, trunk * step, (trunk * step, q * 0 + 1, q * 0)
    start = below + prefix * mass_below(p, q)
    children = (trunk + step * 0, step, start)
    return trunk * _power_gap(below, prefix, paths), trunk * _power_gap(start, step, paths), children


def greedy_masses(path: Sequence[DraftNode], paths: int) -> list[tuple[Any, Vector]]:
    """For each inner node `c` of a path, `r(c)` and the vector of `r(c, y)` over all tokens `y`.

    path: the nodes of any path of the tree, root first. paths: `K`. The order is greedy whichever path is asked about.
    """
    masses = []
    state = greedy_root(1)
    forked = 1
    for node, child in pairwise(path):
        forked = paths if len(node.children) > 1 else forked
        total, selected, children = greedy_step(state, node.target, node.draft, forked)
        masses.append((total, selected))
        token = child.context[-1]
        state = (children[0][token], children[1][token], children[2][token])
    return masses


def _power_gap(below: Any, mass: Any, paths: int) -> Any:
    """`(A + x)^K - A^K` as `x` times a sum of positive terms, so that nothing cancels in float64."""
    above = below + mass
    total: Any = 1
    lower: Any = 1  # a power of A by products: powers of floats take several times as long
    for _ in range(paths - 1):
        lower = lower * below
        total = total * above + lower
    return mass * total
