"""Negative control: hierarchical speculative decoding with prefix ratios that are not capped.

The bug: the ratio `r_i = prod p(x_j)/q(x_j)` of a prefix is used as it is, where it must be divided by the largest
earlier ratio above one. After a prefix that is more probable under the target than under the draft, later tokens are
accepted too often. Equal to `hsd` for paths of one token, wrong from two on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Verdict
from draftproof.verifiers.hsd import prefix_ratios, walk_back


@dataclass(frozen=True)
class HierarchicalUncapped:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="hsd_uncapped",
        title="Hierarchical speculative decoding without the cap",
        source=Source("zhou2026overcoming", "branch resampling, with one bug"),
        needs=None,
        control=True,
        single_path=True,
        departs="Prefix ratios are not divided by the largest earlier one.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = first_path(root)
        return walk_back(path, prefix_ratios(path), coin)
