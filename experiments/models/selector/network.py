"""The network of appendix E of 2602.16994 and its loss, and the same network as plain arrays for the loop.

Each hidden state goes through its own linear map to 128 numbers and layer norm; they are joined with the standardised
numbers; then come hidden layers of 512 and 32 with GELU and dropout, and a softmax policy `pi` over the actions. `n`
roots, `A` actions.

In the loop `NumpyNetwork` takes a few tens of microseconds for one root, since everything that does not depend on the
root is computed beforehand: the mean that layer norm subtracts is subtracted from the linear maps, and gain and shift
of layer norm and the standardising of numbers are merged into the first layer. It uses few numpy functions, since the
first call of each after a pass of a model is slow.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import torch
from scipy.special import erf
from torch import nn

from draftproof.experiments.models.selector.features import SCALARS, Inputs, SelectorInput, numbers
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
        """Scale the numbers to mean 0 and variance 1 over these roots, shape `(n, S)`; constant ones become 0."""
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
    """A penalty for roots worse than the base action: `weight` (lambda) times the mean square over the worst `share`
    (alpha) of them.
    """

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


_ROOT = np.float32(0.5**0.5)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)


class NumpyNetwork:
    """A copy of a network in numpy arrays; computes `SelectorNetwork.forward` up to rounding."""

    def __init__(self, network: SelectorNetwork) -> None:
        norms, self._maps = [], []
        for each in network.maps:
            linear, norm = each[0], each[1]  # type: ignore[index]
            weight, bias = _exact(linear.weight), _exact(linear.bias)
            self._maps.append((_single(weight - weight.mean(0)), _single(bias - bias.mean())))
            norms.append((_exact(norm.weight), _exact(norm.bias)))
            self._least = float(norm.eps)
        first, *rest = (each for each in network.layers if isinstance(each, nn.Linear))
        weight, bias = _exact(first.weight), _exact(first.bias)
        hidden, plain = np.split(weight, [len(norms) * PROJECTED], 1)
        gains, shifts = (np.concatenate(each) for each in zip(*norms, strict=True))
        mean, scale = _exact(network.mean), _exact(network.scale)
        bias = bias + hidden @ shifts - plain @ (mean / scale)
        self._layers = [(_single(np.hstack([hidden * gains, plain / scale])), _single(bias))]
        self._layers += [(_single(_exact(each.weight)), _single(_exact(each.bias))) for each in rest]
        self._first = np.empty(weight.shape[1], np.float32)

    def logits(self, known_input: SelectorInput, warp: Sampling) -> Any:
        """The logits of `pi` after one root, shape `(A,)`."""
        states, place = (known_input.target_before, known_input.draft_before, known_input.draft_root), 0
        for (weight, bias), state in zip(self._maps, states, strict=True):
            mapped = bias.copy() if state is None else weight.dot(_host(state))
            if state is not None:
                mapped += bias
            scale = np.float32((float(mapped.dot(mapped)) / PROJECTED + self._least) ** -0.5)
            np.multiply(mapped, scale, out=self._first[place : place + PROJECTED])
            place += PROJECTED
        self._first[place:] = numbers(known_input.known, warp)
        found: Any = self._first
        for number, (weight, bias) in enumerate(self._layers):
            found = weight.dot(_gelu(found) if number else found)
            found += bias
        return found


def _gelu(x: Any) -> Any:
    found = erf(x * _ROOT)
    found += _ONE
    found *= x
    found *= _HALF
    return found


def _host(state: torch.Tensor) -> Any:
    if state.dtype is torch.float32 and state.device.type == "cpu":
        return state.numpy()
    return state.float().cpu().numpy()


def _exact(values: torch.Tensor) -> Any:
    return values.detach().cpu().numpy().astype(np.float64)


def _single(values: Any) -> Any:
    return np.ascontiguousarray(values, np.float32)
