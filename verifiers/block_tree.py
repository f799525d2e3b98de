"""Block verification that goes on with another path where its correction token happens to be drafted.

New here; block verification is that of [sun2024block].
1. Run block verification on the first path: an accepted node `c` and a correction token `y`.
2. If `y` is drafted after `c`, on another path, start again at `(c, y)` with the subtree below it.

Where paths have laws of their own, as `DraftNode.laws` tells, the first path is still drawn from `q` for whoever looks
at no law; a later one counts as drawn from the laws of its tokens.

Lossless, since what happens on the first path does not depend on what is drafted below `(c, y)`: a first path through
`(c, y)` itself would have been accepted further. So the subtree is a fresh draft tree, whatever its shape.
It never accepts less than `block`, on any tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.structures import Continued, OnePath
from draftproof.verifiers._paths import block_verify
from draftproof.verifiers._top_down import draft_of
from draftproof.verifiers._weights import at_rejection, child_weights


@dataclass(frozen=True)
class BlockTree:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="block_tree",
        title="Block verification, continued on other paths",
        source=None,
        needs=Draws.FIRST_PATH_FROM_Q | Draws.FIRST_CHILD_FROM_LAWS,
        dominates=("naive", "block"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return _verify(root, draft_of, coin)

    @property
    def structure(self) -> Continued:
        return Continued(OnePath(child_weights, at_rejection))


def _verify(root: DraftNode, law: Callable[[DraftNode], Vector], coin: Coin) -> Verdict:
    """law: that of the next token of the first path."""
    path = first_path(root)
    verdict = block_verify(path, [law(node) for node in path[:-1]], coin)
    node = path[len(verdict.accepted) - len(root.context)]
    if verdict.correction in node.children:
        return _verify(node.child(verdict.correction), lambda later: later.laws[0], coin)
    return verdict
