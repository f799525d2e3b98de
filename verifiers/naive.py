"""Token-by-token verification of one path, the original speculative sampling.

[leviathan2023fast], algorithm 1; [chen2023accelerating], algorithm 2. Along the first path:
1. Accept the drafted token `x` with probability `min(1, p(x)/q(x))` and go on.
2. On rejection stop with a correction from normalised `(p - q)+`.
3. After the last drafted token draw the correction from `p`.

At every node the next token has law `p`: what is accepted has mass `min(p, q)`, the residual adds the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Verdict
from draftproof.simulator.residual import acceptance, residual


@dataclass(frozen=True)
class Naive:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="naive",
        title="Token-by-token speculative sampling",
        source=Source("leviathan2023fast", "algorithm 1"),
        needs=Draws.FIRST_PATH_FROM_Q,
        single_path=True,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node = root
        while node.children:
            token = node.children[0]
            if not coin.flip(acceptance(node.target, node.draft, token)):
                return Verdict(node.context, coin.choose(residual(node.target, node.draft)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))
