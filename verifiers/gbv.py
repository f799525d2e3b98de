"""Greedy multi-path block verification: take the branch with the largest ratios `p/q`, then verify it as a block.

[thomas2026greedy]. On a delayed tree with `K` i.i.d. branches:
1. Rank the tokens at every node by `p/q`, among equals the larger token number higher.
2. Of the branches take the path that is best in lexicographic order. With `A` the mass of the paths ranked below the
   prefix `c` and `x = q(c)`, both given the trunk, its law is `r(c) = (A + x)^K - A^K`; on the trunk it is `q`.
3. Run block verification on that path with `r(c, y)/r(c)` in place of `q`.

Lossless, since block verification is lossless for whatever law its path has. It does not dominate `block`: where
`p = q` the best of several branches is no longer distributed like `p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import OnePath, Selection
from draftproof.simulator.vectors import ascending_ratio, mass_before, mass_below, ranked_ratio
from draftproof.verifiers._paths import (
    Drawn,
    at_rejection,
    child_weights,
    conditional,
    count_iid_branches,
    verify_drawn,
)


@dataclass(frozen=True)
class GreedyBlock:
    """See the module. Raises `UnsupportedTree` unless the branches are i.i.d."""

    card: ClassVar[Card] = Card(
        name="gbv",
        title="Greedy multi-path block verification",
        source=Source("thomas2026greedy", "greedy multi-path block verification"),
        needs=Draws.INDEPENDENT_PATHS,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the best branch and draw a correction token."""
        paths = count_iid_branches(root)
        path = greedy_path(root)
        return verify_drawn(path, greedy_laws(path, paths), coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection, Selection(greedy_root, _select))


def _select(state: Any, p: Vector, q: Vector, paths: int) -> tuple[Vector, tuple[Vector, ...]]:
    """See `Selection`: step 2 for many prefixes at once."""
    total, selected, children = greedy_step(state, p, q, paths)
    return selected / (total + (total <= 0)), children


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
        Drawn(conditional(drawn.mass, total), partial(_conditional, drawn, total))
        for total, drawn in greedy_masses(path, paths)
    ]


def _conditional(drawn: Drawn, total: Any) -> Vector:
    return conditional(drawn.row(), total)


def _power_gap(below: Any, mass: Any, paths: int) -> Any:
    """`(A + x)^K - A^K` as `x` times a sum of positive terms, so that nothing cancels in float64."""
    above = below + mass
    total: Any = 1
    lower: Any = 1  # a power of A by products: powers of floats take several times as long
    for _ in range(paths - 1):
        lower = lower * below
        total = total * above + lower
    return mass * total
