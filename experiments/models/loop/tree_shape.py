"""Where the tokens of a delayed tree stand in a forward pass, and which of them each may look at.

A tree of `L1 + K L2` drafted tokens has one slot a token: the trunk, then level by level one slot for each path. Paths
that drafted the same tokens keep slots of their own, so that the shape of a pass is known before the drafts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from simulator.drafts import Delayed


@dataclass(frozen=True)
class TreeShape:
    """The slots `0..N-1` of a delayed tree with `N = L1 + K L2` drafted tokens."""

    scheme: Delayed

    @property
    def depth(self) -> int:
        """`L`."""
        return self.scheme.depth

    def level(self, depth: int) -> range:
        """The slots of the tokens at this depth (1..L): one in the trunk, `K` in the branches."""
        trunk, paths = self.scheme.L1, self.scheme.K
        if depth <= trunk:
            return range(depth - 1, depth)
        start = trunk + (depth - trunk - 1) * paths
        return range(start, start + paths)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """For each slot that of the token before it; -1 stands for the root."""
        found = []
        for depth in range(1, self.depth + 1):
            before = self.level(depth - 1) if depth > 1 else range(-1, 0)
            for place, _ in enumerate(self.level(depth)):
                found.append(before[place % len(before)])
        return tuple(found)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """For each slot its distance from the root, 1..L."""
        return tuple(depth for depth in range(1, self.depth + 1) for _ in self.level(depth))

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """For each of the `K` paths its slots, first token first."""
        levels = [self.level(depth) for depth in range(1, self.depth + 1)]
        return tuple(tuple(level[path % len(level)] for level in levels) for path in range(self.scheme.K))

    @cached_property
    def sees(self) -> torch.Tensor:
        """Which slots each slot may look at, its ancestors and itself: booleans, shape `(N, N)`."""
        visible = torch.eye(len(self.parents), dtype=torch.bool)
        for slot, parent in enumerate(self.parents):
            if parent >= 0:
                visible[slot] |= visible[parent]
        return visible
