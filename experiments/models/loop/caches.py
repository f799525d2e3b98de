"""What a model remembers of the sequences that it has read, and one forward pass that adds to it.

`B` sequences share one cache of `S` slots. A sequence need not fill every slot: after a block each has kept another
number of tokens, and slots without a token of its own are hidden from it. What a state holds does not change while
texts go on from it, so that any number of runs can start from the cache of one prompt; they write behind it (`rooms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad

from draftproof.experiments.models.loop.masks import masks
from draftproof.experiments.models.loop.rooms import Layers, Room


@dataclass(frozen=True)
class Remembered:
    """The cache of one model.

    held: shape `(B, S)`, whether a slot holds a token of the sequence. lengths: shape `(B,)`, how many it has.
    room: where the layers stand, if there is more of it; since: how often some of it had been given up before.
    """

    layers: Layers
    held: torch.Tensor
    lengths: torch.Tensor
    room: Room | None = None
    since: int = 0

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

    @property
    def last(self) -> bool:
        """Whether it may write behind its slots: nobody has since. Raises `RuntimeError` where they were given up."""
        if self.room is None:
            return False
        if self.room.freed[self.since : self.since + 1] and self.room.freed[self.since] < self.slots:
            raise RuntimeError("the slots of this cache were given up for another text; go on from the state after it")
        return self.room.filled == self.slots and self.room.open

    def roomy(self, more: int) -> Room:
        """Where `more` slots can be written behind those that are there: its own room, or a copy."""
        if self.last and self.room is not None and self.room.size >= self.slots + more:
            return self.room
        return Room.of(self.layers, self.slots, more)

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
        if self.last and self.room is not None:
            return self._kept_in_room(self.room, slots, None if straight else index, held, counts)
        layers = tuple(
            (_chosen(keys, slots, index, straight), _chosen(values, slots, index, straight))
            for keys, values in self.layers
        )
        return Remembered(layers, held, self.lengths + counts)

    def _kept_in_room(
        self, room: Room, slots: int, index: torch.Tensor | None, held: torch.Tensor, counts: torch.Tensor
    ) -> Remembered:
        """`kept` where nobody else has slots after the first: what stays is moved there; index: None if it is there."""
        filled = int(held.shape[1])
        if index is not None:
            for states in (states for layer in room.layers for states in layer):
                after = states[:, :, slots : self.slots]
                states[:, :, slots:filled] = after.gather(2, _spread(index, after))
        room.free(slots, filled)
        return Remembered(room.seen(filled), held, self.lengths + counts, room, len(room.freed))


def _chosen(states: torch.Tensor, slots: int, index: torch.Tensor, straight: bool) -> torch.Tensor:
    """The first `slots` slots of keys or values and those that `index`, shape `(B, m)`, picks after them."""
    width = index.shape[1]
    if straight:
        return states[:, :, : slots + width]
    return torch.cat([states[:, :, :slots], states[:, :, slots:].gather(2, _spread(index, states))], 2)


def _spread(index: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Places, shape `(B, m)`, for every head and number of `states`."""
    return index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[3])


def read(
    model: Any, before: Remembered, tokens: torch.Tensor, positions: torch.Tensor, sees: torch.Tensor
) -> tuple[torch.Tensor, Remembered]:
    """One forward pass over `n` more tokens of each sequence: their logits, shape `(B, n, V)`, and the longer cache.

    tokens, positions: shape `(B, n)`. sees: booleans, shape `(B, n, S + n)`, the slots that each token may look at;
    each must see itself, and those before it in the order of its text. The new slots count as held by nobody until
    `kept` says which tokens stay.
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
    from transformers import DynamicCache

    room = before.roomy(tokens.shape[1]) if before.layers else None
    cache = DynamicCache() if room is None else room.cache()
    output = model(
        input_ids=tokens,
        attention_mask=masks(model, sees),
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        **more,
    )
    layers = tuple((layer.keys, layer.values) for layer in cache.layers)
    held = torch.cat([before.held, torch.zeros_like(tokens, dtype=torch.bool)], 1)
    if room is None:
        return output, Remembered(layers, held, before.lengths)
    room.filled = before.slots + tokens.shape[1]
    return output, Remembered(layers, held, before.lengths, room, len(room.freed))


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
