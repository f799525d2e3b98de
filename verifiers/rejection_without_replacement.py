"""Recursive rejection sampling for drafts without replacement: both distributions shrink at every rejection.

[jeon2024recursive], recursive rejection sampling without replacement. At each node with different drafts `X1..Xk`:
1. Try them in order; accept with probability `min(1, p/q)`.
2. On rejection `p` becomes normalised `(p - q)+`, and `q` loses the token and is renormalised: that is the law from
   which the next draft was drawn.
3. When none is left draw from `p`.

Also lossless for i.i.d. drafts when a token that comes again is skipped: the different tokens among them, in order, are
drawn without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import acceptance, residual, without
from verifiers._top_down import walk


@dataclass(frozen=True)
class RejectionWithoutReplacement:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="rejection_without_replacement",
        title="Recursive rejection sampling without replacement",
        source=Source("jeon2024recursive", "recursive rejection sampling without replacement"),
        lossless_for=("delayed", "without_replacement", "topology", "adaptive"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    for token in drafted:
        if not q[token] > 0:
            continue  # a token drafted twice: without replacement it could not come again
        if coin.flip(acceptance(p, q, token)):
            return token
        p, q = residual(p, q), without(q, token)
    return coin.choose(p)
