"""A selector made ready for the loop: plain arrays, one root at a time, in a few tens of microseconds.

What does not depend on the root is multiplied out beforehand: the mean that layer norm subtracts is taken off the
linear maps, its gain and shift and the standardising of numbers go into the first layer. After a pass of a model every
function of numpy that was not used for a while is slow the first time, so few are used. `A` actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.special import erf
from torch import nn

from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.selector.features import View, numbers
from draftproof.experiments.models.selector.network import PROJECTED, SelectorNetwork

_ROOT = np.float32(0.5**0.5)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)


class Ready:
    """The network as it is now; what it says is `SelectorNetwork.forward` up to rounding."""

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

    def logits(self, view: View, warp: Warp) -> Any:
        """The logits of `pi` after one root, shape `(A,)`."""
        states, place = (view.target_before, view.draft_before, view.draft_root), 0
        for (weight, bias), state in zip(self._maps, states, strict=True):
            mapped = bias.copy() if state is None else weight.dot(_host(state))
            if state is not None:
                mapped += bias
            scale = np.float32((float(mapped.dot(mapped)) / PROJECTED + self._least) ** -0.5)
            np.multiply(mapped, scale, out=self._first[place : place + PROJECTED])
            place += PROJECTED
        self._first[place:] = numbers(view.known, warp)
        found: Any = self._first
        for number, (weight, bias) in enumerate(self._layers):
            found = weight.dot(_gelu(found) if number else found)
            found += bias
        return found


def _gelu(x: Any) -> Any:
    """`x Phi(x)`, in the array itself."""
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
