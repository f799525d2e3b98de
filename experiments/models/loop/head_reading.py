"""Reading of trees with a head, which reads features of the target and gives the rows of `K` depths in one pass.

Features (of width `H`) are the target's where the target has read the token, the head's own in a tree. After a block
the cache entries of the tree are dropped, except the root: the accepted tokens are read again in the first pass of the
next block, with the features that the target has computed by then. So the cache is a function of the text alone.

A block of a head starts at every context whose length is a multiple of `K`; for most heads `K = 1`. The row after a
context in it is that of one of the places of the block, whichever tokens were drafted since its start, so that it takes
no pass. Where the next block starts, one pass reads the tokens of the path since the start before, each with the state
of the place that predicted it, and the places of the new block, which no later pass sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from draftproof.experiments.models.loop.caches import ModelCache, forward
from draftproof.experiments.models.loop.reading import Reading, Row, table
from draftproof.experiments.models.pair.head import Head
from draftproof.simulator.protocol import Context


class HeadReading(Reading):
    """`Reading` for a head. features: before each waiting token of a sequence, shape `(w, H)`."""

    def __init__(
        self,
        head: Head,
        before: ModelCache,
        waiting: Sequence[Sequence[int]],
        features: Sequence[torch.Tensor],
    ) -> None:
        super().__init__(head, before, waiting)
        self._head, self._features = head, features
        self._blocks: list[dict[Context, tuple[torch.Tensor, torch.Tensor]]] = [{} for _ in waiting]

    def read(self, wanted: Sequence[Sequence[Context]]) -> torch.Tensor:
        """See `Reading.read`; one pass for every depth at which blocks start that were not read yet."""
        missing = [self._missing(sequence, contexts) for sequence, contexts in enumerate(wanted)]
        for depth in sorted({len(start) for starts in missing for start in starts}):
            super().read([[start for start in starts if len(start) == depth] for starts in missing])
        rows = [[self._of(sequence, context)[0] for context in contexts] for sequence, contexts in enumerate(wanted)]
        known = next(portion[0] for portion in rows if portion)
        logits = known.new_zeros(len(wanted), max(map(len, rows)), known.shape[-1])
        for sequence, portion in enumerate(rows):
            if portion:
                logits[sequence, : len(portion)] = torch.stack(portion)
        return logits

    def passes(self, sequence: int, contexts: Sequence[Context]) -> int:
        return len({len(start) for start in self._missing(sequence, contexts)})

    def trimmed(self, accepted: Sequence[Context]) -> tuple[ModelCache, list[Context]]:
        """See `Reading.trimmed`; no token of the tree stays in the cache."""
        cache, _ = super().trimmed([()] * len(accepted))
        unread = [
            context if () in path_slots else (*waiting, *context)
            for path_slots, waiting, context in zip(self.path_slots, self._waiting, accepted, strict=True)
        ]
        return cache, unread

    def features_after(self, accepted: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The features before the tokens that wait for the next block. accepted: the target's, from the root down."""
        return tuple(
            new if () in path_slots else torch.cat([before, new])
            for path_slots, before, new in zip(self.path_slots, self._features, accepted, strict=True)
        )

    def _start(self, context: Context) -> Context:
        """Where the block of a context starts."""
        return context[: len(context) - len(context) % self._head.places]

    def _missing(self, sequence: int, contexts: Sequence[Context]) -> list[Context]:
        starts = dict.fromkeys(map(self._start, contexts))
        return [start for start in starts if start not in self._blocks[sequence]]

    def _of(self, sequence: int, context: Context) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and state of the place of a context."""
        logits, states = self._blocks[sequence][self._start(context)]
        place = len(context) % self._head.places
        return logits[place], states[place]

    def _place(self, row: Row, sequence: int, context: Context) -> None:
        """Add the tokens of the path to the start of a block that were not read, and the places of the block."""
        path_slots = self.path_slots[sequence]
        for length in range(len(context) + 1):
            if context[:length] not in path_slots:
                super()._place(row, sequence, context[:length])
                row.features += (
                    [self._of(sequence, context[: length - 1])[1]] if length else list(self._features[sequence])
                )
        row.places += [0] * (len(row.tokens) - len(row.places))
        seen, depth = path_slots[context], row.depths[-1]
        for place in range(1, self._head.places):
            seen = row.add(0, depth + place, seen)
            row.features.append(row.features[-1])
            row.places.append(place)

    def _passed(
        self, rows: Sequence[Row], tokens: torch.Tensor, positions: torch.Tensor, sees: torch.Tensor
    ) -> torch.Tensor:
        features = self._features[0].new_zeros(*tokens.shape, self._features[0].shape[-1])
        for sequence, row in enumerate(rows):
            if row.features:
                features[sequence, : len(row.features)] = torch.stack(row.features)
        inputs = {"features": features}
        if self._head.places > 1:
            inputs["places"] = table([row.places for row in rows], tokens.shape[1]).to(tokens.device)
        output, self.cache = forward(self._head, self.cache, tokens, positions, sees, **inputs)
        for sequence, row in enumerate(rows):
            for context, end in row.ends.items():
                places = slice(end + 1 - self._head.places, end + 1)
                self._blocks[sequence][context] = (
                    output.logits[sequence, places],
                    output.hidden_states[0][sequence, places],
                )
        logits: torch.Tensor = output.logits
        return logits
