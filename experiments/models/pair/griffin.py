"""A GRIFFIN head as a draft: an EAGLE head with token-guided fusion and two outputs.

Token and feature are joined as in EAGLE; then the joined state, beside the token's embedding once more, goes through
two linear maps with an activation between them, and the result is added to it. One output of the layer goes to the
target's output layer, the other is the feature that the head expects. Trained with the losses of EAGLE over several
steps, without the places whose token was not among the likeliest of the step before
([2502.11018](https://arxiv.org/abs/2502.11018); `unrolled`). Departures: the second output is a linear map of the
first, added to it, where the paper widens the layer; both norms of the fusion are separate.
"""

from __future__ import annotations

from typing import cast

import torch

from draftproof.experiments.models.pair.eagle import EagleConfig, EagleHead


class GriffinConfig(EagleConfig):
    """See `EagleConfig`."""

    model_type = "draftproof_griffin"


class GriffinHead(EagleHead):
    """See the module."""

    config_class = GriffinConfig

    def add_parts(self, config: EagleConfig) -> None:
        super().add_parts(config)
        width = config.hidden_size
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
        self.widened = torch.nn.Linear(2 * width, 2 * width, bias=False)
        self.narrowed = torch.nn.Linear(2 * width, width, bias=False)
        self.second = torch.nn.Linear(width, width, bias=False)

    def entered(self, embedded: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        joined = super().entered(embedded, features)
        both = torch.cat([norm(each) for norm, each in zip(self.norms, (joined, embedded), strict=True)], -1)
        return joined + cast(torch.Tensor, self.narrowed(torch.nn.functional.silu(self.widened(both))))

    def expected(self, states: torch.Tensor) -> torch.Tensor:
        return states + cast(torch.Tensor, self.second(states))
