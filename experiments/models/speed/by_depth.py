"""What blocks say about each depth: how often it is accepted, and how far p and q are apart there.

Drafts leave the target's ways as they get longer: p and q differ more at deeper nodes. That is why a delayed tree puts
its branches late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean
from typing import Any

from draftproof.experiments.models.loop.loop import Block


@dataclass(frozen=True)
class DepthRow:
    """One depth `d`, counted from 0 at the root.

    reached: blocks with `tau >= d`. accepted: of those the share with `tau > d`, and its standard error.
    distance: mean L1 distance of p and q at this depth, over drafted paths and blocks; None unless observed.
    """

    depth: int
    reached: int
    accepted: float
    accepted_error: float
    distance: float | None

    def fields(self) -> dict[str, Any]:
        """As plain data, for rows of results."""
        return asdict(self)


def by_depth(blocks: Sequence[Block], depth: int) -> list[DepthRow]:
    """One row for each of the depths `0..depth-1`, as far as any block came. depth: `L` of the trees."""
    rows = []
    for here in range(depth):
        reached = sum(block.depth >= here for block in blocks)
        if not reached:
            break
        share = sum(block.depth > here for block in blocks) / reached
        seen = [block.distances[here] for block in blocks if len(block.distances) > here]
        error = sqrt(share * (1 - share) / reached)
        rows.append(DepthRow(here, reached, share, error, fmean(seen) if seen else None))
    return rows
