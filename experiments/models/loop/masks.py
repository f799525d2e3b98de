"""What each layer of a model may look at: all that a token sees, or the last tokens of it in layers with a window.

A window of `w` tokens, as transformers has it, is the token itself and the `w - 1` tokens before it in its text. In our
caches a text stands in the order of its tokens, and a token sees its own text alone: so the window is the last `w`
slots that it sees, wherever they are. Caches keep all tokens, those behind every window too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch

#: The windows of models that were asked for.
_WINDOWS: WeakKeyDictionary[Any, dict[str, int | None]] = WeakKeyDictionary()


def windows_of(model: Any) -> dict[str, int | None]:
    """By the kind of layer how many tokens it looks at, None where that is all of them."""
    if model not in _WINDOWS:
        _WINDOWS[model] = _windows(model.config) if hasattr(model, "config") else {"full_attention": None}
    return _WINDOWS[model]


def _windows(config: Any) -> dict[str, int | None]:
    from transformers import DynamicCache

    layers: Sequence[Any] = DynamicCache(config=config).layers
    found = [getattr(layer, "sliding_window", None) for layer in layers]
    names = getattr(config.get_text_config(decoder=True), "layer_types", None)
    if names is None:
        names = ["full_attention" if window is None else "sliding_attention" for window in found]
    return dict(zip(names, found, strict=False)) or {"full_attention": None}


def masks(model: Any, sees: torch.Tensor) -> Any:
    """What models take as mask: a tensor, or where layers differ one for each kind of them.

    sees: booleans, shape `(B, n, S)`, the slots that each token may look at, in the order of its text.
    """
    kinds = windows_of(model)
    made = {window: additive(within(sees, window), model.dtype) for window in set(kinds.values())}
    return made.popitem()[1] if len(made) == 1 else {kind: made[window] for kind, window in kinds.items()}


def within(sees: torch.Tensor, window: int | None) -> torch.Tensor:
    """The last `window` of the slots that each token sees."""
    if window is None or sees.shape[-1] <= window:
        return sees
    counted = sees.cumsum(-1)
    return sees & (counted[..., -1:] - counted < window)


def additive(sees: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The mask that models add to their attention scores, shape `(B, 1, n, S)`: 0 where a token may look."""
    mask = torch.zeros(sees.shape, dtype=dtype, device=sees.device)
    return mask.masked_fill_(~sees, torch.finfo(dtype).min)[:, None]
