"""The key-value cache of a model for several sequences, and one forward pass that extends it.

`B` sequences share one cache of `S` slots. A sequence need not fill every slot: after a block each has kept another
number of tokens, and slots without a token of its own are masked for it. Continuing a cache does not change it: any
number of continuations can start from the cache of one prompt.

A window of `w` tokens, as transformers has it, is the token itself and the `w - 1` tokens before it in its sequence.
The tokens of a sequence are stored in order, and a token attends to its own sequence alone: so the window is the last
`w` slots visible to it, wherever they are. Caches keep all tokens, also those that are older than every window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.nn.functional import pad

from draftproof.experiments.models.pair.hidden import additive


def windows_of(model: Any) -> dict[str, int | None]:
    """By the kind of layer how many tokens it attends to, None where that is all of them."""
    from transformers import DynamicCache

    layers: Sequence[Any] = DynamicCache(config=model.config).layers
    windows = [getattr(layer, "sliding_window", None) for layer in layers]
    names = getattr(model.config.get_text_config(decoder=True), "layer_types", None)
    if names is None:
        names = ["full_attention" if window is None else "sliding_attention" for window in windows]
    return dict(zip(names, windows, strict=False)) or {"full_attention": None}


def masks(model: Any, visible: torch.Tensor) -> Any:
    """What models take as mask: a tensor, or where layers differ one for each kind of them.

    visible: booleans, shape `(B, n, S)`, the slots that each token may attend to, in the order of its sequence.
    """
    kinds = windows_of(model)
    made = {window: additive(within(visible, window), model.dtype) for window in set(kinds.values())}
    return made.popitem()[1] if len(made) == 1 else {kind: made[window] for kind, window in kinds.items()}


def within(visible: torch.Tensor, window: int | None) -> torch.Tensor:
    """The last `window` of the slots visible to each token."""
    if window is None or visible.shape[-1] <= window:
        return visible
    counted = visible.cumsum(-1)
    return visible & (counted[..., -1:] - counted < window)


#: Keys and values of every layer, each of shape `(B, heads, S, width)`.
Layers: TypeAlias = tuple[tuple[torch.Tensor, torch.Tensor], ...]


@dataclass(frozen=True)
class ModelCache:
    """The key-value cache of one model.

    held: shape `(B, S)`, whether a slot holds a token of the sequence. lengths: shape `(B,)`, how many it has.
    """

    layers: Layers
    held: torch.Tensor
    lengths: torch.Tensor

    @classmethod
    def empty(cls, device: torch.device | str) -> ModelCache:
        return cls(
            (), torch.zeros(1, 0, dtype=torch.bool, device=device), torch.zeros(1, dtype=torch.long, device=device)
        )

    @property
    def slots(self) -> int:
        """`S`."""
        return int(self.held.shape[1])

    def as_cache(self) -> Any:
        """As a cache of transformers, for one pass."""
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer

        cache: Any = DynamicCache()
        for keys, values in self.layers:
            layer: Any = DynamicLayer()
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values
            cache.layers.append(layer)
        return cache

    def repeated(self, copies: int) -> ModelCache:
        """The same sequence `copies` times; nothing is copied before the next pass."""
        layers = tuple(
            (keys.expand(copies, -1, -1, -1), values.expand(copies, -1, -1, -1)) for keys, values in self.layers
        )
        return ModelCache(layers, self.held.expand(copies, -1), self.lengths.expand(copies))

    @classmethod
    def joined(cls, parts: Sequence[ModelCache]) -> ModelCache:
        """Sequences side by side, in one cache; the shorter ones have empty slots after their own."""
        slots = max(part.slots for part in parts)
        full = next((part.layers for part in parts if part.layers), ())

        def filled(part: ModelCache, layer: int, which: int) -> torch.Tensor:
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

    def only(self, places: Sequence[int]) -> ModelCache:
        """The sequences at these places, in this order, without the slots that none of them holds."""
        rows = torch.tensor(list(places), dtype=torch.long, device=self.held.device)
        slots = self.held[rows].any(0).nonzero()[:, 0]
        layers = tuple((keys[rows][:, :, slots], values[rows][:, :, slots]) for keys, values in self.layers)
        return ModelCache(layers, self.held[rows][:, slots], self.lengths[rows])

    def kept(self, slots: int, places: Sequence[Sequence[int]]) -> ModelCache:
        """The first `slots` slots, and of those after them only `places`, in that order.

        places: for each sequence the offsets, from `slots` on, of the tokens that stay. A sequence with fewer of them
        than another has empty slots after them.
        """
        width = max(map(len, places))
        device = self.held.device
        index = torch.tensor([[*some, *[0] * (width - len(some))] for some in places], dtype=torch.long, device=device)
        counts = torch.tensor([len(some) for some in places], device=device)
        held = torch.cat([self.held[:, :slots], torch.arange(width, device=device) < counts[:, None]], 1)
        if all(list(some) == list(range(width)) for some in places):
            layers = tuple((keys[:, :, : slots + width], values[:, :, : slots + width]) for keys, values in self.layers)
        else:
            layers = tuple((_chosen(keys, slots, index), _chosen(values, slots, index)) for keys, values in self.layers)
        return ModelCache(layers, held, self.lengths + counts)


def _chosen(states: torch.Tensor, slots: int, index: torch.Tensor) -> torch.Tensor:
    """The first `slots` slots of keys or values and those that `index`, shape `(B, m)`, picks after them."""
    expanded = index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3])
    return torch.cat([states[:, :, :slots], states[:, :, slots:].gather(2, expanded)], 2)


def forward(
    model: Any,
    before: ModelCache,
    tokens: torch.Tensor,
    positions: torch.Tensor,
    visible: torch.Tensor,
    **inputs: torch.Tensor,
) -> tuple[Any, ModelCache]:
    """One forward pass over `n` more tokens of each sequence: the output of the model, and the longer cache.

    tokens, positions: shape `(B, n)`. visible: booleans, shape `(B, n, S + n)`, the slots that each token may
    attend to: itself and tokens before it in its sequence. The new slots count as held by no sequence until `kept` says
    which tokens stay. inputs: further arguments of the model.
    """
    cache = before.as_cache()
    output = model(
        input_ids=tokens,
        attention_mask=masks(model, visible),
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        **inputs,
    )
    layers = tuple((layer.keys, layer.values) for layer in cache.layers)
    held = torch.cat([before.held, torch.zeros_like(tokens, dtype=torch.bool)], 1)
    return output, ModelCache(layers, held, before.lengths)


def prompt_pass(
    model: Any, tokens: Sequence[int], device: torch.device | str, **inputs: torch.Tensor
) -> tuple[Any, ModelCache]:
    """One forward pass over a sequence of tokens that are all kept; None and an empty cache where there are none.

    inputs: further arguments of the model.
    """
    empty = ModelCache.empty(device)
    if not len(tokens):
        return None, empty
    ids = torch.tensor([list(tokens)], dtype=torch.long, device=device)
    count = ids.shape[1]
    causal = torch.ones(1, count, count, dtype=torch.bool, device=device).tril()
    output, after = forward(model, empty, ids, torch.arange(count, device=device)[None], causal, **inputs)
    return output, after.kept(0, [range(count)])
