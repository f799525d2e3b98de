"""Naive sampling: draw from the target and see whether the token happens to be drafted.

[miao2024specinfer], naive sampling (the baseline of the paper). At each node:
1. Draw `Y ~ p`, ignoring the drafts.
2. If `Y` is drafted go there, else stop with correction `Y`.

Lossless on every draft tree, since the drafts play no part in the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from verifiers._top_down import walk


@dataclass(frozen=True)
class NaiveSampling:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="nss",
        title="Naive sampling",
        source=Source("miao2024specinfer", "naive sampling"),
        reads_draft=False,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    return coin.choose(p)
