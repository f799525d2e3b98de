"""What a model remembers of the sequences that it has read, and one forward pass that adds to it.

`B` sequences share one cache of `S` slots. A sequence need not fill every slot: after a block each has kept another
number of tokens, and slots without a token of its own are hidden from it. Keys and values are never changed in place,
so that any number of runs can start from the cache of one prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import pad

#: Keys and values of every layer, each of shape `(B, heads, S, width)`.
Layers = tuple[tuple[torch.Tensor, torch.Tensor], ...]


@dataclass(frozen=True)
class Remembered:
    """The cache of one model.

    held: shape `(B, S)`, whether a slot holds a token of the sequence. lengths: shape `(B,)`, how many it has.
    """

    layers: Layers
    held: torch.Tensor
    lengths: torch.Tensor

    @classmethod
    def nothing(cls, device: torch.device | str) -> Remembered:
        """Of one sequence that has not begun."""
        return cls(
            (), torch.zeros(1, 0, dtype=torch.bool, device=device), torch.zeros(1, dtype=torch.long, device=device)
        )

    @property
    def slots(self) -> int:
        """`S`."""
        return int(self.held.shape[1])

    def repeated(self, copies: int) -> Remembered:
        """The same sequence `copies` times; nothing is copied before the next pass."""
        layers = tuple(
            (keys.expand(copies, -1, -1, -1), values.expand(copies, -1, -1, -1)) for keys, values in self.layers
        )
        return Remembered(layers, self.held.expand(copies, -1), self.lengths.expand(copies))

    @classmethod
    def joined(cls, parts: Sequence[Remembered]) -> Remembered:
        """Sequences side by side, in one cache; the shorter ones have empty slots behind their own."""
        slots = max(part.slots for part in parts)
        full = next((part.layers for part in parts if part.layers), ())

        def filled(part: Remembered, layer: int, which: int) -> torch.Tensor:
            like = full[layer][which]
            shape = (len(part.held), like.shape[1], 0, like.shape[3])
            states = part.layers[layer][which] if part.layers else like.new_zeros(shape)
            return pad(states, (0, 0, 0, slots - states.shape[2]))

        layers = tuple(
            (
                torch.cat([filled(part, layer, 0) for part in parts]),
                torch.cat([filled(part, layer, 1) for part in parts]),
            )
            for layer in range(len(full))
        )
        held = torch.cat([pad(part.held, (0, slots - part.slots)) for part in parts])
        return cls(layers, held, torch.cat([part.lengths for part in parts]))

    def only(self, places: Sequence[int]) -> Remembered:
        """The sequences at these places, in this order, without the slots that none of them holds."""
        rows = torch.tensor(list(places), dtype=torch.long, device=self.held.device)
        slots = self.held[rows].any(0).nonzero()[:, 0]
        layers = tuple((keys[rows][:, :, slots], values[rows][:, :, slots]) for keys, values in self.layers)
        return Remembered(layers, self.held[rows][:, slots], self.lengths[rows])

    def kept(self, slots: int, places: Sequence[Sequence[int]]) -> Remembered:
        """The first `slots` slots, and of those after them only `places`, in that order.

        places: for each sequence the offsets, from `slots` on, of the tokens that stay. A sequence with fewer of them
        than another has empty slots behind them.
        """
        width = max(map(len, places))
        device = self.held.device
        index = torch.tensor([[*each, *[0] * (width - len(each))] for each in places], dtype=torch.long, device=device)
        counts = torch.tensor([len(each) for each in places], device=device)
        held = torch.cat([self.held[:, :slots], torch.arange(width, device=device) < counts[:, None]], 1)
        straight = all(list(each) == list(range(width)) for each in places)
        layers = tuple(
            (_chosen(keys, slots, index, straight), _chosen(values, slots, index, straight))
            for keys, values in self.layers
        )
        return Remembered(layers, held, self.lengths + counts)


def _chosen(states: torch.Tensor, slots: int, index: torch.Tensor, straight: bool) -> torch.Tensor:
    """The first `slots` slots of keys or values and those that `index`, shape `(B, m)`, picks after them."""
    width = index.shape[1]
    if straight:
        return states[:, :, : slots + width]
    places = index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3])
    return torch.cat([states[:, :, :slots], states[:, :, slots:].gather(2, places)], 2)


def read(
    model: Any, before: Remembered, tokens: torch.Tensor, positions: torch.Tensor, sees: torch.Tensor
) -> tuple[torch.Tensor, Remembered]:
    """One forward pass over `n` more tokens of each sequence: their logits, shape `(B, n, V)`, and the longer cache.

    tokens, positions: shape `(B, n)`. sees: booleans, shape `(B, n, S + n)`, the slots that each token may look at;
    each must see itself. The new slots count as held by nobody until `kept` says which tokens stay.
    """
    output, after = passed(model, before, tokens, positions, sees)
    return output.logits, after


def passed(
    model: Any,
    before: Remembered,
    tokens: torch.Tensor,
    positions: torch.Tensor,
    sees: torch.Tensor,
    **more: torch.Tensor,
) -> tuple[Any, Remembered]:
    """As `read`, with all that the model puts out. more: what else it is given."""
    cache = _cache_of(before.layers)
    output = model(
        input_ids=tokens,
        attention_mask=additive(sees, model.dtype),
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        **more,
    )
    layers = tuple((layer.keys, layer.values) for layer in cache.layers)
    new = torch.zeros_like(tokens, dtype=torch.bool)
    return output, replace(before, layers=layers, held=torch.cat([before.held, new], 1))


def additive(sees: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The mask that models add to their attention scores, shape `(B, 1, n, S + n)`: 0 where a token may look."""
    mask = torch.zeros(sees.shape, dtype=dtype, device=sees.device)
    return mask.masked_fill_(~sees, torch.finfo(dtype).min)[:, None]


def prompt_read(model: Any, tokens: Sequence[int], device: torch.device | str, **more: torch.Tensor) -> Remembered:
    """The cache that holds these tokens, of one sequence, all read in one pass. more: what else the model is given."""
    nothing = Remembered.nothing(device)
    if not len(tokens):
        return nothing
    ids = torch.tensor([list(tokens)], dtype=torch.long, device=device)
    count = ids.shape[1]
    causal = torch.ones(1, count, count, dtype=torch.bool, device=device).tril()
    _, after = passed(model, nothing, ids, torch.arange(count, device=device)[None], causal, **more)
    return after.kept(0, [range(count)])


def _cache_of(layers: Layers) -> Any:
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    cache: Any = DynamicCache()
    for keys, values in layers:
        layer: Any = DynamicLayer()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache
