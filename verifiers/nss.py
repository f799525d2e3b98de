"""Naive sampling: draw from the target and see whether the token happens to be drafted.

[miao2024specinfer], naive sampling (the baseline of the paper). At each node:
1. Draw `Y ~ p`, ignoring the drafts.
2. If `Y` is drafted go there, else stop with correction `Y`.

Lossless on every draft tree, since the drafts play no part in the choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import counted, layers, polynomial, token_by_token
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class NaiveSampling:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="nss",
        title="Naive sampling",
        source=Source("miao2024specinfer", "naive sampling"),
        needs=Draws(0),
        reads_draft=False,
        exchangeable=True,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law, last_step=last_step)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`: `p` itself."""
    return p * 1


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`."""
    p, q = token_by_token(p), token_by_token(q)
    return layers([p * share for share in counted(q, k)])


def last_step(p: Vector, q: Vector, masses: Mapping[int, Any]) -> tuple[Vector, Vector]:
    """See `TopDown`."""
    p, q = token_by_token(p), token_by_token(q)
    stops = p * polynomial(1 - q, masses)
    return stops, p * sum(masses.values()) - stops


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    return coin.choose(p)
