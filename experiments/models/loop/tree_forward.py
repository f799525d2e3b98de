"""One target pass over whole draft trees, each token seeing its ancestors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from experiments.models.loop.caches import Remembered, read
from experiments.models.loop.tree_shape import TreeShape


def read_trees(
    model: Any, before: Remembered, roots: Sequence[int], trees: Sequence[Sequence[int]], shape: TreeShape
) -> tuple[torch.Tensor, Remembered]:
    """Logits at the root and at every slot of `B` trees, shape `(B, N + 1, V)`, and the cache with all of them.

    roots: the last token of each sequence, which the model has not read. trees: for each its drafted tokens, slot by
    slot.
    """
    device, width = before.held.device, len(shape.depths) + 1
    tokens = torch.tensor([[root, *tree] for root, tree in zip(roots, trees, strict=True)], device=device)
    positions = before.lengths[:, None] + torch.tensor([0, *shape.depths], device=device)
    tree = torch.zeros(width, width, dtype=torch.bool)
    tree[:, 0] = True
    tree[1:, 1:] = shape.sees
    past = before.held[:, None, :].expand(-1, width, -1)
    sees = torch.cat([past, tree.to(device).expand(len(tokens), -1, -1)], 2)
    return read(model, before, tokens, positions, sees)
