"""Keys and values with room behind them: a pass writes its tokens there, instead of copying all that came before.

`B` sequences, `S` slots. Who has a state of a cache sees the slots up to its own `S`; those are not written again while
texts go on. A state from which texts go on a second time finds that the slots behind it are taken, and is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import torch

#: Keys and values of every layer, each of shape `(B, heads, S, width)`.
Layers: TypeAlias = tuple[tuple[torch.Tensor, torch.Tensor], ...]
#: Slots behind those that are needed: so many, or this share of them.
LEAST, SHARE = 64, 1 / 4


@dataclass(eq=False)
class Room:
    """Layers with more slots than are filled.

    filled: slots that are taken. freed: from which slot on they were given up, each time that happened; never less
    than the time before, for those who go on are at the end.
    """

    layers: Layers
    filled: int
    freed: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, layers: Layers, slots: int, more: int) -> Room:
        """The first `slots` slots of these layers, copied, with room for at least `more`."""
        size = slots + more + max(LEAST, int(SHARE * slots))

        def roomy(states: torch.Tensor) -> torch.Tensor:
            wide = states.new_empty(*states.shape[:2], size, states.shape[3])
            wide[:, :, :slots] = states[:, :, :slots]
            return wide

        return cls(tuple((roomy(keys), roomy(values)) for keys, values in layers), slots)

    @property
    def size(self) -> int:
        """How many slots there are."""
        return int(self.layers[0][0].shape[2])

    @property
    def open(self) -> bool:
        """Whether it can be written; what inference mode made cannot outside of it."""
        return torch.is_inference_mode_enabled() or not self.layers[0][0].is_inference()

    def seen(self, slots: int) -> Layers:
        """The first `slots` slots."""
        return tuple((keys[:, :, :slots], values[:, :, :slots]) for keys, values in self.layers)

    def cache(self) -> Any:
        """What a model is given: it writes behind the slots that are taken."""
        from transformers import DynamicCache

        made: Any = DynamicCache()
        made.layers += [_layer()(keys, values, self.filled) for keys, values in self.layers]
        return made

    def free(self, slots: int, filled: int) -> None:
        """Give up what stands from `slots` on, but for what is written there up to `filled`."""
        self.freed.append(slots)
        self.filled = filled


@cache
def _layer() -> Any:
    """The layer of such a cache, as a class of transformers."""
    from transformers.cache_utils import DynamicLayer

    class Appending(DynamicLayer):  # type: ignore[misc]
        """Writes new keys and values behind those that are there."""

        def __init__(self, keys: torch.Tensor, values: torch.Tensor, filled: int) -> None:
            super().__init__()
            self.lazy_initialization(keys, values)
            self.room = keys, values
            self.keys, self.values = keys[:, :, :filled], values[:, :, :filled]

        def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
            filled = self.keys.shape[2]
            after = filled + key_states.shape[2]
            keys, values = self.room
            keys[:, :, filled:after] = key_states
            values[:, :, filled:after] = value_states
            self.keys, self.values = keys[:, :, :after], values[:, :, :after]
            return self.keys, self.values

    return Appending
