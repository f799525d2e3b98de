"""Block verification: accept a prefix of the path as a whole, not token by token.

[sun2024block], algorithm 2. Along the first path `x_1..x_L`, with `p`, `q` at the node `x_1..x_i`:
1. Weights: `w_0 = 1`, `w_i = min(1, w_{i-1} p(x_i) / q(x_i))`.
2. With `s_i = sum (w_i p - q)+`: `h_i = s_i / (s_i + 1 - w_i)` for `i < L` (0 where `s_i = 0`), `h_L = w_L`.
3. The accepted depth is the largest `i` whose independent coin `h_i` shows heads.
4. The correction comes from normalised `(w_i p - q)+`, or from `p` at depth `L`.

The reach of a prefix, averaged over the later drafts, is its mass under `q` times `w_i`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Verdict
from draftproof.simulator.structures import OnePath
from draftproof.verifiers._paths import at_rejection, block_verify, child_weights


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
        return block_verify(path, [node.draft for node in path[:-1]], coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection)
