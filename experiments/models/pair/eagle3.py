"""An EAGLE-3 head as a draft: an EAGLE head that reads three layers of the target and has an output layer of its own.

A feature is a linear map of what the first, the middle and the last layer of the target put out, joined. Nothing asks
the head to predict such features: in a tree it reads its own output, whatever that is, and it is trained by rows alone,
on its own outputs over several steps ([2503.01840](https://arxiv.org/abs/2503.01840); `unrolled`). Departures: which
layers; token and feature are joined by a linear map before the layer rather than in its attention; the output layer has
all tokens, where the paper keeps the frequent ones; it starts as a copy of the target's.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Self, cast

import torch

from draftproof.experiments.models.pair.eagle import EagleConfig, EagleHead
from draftproof.experiments.models.pair.hidden import layers_of


class Eagle3Config(EagleConfig):
    """See `EagleConfig`."""

    model_type = "draftproof_eagle3"


class Eagle3Head(EagleHead):
    """See the module."""

    config_class = Eagle3Config

    def add_parts(self, config: EagleConfig) -> None:
        super().add_parts(config)
        self.fused = torch.nn.Linear(3 * config.hidden_size, config.hidden_size, bias=False)
        self.output = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def begun(self) -> Self:
        """The head, untrained, with the weights of the target's output layer."""
        with torch.no_grad():
            self.output.weight.copy_(self.target.get_output_embeddings().weight)
        return self

    def watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        return layers_of(self.target)

    def taken(self, seen: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.fused(seen))

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.output(states))

    def get_output_embeddings(self) -> Any:
        return self.output
