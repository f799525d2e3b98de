"""The key-value cache of a model for several sequences, and one forward pass that extends it.

`B` sequences share one cache of `S` slots. A sequence need not fill every slot: after a block each has kept another
number of tokens, and slots without a token of its own are masked for it. Continuing a cache does not change it: any
number of continuations can start from the cache of one prompt. The first one writes behind its slots, where there is
room, and copies nothing; a later one finds those slots in use, and copies the cache first.

A window of `w` tokens, as transformers has it, is the token itself and the `w - 1` tokens before it in its sequence.
The tokens of a sequence are stored in order, and a token attends to its own sequence alone: so the window is the last
`w` slots visible to it, wherever they are. Caches keep all tokens, also those that are older than every window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from draftproof.experiments.models.pair.hidden import additive

#: Results of `windows_of`, which every pass asks for.
_WINDOWS: WeakKeyDictionary[Any, dict[str, int | None]] = WeakKeyDictionary()


def windows_of(model: Any) -> dict[str, int | None]:
    """By the kind of layer how many tokens it attends to, None where that is all of them."""
    if model not in _WINDOWS:
        layers: Sequence[Any] = DynamicCache(config=model.config).layers
        windows = [getattr(layer, "sliding_window", None) for layer in layers]
        names = getattr(model.config.get_text_config(decoder=True), "layer_types", None)
        if names is None:
            names = ["full_attention" if window is None else "sliding_attention" for window in windows]
        _WINDOWS[model] = dict(zip(names, windows, strict=False)) or {"full_attention": None}
    return _WINDOWS[model]


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
#: Slots that a copy has room for: at least so many, and at least this share of those in use.
LEAST_ROOM, ROOM = 64, 1 / 4


@dataclass
class Space:
    """Layers with room behind the slots that are in use. used: how many are."""

    layers: Layers
    used: int

    def first(self, slots: int) -> Layers:
        return tuple((keys[:, :, :slots], values[:, :, :slots]) for keys, values in self.layers)


class WritingLayer(DynamicLayer):  # type: ignore[misc]
    """Writes new keys and values behind the first `used` slots of those of a space."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, used: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.space = keys, values
        self.keys, self.values = keys[:, :, :used], values[:, :, :used]

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        before, after = self.keys.shape[2], self.keys.shape[2] + key_states.shape[2]
        keys, values = self.space
        keys[:, :, before:after], values[:, :, before:after] = key_states, value_states
        self.keys, self.values = keys[:, :, :after], values[:, :, :after]
        return self.keys, self.values


@dataclass(frozen=True)
class ModelCache:
    """The key-value cache of one model.

    held: shape `(B, S)`, whether a slot holds a token of the sequence. lengths: shape `(B,)`, how many it has.
    space: what the layers are the first slots of, where something may be written behind them.
    """

    layers: Layers
    held: torch.Tensor
    lengths: torch.Tensor
    space: Space | None = None

    @classmethod
    def empty(cls, device: torch.device | str) -> ModelCache:
        return cls(
            (), torch.zeros(1, 0, dtype=torch.bool, device=device), torch.zeros(1, dtype=torch.long, device=device)
        )

    @property
    def slots(self) -> int:
        """`S`."""
        return int(self.held.shape[1])

    def with_room(self, more: int) -> Space:
        """Where `more` slots can be written behind its own: its space, or a copy where those are in use or missing."""
        space = self.space
        if space is not None and space.used == self.slots and space.layers[0][0].shape[2] >= self.slots + more:
            return space
        size = self.slots + more + max(LEAST_ROOM, int(ROOM * self.slots))

        def larger(states: torch.Tensor) -> torch.Tensor:
            copy = states.new_empty(*states.shape[:2], size, states.shape[3])
            copy[:, :, : self.slots] = states
            return copy

        return Space(tuple((larger(keys), larger(values)) for keys, values in self.layers), self.slots)

    def repeated(self, copies: int) -> ModelCache:
        """The same sequence `copies` times; nothing is copied before the next pass."""
        layers = tuple(
            (keys.expand(copies, -1, -1, -1), values.expand(copies, -1, -1, -1)) for keys, values in self.layers
        )
        return ModelCache(layers, self.held.expand(copies, -1), self.lengths.expand(copies))

    @classmethod
    def joined(cls, parts: Sequence[ModelCache]) -> ModelCache:
        """Sequences side by side, in one cache; the shorter ones have empty slots after their own."""
        if len(parts) == 1:
            return parts[0]
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

    def trimmed(self, slots: int, places: Sequence[Sequence[int]]) -> ModelCache:
        """The first `slots` slots, and of those after them only `places`, in that order.

        places: for each sequence the offsets, from `slots` on, of the tokens that stay. A sequence with fewer of them
        than another has empty slots after them.
        """
        width = max(map(len, places))
        device = self.held.device
        index = torch.tensor([[*some, *[0] * (width - len(some))] for some in places], dtype=torch.long, device=device)
        counts = torch.tensor([len(some) for some in places], device=device)
        held = torch.cat([self.held[:, :slots], torch.arange(width, device=device) < counts[:, None]], 1)
        space = self.with_room(0)
        if any(list(some) != list(range(width)) for some in places):  # tokens that stay are moved
            for states in (states for layer in space.layers for states in layer):
                expanded = index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3])
                states[:, :, slots : slots + width] = states[:, :, slots : self.slots].gather(2, expanded)
        space.used = slots + width
        return ModelCache(space.first(space.used), held, self.lengths + counts, space if self.layers else None)


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
    attend to: itself and tokens before it in its sequence. The new slots count as held by no sequence until
    `trimmed` says which tokens stay. inputs: further arguments of the model.
    """
    cache: Any = DynamicCache()
    space = before.with_room(tokens.shape[1])
    cache.layers += [WritingLayer(*layer, before.slots) for layer in space.layers]
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
    space.used = before.slots + tokens.shape[1]
    return output, ModelCache(layers, held, before.lengths, space if before.layers else None)


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
    return output, after.trimmed(0, [range(count)])
