"""Block verification that goes on with another path where its correction token happens to be drafted.

New here; block verification is that of [sun2024block].
1. Run block verification on the first path: an accepted node `c` and a correction token `y`.
2. If `y` is drafted after `c`, on another path, start again at `(c, y)` with the subtree below it.

Lossless, since what happens on the first path does not depend on what is drafted below `(c, y)`: a first path through
`(c, y)` itself would have been accepted further. So the subtree is a fresh draft tree, whatever its shape.
It never accepts less than `block`, on any tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Verdict
from draftproof.simulator.structures import Continued, OnePath
from draftproof.verifiers._paths import at_rejection, child_weights
from draftproof.verifiers.block import Block


@dataclass(frozen=True)
class BlockTree:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="block_tree",
        title="Block verification, continued on other paths",
        source=None,
        needs=Draws.FIRST_CHILD_FROM_Q,
        dominates=("naive", "block"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        verdict, node = Block().verify(root, coin), root
        for token in verdict.accepted[len(root.context) :]:
            node = node.child(token)
        if verdict.correction in node.children:
            return self.verify(node.child(verdict.correction), coin)
        return verdict

    @property
    def structure(self) -> Continued:
        return Continued(OnePath(child_weights, at_rejection))
