"""The network of appendix E of 2602.16994.

Each hidden state goes through its own linear map to 128 numbers and layer norm; they are joined with the standardised
numbers; then come hidden layers of 512 and 32 with GELU and dropout, and a softmax policy `pi` over the actions. `n`
blocks, `A` actions, `D = H_p + 2 H_q + S` entries of an input.
"""

from typing import Any

import torch
from torch import nn

from draftproof.experiments.models.loop.choosing import BlockStart
from draftproof.experiments.models.selector.features import SCALARS, network_inputs
from draftproof.simulator.instances.sampling import Sampling

#: Width to which a hidden state is projected, and widths of the hidden layers.
PROJECTED, HIDDEN = 128, (512, 32)


class SelectorNetwork(nn.Module):
    """widths: of the hidden states of target and draft. actions: `A`."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, widths: tuple[int, int], actions: int, dropout: float = 0.0) -> None:
        super().__init__()
        target, draft = widths
        self.widths = widths
        self.parts = [target, draft, draft, len(SCALARS)]
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

    def standardise(self, inputs: torch.Tensor) -> None:
        """Scale the numbers to mean 0 and variance 1 over these inputs, shape `(n, D)`; constant ones become 0."""
        numbers = inputs[:, -len(SCALARS) :]
        deviation = numbers.std(0, correction=0)
        constant = deviation <= 1e-6 * numbers.abs().amax(0)
        self.mean.copy_(numbers.mean(0))
        self.scale.copy_(torch.where(constant, torch.inf, deviation))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The logits of `pi`, shape `(n, A)`, for inputs of shape `(n, D)`."""
        *hidden, numbers = torch.split(inputs, self.parts, 1)
        mapped = [linear_and_norm(states) for linear_and_norm, states in zip(self.maps, hidden, strict=True)]
        logits: torch.Tensor = self.layers(torch.cat([*mapped, (numbers - self.mean) / self.scale], 1))
        return logits

    @torch.inference_mode()
    def choices(self, inputs: torch.Tensor) -> Any:
        """The most probable action for each input, shape `(n,)`."""
        self.eval()
        return self(inputs).argmax(1).numpy()

    def chosen(self, start: BlockStart, sampling: Sampling) -> int:
        """The most probable action for what is known before one block."""
        return int(self.choices(network_inputs([start], sampling, self.widths))[0])
