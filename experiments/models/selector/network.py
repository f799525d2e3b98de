"""The network of appendix E of 2602.16994, and its loss.

Each hidden state through its own linear map to 128 numbers and layer norm, beside the standardised numbers; hidden
layers of 512 and 32, GELU, dropout; a softmax policy `pi` over the actions. `n` roots, `A` actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import torch
from torch import nn

from draftproof.experiments.models.selector.features import SCALARS, Inputs

#: Numbers that a hidden state becomes, and the hidden layers.
PROJECTED, HIDDEN = 128, (512, 32)


class SelectorNetwork(nn.Module):
    """widths: of the target's and the draft's hidden states. actions: `A`."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, widths: tuple[int, int], actions: int, dropout: float = 0.0) -> None:
        super().__init__()
        target, draft = widths
        self.maps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, PROJECTED), nn.LayerNorm(PROJECTED)) for width in (target, draft, draft)
        )
        first, second = HIDDEN
        self.layers = nn.Sequential(
            *(nn.Linear(3 * PROJECTED + len(SCALARS), first), nn.GELU(), nn.Dropout(dropout)),
            *(nn.Linear(first, second), nn.GELU(), nn.Dropout(dropout)),
            nn.Linear(second, actions),
        )
        self.register_buffer("mean", torch.zeros(len(SCALARS)))
        self.register_buffer("scale", torch.ones(len(SCALARS)))

    def standardise(self, numbers: torch.Tensor) -> None:
        """Numbers of mean 0 and variance 1 over these roots, shape `(n, S)`; one that never changes counts as 0."""
        deviation = numbers.std(0, correction=0)
        constant = deviation <= 1e-6 * numbers.abs().amax(0)
        self.mean.copy_(numbers.mean(0))
        self.scale.copy_(torch.where(constant, torch.inf, deviation))

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """The logits of `pi`, shape `(n, A)`."""
        hidden = (inputs.target_before, inputs.draft_before, inputs.draft_root)
        mapped = [apply(states) for apply, states in zip(self.maps, hidden, strict=True)]
        found: torch.Tensor = self.layers(torch.cat([*mapped, (inputs.scalars - self.mean) / self.scale], 1))
        return found


@dataclass(frozen=True)
class Penalty:
    """For what falls short of the base: `weight` (lambda) of the mean square over the worst `share` (alpha)."""

    weight: float
    share: float


def loss(
    logits: torch.Tensor, tokens: torch.Tensor, times: torch.Tensor, base: torch.Tensor, penalty: Penalty
) -> torch.Tensor:
    """`mean(-log(TPS_pi / TPS_base))` and the penalty; `TPS_pi = sum pi E / sum pi T` at each root.

    tokens: `E`, shape `(n, A)`. times: `T`, shape `(A,)`. base: the position of the base action, shape `(n,)`.
    """
    policy = logits.softmax(1)
    rates = (policy * tokens).sum(1) / (policy * times).sum(1)
    ratio = rates / (tokens.gather(1, base[:, None])[:, 0] / times[base])
    found = -ratio.log().mean()
    if penalty.weight:
        short = (1 - ratio).clamp(min=0) ** 2
        found = found + penalty.weight * short.topk(ceil(penalty.share * len(short))).values.mean()
    return found
