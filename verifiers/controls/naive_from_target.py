"""Negative control: token-by-token verification that resamples from the target instead of the residual.

The bug: after a rejection the correction comes from `p`, not from normalised `(p - q)+`, so tokens
that the draft favours are produced too often. Wrong from the first token on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import minimum, one_draft_law, token_by_token


@dataclass(frozen=True)
class NaiveFromTarget:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="naive_from_target",
        title="Speculative sampling that resamples from the target",
        source=Source("leviathan2023fast", "algorithm 1, with one bug"),
        needs=None,
        control=True,
        single_path=True,
        departs="A rejected token is replaced by a draw from p instead of normalised (p - q)+.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node = root
        while node.children:
            token = node.children[0]
            if not coin.flip(acceptance(node.target, node.draft, token)):
                break
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=child_law)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """The law of one step, shape `(2, n.., V)`: `[1]` an accepted draft, `[0]` a correction. `k` must be 1."""
    p, q = token_by_token(p), token_by_token(q)
    return one_draft_law(q, minimum(p, q), p, k)
