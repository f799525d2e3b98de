"""The key-value cache of a model for several sequences, and one forward pass that extends it.

`B` sequences share one cache of `S` slots. A sequence need not fill every slot: after a block each has kept another
number of tokens, and slots without a token of its own are masked for it. Continuing a cache does not change it: any
number of continuations can start from the cache of one prompt.

Caches are preallocated: a pass writes its tokens into spare slots after those in use, and copies nothing. The `S` slots
of a cache are not overwritten by its first continuation. At a second continuation the slots after them are in use, so
the cache is copied.

A window of `w` tokens, as transformers has it, is the token itself and the `w - 1` tokens before it in its sequence.
The tokens of a sequence are stored in order, and a token attends to its own sequence alone: so the window is the last
`w` slots visible to it, wherever they are. Caches keep all tokens, also those that are older than every window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from torch.nn.functional import pad

from draftproof.experiments.models.pair.hidden import additive

#: Results of `windows_of`.
_WINDOWS: WeakKeyDictionary[Any, dict[str, int | None]] = WeakKeyDictionary()


def windows_of(model: Any) -> dict[str, int | None]:
    """By the kind of layer how many tokens it attends to, None where that is all of them."""
    if model not in _WINDOWS:
        _WINDOWS[model] = _windows(model.config) if hasattr(model, "config") else {"full_attention": None}
    return _WINDOWS[model]


def _windows(config: Any) -> dict[str, int | None]:
    from transformers import DynamicCache

    layers: Sequence[Any] = DynamicCache(config=config).layers
    windows = [getattr(layer, "sliding_window", None) for layer in layers]
    names = getattr(config.get_text_config(decoder=True), "layer_types", None)
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
#: Spare slots of a new allocation: at least so many, and at least this share of the slots in use.
LEAST_SPARE, SPARE_SHARE = 64, 1 / 4


@dataclass(eq=False)
class Preallocated:
    """Layers with more slots than are filled.

    filled: the number of slots in use. freed: the first slot of every range that was given up, in order; it only
    grows.
    """

    layers: Layers
    filled: int
    freed: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, layers: Layers, slots: int, extra: int) -> Preallocated:
        """The first `slots` slots of these layers, copied, with space for at least `extra` more."""
        size = slots + extra + max(LEAST_SPARE, int(SPARE_SHARE * slots))

        def with_space(states: torch.Tensor) -> torch.Tensor:
            larger = states.new_empty(*states.shape[:2], size, states.shape[3])
            larger[:, :, :slots] = states[:, :, :slots]
            return larger

        return cls(tuple((with_space(keys), with_space(values)) for keys, values in layers), slots)

    @property
    def size(self) -> int:
        return int(self.layers[0][0].shape[2])

    @property
    def writable(self) -> bool:
        """Whether it can be written here: tensors made in inference mode cannot be outside of it."""
        return torch.is_inference_mode_enabled() or not self.layers[0][0].is_inference()

    def first(self, slots: int) -> Layers:
        return tuple((keys[:, :, :slots], values[:, :, :slots]) for keys, values in self.layers)

    def cache(self) -> Any:
        """A cache of transformers that writes after the slots in use."""
        from transformers import DynamicCache

        made: Any = DynamicCache()
        made.layers += [_layer()(keys, values, self.filled) for keys, values in self.layers]
        return made

    def free(self, slots: int, filled: int) -> None:
        """Give up the slots from `slots` on, which are reused up to `filled`."""
        self.freed.append(slots)
        self.filled = filled


@cache
def _layer() -> Any:
    from transformers.cache_utils import DynamicLayer

    class Appending(DynamicLayer):  # type: ignore[misc]
        """Writes new keys and values after those in use."""

        def __init__(self, keys: torch.Tensor, values: torch.Tensor, filled: int) -> None:
            super().__init__()
            self.lazy_initialization(keys, values)
            self.space = keys, values
            self.keys, self.values = keys[:, :, :filled], values[:, :, :filled]

        def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
            filled = self.keys.shape[2]
            after = filled + key_states.shape[2]
            keys, values = self.space
            keys[:, :, filled:after] = key_states
            values[:, :, filled:after] = value_states
            self.keys, self.values = keys[:, :, :after], values[:, :, :after]
            return self.keys, self.values

    return Appending


@dataclass(frozen=True)
class ModelCache:
    """The key-value cache of one model.

    held: shape `(B, S)`, whether a slot holds a token of the sequence. lengths: shape `(B,)`, how many it has.
    space: the allocation that the layers are part of, if any; freed_before: the length of its `freed` at that time.
    """

    layers: Layers
    held: torch.Tensor
    lengths: torch.Tensor
    space: Preallocated | None = None
    freed_before: int = 0

    @classmethod
    def empty(cls, device: torch.device | str) -> ModelCache:
        return cls(
            (), torch.zeros(1, 0, dtype=torch.bool, device=device), torch.zeros(1, dtype=torch.long, device=device)
        )

    @property
    def slots(self) -> int:
        """`S`."""
        return int(self.held.shape[1])

    @property
    def extensible(self) -> bool:
        """Whether the slots after its own can be written; raises `RuntimeError` where its own were given up."""
        if self.space is None:
            return False
        if len(self.space.freed) > self.freed_before and self.space.freed[self.freed_before] < self.slots:
            raise RuntimeError("the slots of this cache were given up for another continuation; use the one after it")
        return self.space.filled == self.slots and self.space.writable

    def with_space(self, extra: int) -> Preallocated:
        """An allocation where `extra` slots can be written after its own: the present one, or a copy."""
        if self.extensible and self.space is not None and self.space.size >= self.slots + extra:
            return self.space
        return Preallocated.of(self.layers, self.slots, extra)

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
        contiguous = all(list(some) == list(range(width)) for some in places)
        if self.extensible and self.space is not None:
            return self._kept_in_place(self.space, slots, None if contiguous else index, held, counts)
        layers = tuple(
            (_chosen(keys, slots, index, contiguous), _chosen(values, slots, index, contiguous))
            for keys, values in self.layers
        )
        return ModelCache(layers, held, self.lengths + counts)

    def _kept_in_place(
        self, space: Preallocated, slots: int, index: torch.Tensor | None, held: torch.Tensor, counts: torch.Tensor
    ) -> ModelCache:
        """`kept` in its own allocation: tokens that stay are moved; index: None where they need not be."""
        filled = int(held.shape[1])
        if index is not None:
            for states in (states for layer in space.layers for states in layer):
                after = states[:, :, slots : self.slots]
                states[:, :, slots:filled] = after.gather(2, _expanded(index, after))
        space.free(slots, filled)
        return ModelCache(space.first(filled), held, self.lengths + counts, space, len(space.freed))


def _chosen(states: torch.Tensor, slots: int, index: torch.Tensor, contiguous: bool) -> torch.Tensor:
    """The first `slots` slots of keys or values and those that `index`, shape `(B, m)`, picks after them."""
    width = index.shape[1]
    if contiguous:
        return states[:, :, : slots + width]
    return torch.cat([states[:, :, :slots], states[:, :, slots:].gather(2, _expanded(index, states))], 2)


def _expanded(index: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Slot indices, shape `(B, m)`, repeated for every head and feature of `states`."""
    return index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3])


def forward(
    model: Any, before: ModelCache, tokens: torch.Tensor, positions: torch.Tensor, visible: torch.Tensor
) -> tuple[torch.Tensor, ModelCache]:
    """One forward pass over `n` more tokens of each sequence: their logits, shape `(B, n, V)`, and the longer cache.

    tokens, positions: shape `(B, n)`. visible: booleans, shape `(B, n, S + n)`, the slots that each token may
    attend to: itself and tokens before it in its sequence. The new slots count as held by no sequence until `kept` says
    which tokens stay.
    """
    output, after = forward_output(model, before, tokens, positions, visible)
    return output.logits, after


def forward_output(
    model: Any,
    before: ModelCache,
    tokens: torch.Tensor,
    positions: torch.Tensor,
    visible: torch.Tensor,
    **inputs: torch.Tensor,
) -> tuple[Any, ModelCache]:
    """As `forward`, with the whole output of the model. inputs: further arguments of the model."""
    from transformers import DynamicCache

    space = before.with_space(tokens.shape[1]) if before.layers else None
    cache = DynamicCache() if space is None else space.cache()
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
    if space is None:
        return output, ModelCache(layers, held, before.lengths)
    space.filled = before.slots + tokens.shape[1]
    return output, ModelCache(layers, held, before.lengths, space, len(space.freed))


def prompt_cache(model: Any, tokens: Sequence[int], device: torch.device | str, **inputs: torch.Tensor) -> ModelCache:
    """The cache of one sequence of tokens, read in one pass. inputs: further arguments of the model."""
    empty = ModelCache.empty(device)
    if not len(tokens):
        return empty
    ids = torch.tensor([list(tokens)], dtype=torch.long, device=device)
    count = ids.shape[1]
    causal = torch.ones(1, count, count, dtype=torch.bool, device=device).tril()
    _, after = forward_output(model, empty, ids, torch.arange(count, device=device)[None], causal, **inputs)
    return after.kept(0, [range(count)])
