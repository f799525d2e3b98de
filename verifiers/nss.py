"""Naive sampling: draw from the target and see whether the token happens to be drafted.

[miao2024specinfer], naive sampling (the baseline of the paper). At each node:
1. Draw `Y ~ p`, ignoring the drafts.
2. If `Y` is drafted go there, else stop with correction `Y`.

Lossless on every draft tree, since the drafts play no part in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from verifiers._top_down import walk


@dataclass(frozen=True)
class NaiveSampling:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="nss",
        title="Naive sampling",
        source=Source("miao2024specinfer", "naive sampling"),
        lossless_for=("delayed", "without_replacement", "top_k", "greedy", "topology", "adaptive", "adaptive_dropping"),
        reads_draft=False,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """Probability that one node with `k` drafts accepts one: `sum p (1 - (1 - q)^k)`. p, q: shape `(n.., V)`."""
        return (p * (1 - (1 - q) ** k)).sum(-1)

    def branch(self, p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
        """Law of the next token given the drafts, shape `(n.., V)`: `p` itself."""
        return p * 1


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    return coin.choose(p)
