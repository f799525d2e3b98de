"""Drafting a delayed tree with a real model: one pass a level, over all paths and all sequences at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from experiments.models.loop.caches import Remembered, read
from experiments.models.loop.rows import RowsOf, TreeRows
from experiments.models.loop.tree_shape import TreeShape
from simulator.drafts.trees import DraftTree
from simulator.protocol import Coin, Context


@dataclass(frozen=True)
class Drafted:
    """The trees of `B` sequences, and what the draft model remembers after drafting them.

    contexts: for each sequence the context that ends at each slot of the shape. rows: for each sequence `q` by context.
    numbers: `q` at the root and at each of the `n` slots with drafts below, float64, shape `(B, n + 1, V)`.
    remembered: the cache with everything in it, waiting tokens first. width: how many slots those take.
    """

    shape: TreeShape
    contexts: list[list[Context]]
    rows: list[TreeRows]
    numbers: torch.Tensor
    remembered: Remembered
    width: int

    def tree(self, sequence: int) -> DraftTree:
        """The draft tree of one sequence."""
        if not self.shape.depth:
            return DraftTree({})
        ends = [self.contexts[sequence][path[-1]] for path in self.shape.paths]
        trunk = self.shape.scheme.L1
        return DraftTree.from_paths(ends[0][:trunk], [end[trunk:] for end in ends])

    def slots(self, sequence: int, accepted: Context) -> tuple[int, ...]:
        """The slots of the tokens of an accepted context, on the first path that it is part of."""
        contexts, depth = self.contexts[sequence], len(accepted)
        return next(path[:depth] for path in self.shape.paths if not depth or contexts[path[depth - 1]] == accepted)

    def tokens(self) -> list[list[int]]:
        """The drafted tokens of each sequence, slot by slot."""
        return [[context[-1] for context in contexts] for contexts in self.contexts]


def draft_trees(
    model: Any, before: Remembered, waiting: Sequence[Sequence[int]], shape: TreeShape, rows_of: RowsOf, coin: Coin
) -> Drafted:
    """Draft one tree a sequence, every token by one choice of the coin.

    waiting: for each sequence the tokens that the draft model has not read yet; the last one is the root of the tree.
    Paths that are alike so far draw from the same row.
    """
    drawn = [_Drawn([], TreeRows(rows_of.vocab_size)) for _ in waiting]
    real = _real(waiting, before.held.device)
    after, numbers = before, []
    for depth in range(1, shape.depth + 1):
        if depth == 1:
            tokens, positions, sees = _waiting_pass(before, waiting, real)
        else:
            tokens, positions, sees = _level_pass(before, real, shape, depth - 1, drawn)
        logits, after = read(model, after, tokens, positions, sees)
        numbers.append(rows_of.numbers(logits[:, -1:] if depth == 1 else logits))
        for each, vectors in zip(drawn, rows_of.vectors(numbers[-1]), strict=True):
            each.draw(shape, depth, vectors, coin)
    return Drafted(
        shape=shape,
        contexts=[each.contexts for each in drawn],
        rows=[each.rows for each in drawn],
        numbers=torch.cat(numbers, 1) if numbers else torch.zeros(len(waiting), 0, rows_of.vocab_size),
        remembered=after,
        width=real.shape[1],
    )


@dataclass
class _Drawn:
    """What is drafted of one tree so far."""

    contexts: list[Context]
    rows: TreeRows

    def draw(self, shape: TreeShape, depth: int, vectors: Any, coin: Coin) -> None:
        """Draw the tokens at this depth; vectors: `q` at each slot of the depth before."""
        parents = [self.contexts[slot] for slot in shape.level(depth - 1)] if depth > 1 else [()]
        for place, _ in enumerate(shape.level(depth)):
            parent = place % len(parents)  # in the trunk there is one, whatever the path
            row = self.rows.known.setdefault(parents[parent], vectors[parent])
            self.contexts.append((*parents[parent], coin.choose(row)))


def _real(waiting: Sequence[Sequence[int]], device: torch.device) -> torch.Tensor:
    """Which places of the first pass hold a waiting token, shape `(B, width)`: they end in one column."""
    counts = torch.tensor([len(each) for each in waiting], device=device)
    return torch.arange(max(map(len, waiting)), 0, -1, device=device) <= counts[:, None]


def _waiting_pass(
    before: Remembered, waiting: Sequence[Sequence[int]], real: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens, positions and sight of the waiting tokens; what stands to the left of fewer sees itself only."""
    device = before.held.device
    width = real.shape[1]
    tokens = torch.tensor([[*[0] * (width - len(each)), *each] for each in waiting], device=device)
    positions = before.lengths[:, None] + (real.cumsum(1) - 1).clamp(min=0)
    itself = torch.eye(width, dtype=torch.bool, device=device)
    among = (itself.new_ones(width, width).tril() & real[:, None, :]) | itself
    return tokens, positions, torch.cat([before.held[:, None, :].expand(-1, width, -1), among], 2)


def _level_pass(
    before: Remembered, real: torch.Tensor, shape: TreeShape, depth: int, drawn: Sequence[_Drawn]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same for the tokens drafted at this depth: they see the past, what waited, their ancestors and themselves."""
    device = before.held.device
    level = shape.level(depth)
    tokens = torch.tensor([[each.contexts[slot][-1] for slot in level] for each in drawn], device=device)
    positions = (before.lengths + real.sum(1) + depth - 1)[:, None].expand(-1, len(level))
    past = torch.cat([before.held, real], 1)[:, None, :].expand(-1, len(level), -1)
    tree = shape.sees[level.start : level.stop, : level.stop].to(device).expand(len(drawn), -1, -1)
    return tokens, positions, torch.cat([past, tree], 2)
