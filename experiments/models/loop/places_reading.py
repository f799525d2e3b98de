"""Reading of trees with a drafter that gives the rows of `K` depths in one pass.

A block starts at every context whose length is a multiple of `K`. The row after a context in a block is that of one of
the places of the block, whichever tokens were drafted since its start, so that it takes no pass. Where the next block
starts, one pass reads the tokens of the path since the start before, each with the state of the place that predicted
it, and the places of the new block, which no later pass sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.reading import FeatureReading, Row, table
from draftproof.simulator.protocol import Context


class PlacesReading(FeatureReading):
    """`FeatureReading` for a model with more than one place."""

    def __init__(
        self,
        model: Any,
        before: ModelCache,
        waiting: Sequence[Sequence[int]],
        features: Sequence[torch.Tensor],
    ) -> None:
        super().__init__(model, before, waiting, features)
        self._blocks: list[dict[Context, tuple[torch.Tensor, torch.Tensor]]] = [{} for _ in waiting]

    def read(self, wanted: Sequence[Sequence[Context]]) -> torch.Tensor:
        """See `Reading.read`; one pass for every depth at which blocks start that were not read yet."""
        missing = [self._missing(sequence, contexts) for sequence, contexts in enumerate(wanted)]
        if any(missing):
            super().read(missing)
        most, known = max(map(len, wanted)), next(iter(next(each for each in self._blocks if each).values()))[0]
        logits = known.new_zeros(len(wanted), most, known.shape[-1])
        for sequence, contexts in enumerate(wanted):
            for place, context in enumerate(contexts):
                logits[sequence, place] = self._of(sequence, context)[0]
        return logits

    def passes(self, sequence: int, contexts: Sequence[Context]) -> int:
        return len({len(start) for start in self._missing(sequence, contexts)})

    def _start(self, context: Context) -> Context:
        """Where the block of a context starts."""
        return context[: len(context) - len(context) % self._model.places]

    def _missing(self, sequence: int, contexts: Sequence[Context]) -> list[Context]:
        starts = dict.fromkeys(map(self._start, contexts))
        return [start for start in starts if start not in self._blocks[sequence]]

    def _of(self, sequence: int, context: Context) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and state of the place of a context."""
        logits, states = self._blocks[sequence][self._start(context)]
        place = len(context) % self._model.places
        return logits[place], states[place]

    def _place(self, row: Row, sequence: int, context: Context) -> None:
        """Add the tokens of the path to the start of a block that were not read, and the places of the block."""
        sight = self.sight[sequence]
        for length in range(len(context) + 1):
            if context[:length] not in sight:
                if length:
                    self._expected[sequence][context[: length - 1]] = self._of(sequence, context[: length - 1])[1]
                super()._place(row, sequence, context[:length])
        row.places += [0] * (len(row.tokens) - len(row.places))
        seen, depth = sight[context], row.depths[-1]
        for place in range(1, self._model.places):
            seen = row.add(0, depth + place, seen)
            row.features.append(row.features[-1])
            row.places.append(place)

    def _inputs(self, rows: Sequence[Row], tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"places": table([row.places for row in rows], tokens.shape[1]).to(tokens.device)}

    def _remember(self, sequence: int, context: Context, place: int, output: Any) -> None:
        places = slice(place + 1 - self._model.places, place + 1)
        self._blocks[sequence][context] = (
            output.logits[sequence, places],
            output.hidden_states[0][sequence, places],
        )
