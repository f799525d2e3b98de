"""Greedy multi-path block verification that goes on with another path where its correction token is drafted.

New here; the selected path and its verification are those of [thomas2026greedy].
1. Run `gbv`: an accepted node `c` and a correction token `y`.
2. If `y` is drafted after `c`, start again at `(c, y)` with the branches that go through it.

Lossless although the branches through `(c, y)` were not selected: branches are compared at the first token in which
they differ, which for these is `y`, so the selection does not depend on their later tokens. With an order that compares
later tokens, too, it would not be lossless. It never accepts less than `gbv`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Verdict
from draftproof.simulator.structures import Continued
from draftproof.verifiers._paths import count_iid_branches, verify_drawn
from draftproof.verifiers.gbv import GreedyBlock, greedy_laws, greedy_path, ranked_below


@dataclass(frozen=True)
class GreedyBlockTree:
    """See the module. Raises `UnsupportedTree` unless the branches are i.i.d."""

    card: ClassVar[Card] = Card(
        name="gbv_tree",
        title="Greedy multi-path block verification, continued on other paths",
        source=None,
        needs=Draws.INDEPENDENT_PATHS,
        dominates=("gbv",),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        paths = count_iid_branches(root)
        path = greedy_path(root)
        verdict = verify_drawn(path, greedy_laws(path, paths), coin)
        node = path[len(verdict.accepted) - len(root.context)]
        if verdict.correction in node.children:
            return self.verify(node.child(verdict.correction), coin)
        return verdict

    @property
    def structure(self) -> Continued:
        return Continued(GreedyBlock().structure, ranked_below)
