"""Block verification: accept a prefix of the path as a whole, not token by token.

[sun2024block], algorithm 2. Along the first path `x_1..x_L`, with `p`, `q` at the node `x_1..x_i`:
1. Weights: `w_0 = 1`, `w_i = min(1, w_{i-1} p(x_i) / q(x_i))`.
2. With `s_i = sum (w_i p - q)+`: `h_i = s_i / (s_i + 1 - w_i)` for `i < L` (0 where `s_i = 0`), `h_L = w_L`.
3. The accepted depth is the largest `i` whose independent coin `h_i` shows heads.
4. The correction comes from normalised `(w_i p - q)+`, or from `p` at depth `L`.

The reach of a prefix, averaged over the later drafts, is its mass under `q` times `w_i`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import capped, excess, residual


@dataclass(frozen=True)
class Block:
    """See the module.

    Dominates `naive`: its reach is the largest that one path allows.
    """

    card: ClassVar[Card] = Card(
        name="block",
        title="Block verification",
        source=Source("sun2024block", "algorithm 2"),
        needs=Draws.FIRST_PATH_FROM_Q,
        single_path=True,
        dominates=("naive",),
        departs="The coins are flipped from the last token backwards, which gives the same law with fewer flips.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = first_path(root)
        masses = [node.draft[child.context[-1]] for node, child in pairwise(path)]
        return block_verify(path, masses, lambda depth: path[depth].draft, coin)


def block_verify(path: Sequence[DraftNode], masses: Sequence[Any], law: Callable[[int], Vector], coin: Coin) -> Verdict:
    """Block verification of a path drafted from any laws, which stand for `q`.

    path: its nodes, root first, `L + 1` of them. masses: that of each of the `L` tokens under its law. law: the law at
    a depth, shape `(V,)`, asked for only where the path is rejected.
    """
    weights: list[Any] = [1]
    for child, mass in zip(path[1:], masses, strict=True):
        weights.append(capped(weights[-1] * path[len(weights) - 1].target[child.context[-1]], mass))
    if coin.flip(weights[-1]):
        return Verdict(path[-1].context, coin.choose(path[-1].target))
    for depth in range(len(masses) - 1, 0, -1):
        p, q, weight = path[depth].target, law(depth), weights[depth]
        if coin.flip(stop_probability(weight, p, q)):
            return Verdict(path[depth].context, coin.choose(leftover(weight, p, q)))
    return Verdict(path[0].context, coin.choose(leftover(1, path[0].target, law(0))))


def stop_probability(weight: Any, p: Vector, q: Vector) -> Any:
    """`h = s/(s + 1 - w)` with `s = sum (w p - q)+`, 0 where `s = 0`: accept a node whose continuation was rejected."""
    total = excess(p, q, weight).sum()
    return total / (total + (1 - weight)) if total > 0 else 0  # the brackets keep rounding from cancelling it


def leftover(weight: Any, p: Vector, q: Vector) -> Vector:
    """Normalised `(w p - q)+`, `p` where it is zero: the new target of a node whose continuation was rejected."""
    return residual(weight * p, q, otherwise=p)
