"""The greedy path order: of the branches take the one that is best in lexicographic order of `p/q`.

Within a tree of `K` i.i.d. branches below a trunk, let `x = q(c)` be the mass of the prefix `c` given the trunk and `A`
the mass of the paths ranked below it. The chosen branch has the prefix `c` with probability `(A + x)^K - A^K`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from draftproof.simulator.protocol import DraftNode, Vector
from draftproof.simulator.vectors import ascending_ratio, mass_before, mass_below, ranked_ratio
from draftproof.verifiers._paths import Drawn

#: What the law of the rest of the path depends on: mass of the trunk, `x` and `A`.
State = tuple[Any, Any, Any]


def greedy_path(root: DraftNode) -> list[DraftNode]:
    """The nodes of the best path: at each node the drafted token of the highest rank."""
    path = [root]
    while path[-1].children:
        node = path[-1]
        path.append(node.child(_best(node)))
    return path


def ranked_below(p: Vector, q: Vector) -> Any:
    """Whether the second token has a lower rank than the first, booleans of shape `(n.., V, V)`."""
    ranks = ranked_ratio(p, q).argsort(stable=True).argsort(stable=True)
    return ranks[..., None, :] < ranks[..., :, None]


def _best(node: DraftNode) -> int:
    """The drafted token of the largest `p/q`, among equals the larger one."""
    tokens = sorted(set(node.children))
    return tokens[ascending_ratio(node.target[tokens], node.draft[tokens])[-1]] if len(tokens) > 1 else tokens[0]


def greedy_root(one: Any) -> State:
    """The state at the root; one: the number or the column of ones to start from."""
    return one, one, one * 0


def greedy_step(state: State, p: Vector, q: Vector, paths: int) -> tuple[Any, Vector, tuple[Vector, Vector, Vector]]:
    """`r(c)`, the vector of `r(c, y)` over all tokens, and the states of the children.

    p, q: shape `(n.., V)`, the parts of the state `(n.., 1)` or numbers. paths: `K`, or 1 on the trunk.
    """
    return _extended(state, q, mass_below(p, q) if paths > 1 else None, paths)


def _extended(state: State, q: Any, lower: Any, paths: int) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """`greedy_step` for some tokens. q: their masses; lower: for each the mass of the tokens ranked below it."""
    trunk, prefix, below = state
    step = prefix * q
    if paths == 1:
        return trunk * prefix, trunk * step, (trunk * step, q * 0 + 1, q * 0)
    start = below + prefix * lower
    children = (trunk + step * 0, step, start)
    return trunk * _power_gap(below, prefix, paths), trunk * _power_gap(start, step, paths), children


def greedy_masses(path: Sequence[DraftNode], paths: int) -> list[tuple[Any, Drawn]]:
    """For each inner node `c` of a path, `r(c)` and the law `r(c, y)`: its mass at the path's next token, and its row.

    path: the nodes of any path of the tree, root first, greedy or not. paths: `K`.
    """
    masses = []
    state = greedy_root(1)
    forked = 1
    for node, child in pairwise(path):
        forked = paths if len(node.children) > 1 else forked
        p, q, token = node.target, node.draft, child.context[-1]
        total, selected, after = _extended(state, q[token], mass_before(p, q, token) if forked > 1 else None, forked)
        masses.append((total, Drawn(selected, partial(_selected, state, p, q, forked))))
        state = after
    return masses


def _selected(state: State, p: Vector, q: Vector, paths: int) -> Vector:
    trunk, prefix, below = state
    step = prefix * q
    return trunk * (step if paths == 1 else _power_gap(below + prefix * mass_below(p, q), step, paths))


def greedy_laws(path: Sequence[DraftNode], paths: int) -> list[Drawn]:
    """`r(c, y)/r(c)` along a path."""
    return [
        Drawn(drawn.mass / total, partial(_conditional, drawn, total)) for total, drawn in greedy_masses(path, paths)
    ]


def _conditional(drawn: Drawn, total: Any) -> Vector:
    return drawn.row() / total


def _power_gap(below: Any, mass: Any, paths: int) -> Any:
    """`(A + x)^K - A^K` as `x` times a sum of positive terms, so that nothing cancels in float64."""
    above = below + mass
    total: Any = 1
    lower: Any = 1  # a power of A by products: powers of floats take several times as long
    for _ in range(paths - 1):
        lower = lower * below
        total = total * above + lower
    return mass * total
