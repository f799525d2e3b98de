"""A draft that reads features beside tokens: the target's for what the target has read, its own in a tree.

What it read of a tree is forgotten after the block, the root apart: the accepted tokens are read again, with the first
pass of the next block, beside the features that the target has for them by then. So what the draft remembers is a
function of the text alone. `B` is the number of sequences, `H` the width of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from draftproof.experiments.models.loop.caches import Remembered, passed
from draftproof.experiments.models.loop.reading import Reading
from draftproof.simulator.protocol import Context


class FeatureReading(Reading):
    """See `Reading`. features: for each sequence those before each of its waiting tokens, shape `(w, H)`."""

    def __init__(
        self,
        model: Any,
        before: Remembered,
        waiting: Sequence[Sequence[int]],
        features: Sequence[torch.Tensor],
    ) -> None:
        super().__init__(model, before, waiting)
        self._features = features
        self._expected: list[dict[Context, torch.Tensor]] = [{} for _ in waiting]

    def read(self, wanted: Sequence[Sequence[Context]]) -> torch.Tensor:
        """See `Reading.read`; one pass for every depth, as a token needs the feature that comes before it."""
        depths = sorted({len(context) for contexts in wanted for context in contexts})
        if len(depths) == 1:
            return super().read(wanted)
        most = max(map(len, wanted))
        logits: torch.Tensor | None = None
        for depth in depths:
            places = [[at for at, each in enumerate(contexts) if len(each) == depth] for contexts in wanted]
            found = super().read([[contexts[at] for at in some] for contexts, some in zip(wanted, places, strict=True)])
            if logits is None:
                logits = found.new_zeros(len(wanted), most, found.shape[2])
            for sequence, some in enumerate(places):
                logits[sequence, some] = found[sequence, : len(some)]
        assert logits is not None
        return logits

    def kept(self, accepted: Sequence[Context]) -> tuple[Remembered, list[Context]]:
        """See `Reading.kept`: no token of the tree stays."""
        remembered, _ = super().kept([()] * len(accepted))
        unread = [
            context if () in sight else (*waiting, *context)
            for sight, waiting, context in zip(self.sight, self._waiting, accepted, strict=True)
        ]
        return remembered, unread

    def features_after(self, accepted: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Those before the tokens that wait for the next block. accepted: the target's, at the root and below."""
        return tuple(
            new if () in sight else torch.cat([before, new])
            for sight, before, new in zip(self.sight, self._features, accepted, strict=True)
        )

    def _passed(
        self, wanted: Sequence[Sequence[Context]], tokens: torch.Tensor, positions: torch.Tensor, sees: torch.Tensor
    ) -> torch.Tensor:
        features = torch.zeros(*tokens.shape, self._features[0].shape[-1], device=tokens.device)
        features = features.to(self._features[0])
        for sequence, contexts in enumerate(wanted):
            place = 0
            for context in contexts:
                if context:
                    features[sequence, place] = self._expected[sequence][context[:-1]]
                    place += 1
                else:
                    place = len(self._features[sequence])
                    features[sequence, :place] = self._features[sequence]
        output, self.remembered = passed(self._model, self.remembered, tokens, positions, sees, features=features)
        for sequence, contexts in enumerate(wanted):
            place = -1
            for context in contexts:
                place += 1 if context else len(self._features[sequence])
                self._expected[sequence][context] = output.hidden_states[0][sequence, place]
        logits: torch.Tensor = output.logits
        return logits
