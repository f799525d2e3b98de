"""Negative control: block verification that accepts with the weights themselves.

The bug: depth `i` is accepted with probability `w_i` instead of `h_i = s_i / (s_i + 1 - w_i)`, although
the coins of longer prefixes have been flipped before; and where the residual is zero the correction comes
from `p`. Equal to `block` for paths of one token, wrong from two on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.structures import OnePath
from draftproof.verifiers._paths import at_rejection, child_weights, weighted_path
from draftproof.verifiers.block import leftover


@dataclass(frozen=True)
class BlockByWeights:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="block_by_weights",
        title="Block verification that accepts with its weights",
        source=Source("sun2024block", "algorithm 2, with one bug"),
        needs=None,
        control=True,
        single_path=True,
        departs="Depth i is accepted with probability w_i instead of h_i.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = weighted_path(root)
        leaf, weight = path.pop()
        if coin.flip(weight):
            return Verdict(leaf.context, coin.choose(leaf.target))
        while path:
            node, weight = path.pop()
            if coin.flip(weight):
                break
        return Verdict(node.context, coin.choose(leftover(weight, node.target, node.draft)))

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, _at_rejection)


def _at_rejection(weight: Any, p: Vector, q: Vector) -> tuple[Vector, Any]:
    """See `OnePath`: the bug, the weight in place of `h`."""
    return at_rejection(weight, p, q)[0], weight
