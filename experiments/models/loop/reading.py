"""One model that reads draft trees, pass after pass: each token sees its text, its ancestors and itself.

`B` sequences share the passes and the cache; their trees need not be alike. A pass is as wide as the sequence with the
most tokens needs; no other token attends to a padding place, in this pass or later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch

from draftproof.experiments.models.loop.caches import ModelCache, forward
from draftproof.experiments.models.pair.hidden import features_of
from draftproof.simulator.protocol import Context


class Reading:
    """The passes of a model over `B` trees.

    waiting: for each sequence the tokens before its tree that the model has not read; the last one is the root.
    path_slots: for each sequence, by context, the cache slots of the waiting tokens and of the context, counted from
    the slots before this reading; it has only contexts that were read.
    """

    def __init__(self, model: Any, before: ModelCache, waiting: Sequence[Sequence[int]], outputs: bool = False) -> None:
        """outputs: whether hidden states and logits of all tokens are kept for `output`."""
        self.cache = before
        self.path_slots: list[dict[Context, list[int]]] = [{} for _ in waiting]
        self._model, self._before, self._waiting = model, before, waiting
        self._outputs: list[tuple[torch.Tensor, torch.Tensor]] | None = [] if outputs else None

    def read(self, wanted: Sequence[Sequence[Context]]) -> torch.Tensor:
        """One pass over these contexts, for each sequence parents before children, none that was read before.

        Returns the logits after each, shape `(B, m, V)` or wider, where `m` is the most contexts of a sequence; the
        entries of shorter sequences beyond their contexts are padding.
        """
        held = self._before.held
        start, rows = self.cache.slots - self._before.slots, []
        for sequence, contexts in enumerate(wanted):
            rows.append(Row(start))
            for context in contexts:
                self._place(rows[-1], sequence, context)
                rows[-1].ends[context] = len(rows[-1].tokens) - 1
        width = max(len(row.tokens) for row in rows)
        tokens, depths = (table(part, width) for part in ([row.tokens for row in rows], [row.depths for row in rows]))
        among = _attended([row.sees for row in rows], start, width)
        past = held[:, None, :].expand(-1, width, -1)
        positions = self._before.lengths[:, None] + depths.to(held.device)
        sees = torch.cat([past, among.to(held.device)], 2)
        logits = self._passed(rows, tokens.to(held.device), positions, sees)
        return _at(logits, [list(row.ends.values()) for row in rows])

    def trimmed(self, accepted: Sequence[Context]) -> tuple[ModelCache, list[Context]]:
        """The cache with only the accepted contexts of the trees, and for each sequence the unread tokens.

        Unread are waiting and accepted tokens that the model must read before it drafts or verifies again.
        """
        places, unread = [], []
        for path_slots, waiting, context in zip(self.path_slots, self._waiting, accepted, strict=True):
            depth = next((depth for depth in range(len(context), -1, -1) if context[:depth] in path_slots), None)
            places.append(path_slots[context[:depth]] if depth is not None else [])
            unread.append(context[depth:] if depth is not None else (*waiting, *context))
        return self.cache.trimmed(self._before.slots, places), unread

    def passes(self, sequence: int, contexts: Sequence[Context]) -> int:
        """How many passes a sequence has a part in where these contexts are read."""
        return int(bool(contexts))

    def _passed(
        self, rows: Sequence[Row], tokens: torch.Tensor, positions: torch.Tensor, sees: torch.Tensor
    ) -> torch.Tensor:
        """The logits of one pass over the tokens of these rows."""
        given = self.cache, tokens, positions, sees
        if self._outputs is None:
            output, self.cache = forward(self._model, *given)
        else:
            with features_of(self._model) as hidden:
                output, self.cache = forward(self._model, *given)
            self._outputs.append((hidden[0], output.logits))
        logits: torch.Tensor = output.logits
        return logits

    def output(self, sequence: int, context: Context = (), back: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """The hidden state that the output layer reads, shape `(H,)`, and the logits, at a context that was read.

        back: so many tokens before its last one.
        """
        assert self._outputs is not None
        slot = self.path_slots[sequence][context][-1 - back]
        hidden, logits = (torch.cat(parts, 1)[sequence, slot] for parts in zip(*self._outputs, strict=True))
        return hidden, logits

    def on_path(self, values: torch.Tensor, sequence: int, context: Context) -> torch.Tensor:
        """The values at the root and at each token of a context; values: of one pass, shape `(B, n, ..)`."""
        path_slots = self.path_slots[sequence]
        return values[sequence, [path_slots[context[:depth]][-1] for depth in range(len(context) + 1)]]

    def _place(self, row: Row, sequence: int, context: Context) -> None:
        """Add a context to the row of its sequence; the root adds all waiting tokens."""
        path_slots, waiting = self.path_slots[sequence], self._waiting[sequence]
        if context:
            path_slots[context] = row.add(context[-1], len(waiting) + len(context) - 1, path_slots[context[:-1]])
        else:
            seen: list[int] = []
            for depth, token in enumerate(waiting):
                seen = row.add(token, depth, seen)
            path_slots[()] = seen


class Row:
    """The tokens of one sequence in a pass.

    ends: where the wanted contexts end; sees: as `Reading.path_slots`. features: before each token, and places: of a
    block, 0 for tokens, where the model reads them.
    """

    def __init__(self, start: int) -> None:
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.sees: list[list[int]] = []
        self.ends: dict[Context, int] = {}
        self.features: list[torch.Tensor] = []
        self.places: list[int] = []
        self._start = start

    def add(self, token: int, depth: int, above: list[int]) -> list[int]:
        seen = [*above, self._start + len(self.tokens)]
        self.tokens.append(token)
        self.depths.append(depth)
        self.sees.append(seen)
        return seen


def table(rows: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """The rows with zeros up to one width."""
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], dtype=torch.long)


def _at(logits: torch.Tensor, ends: Sequence[Sequence[int]]) -> torch.Tensor:
    """The logits at these positions of each sequence, shape `(B, m, V)`."""
    most = max(map(len, ends))
    if logits.shape[1] == most and all(list(row) == list(range(len(row))) for row in ends):
        return logits
    places = table(ends, most).to(logits.device)
    return logits.gather(1, places[..., None].expand(-1, -1, logits.shape[-1]))


def _attended(sees: Sequence[Sequence[Sequence[int]]], start: int, width: int) -> torch.Tensor:
    """Which of the new slots each token attends to, booleans of shape `(B, width, start + width)`."""
    mask = np.zeros((len(sees), width, start + width), dtype=bool)
    counts = [[len(seen) for seen in row] for row in sees]
    sequences = list(chain.from_iterable(repeat(sequence, sum(row)) for sequence, row in enumerate(counts)))
    places = list(chain.from_iterable(repeat(place, count) for row in counts for place, count in enumerate(row)))
    mask[sequences, places, list(chain.from_iterable(chain.from_iterable(sees)))] = True
    for sequence, row in enumerate(counts):
        empty = np.arange(len(row), width)
        mask[sequence, empty, start + empty] = True
    return torch.from_numpy(mask)
