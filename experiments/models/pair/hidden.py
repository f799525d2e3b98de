"""What passes of a model see and compute: masks and recorded hidden states.

The features of a model are the hidden states that its output layer reads, one at every token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from draftproof.simulator.errors import InvalidInput

if TYPE_CHECKING:
    import torch


@contextmanager
def features_of(model: Any) -> Iterator[list[torch.Tensor]]:
    """The features of all passes that the model makes in the body, each of shape `(B, n, H)`.

    Raises `InvalidInput` for a model without an output layer.
    """
    head = model.get_output_embeddings()
    features: list[torch.Tensor] = []
    if head is None:
        raise InvalidInput(f"{type(model).__name__} has no output layer whose input could be looked at")
    hook = head.register_forward_pre_hook(lambda _, given: features.append(given[0].detach()))
    try:
        yield features
    finally:
        hook.remove()


@contextmanager
def layers_of(model: Any) -> Iterator[list[torch.Tensor]]:
    """What the first, the middle and the last layer put out in all passes of the body, joined: shape `(B, n, 3 H)`.

    Raises `InvalidInput` for a model whose layers are no list of modules.
    """
    import torch

    count = int(model.config.get_text_config(decoder=True).num_hidden_layers)
    lists = (part for part in model.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == count)
    layers = next(lists, None)
    if layers is None:
        raise InvalidInput(f"{type(model).__name__} has no list of {count} layers whose output could be looked at")
    places, joined = (0, (count - 1) // 2, count - 1), list[torch.Tensor]()
    latest: dict[int, torch.Tensor] = {}

    def looks_at(place: int) -> Callable[..., None]:
        def hook(_: Any, __: Any, output: Any) -> None:
            latest[place] = (output if isinstance(output, torch.Tensor) else output[0]).detach()
            if place == count - 1:
                joined.append(torch.cat([latest[number] for number in places], -1))

        return hook

    hooks = [layers[place].register_forward_hook(looks_at(place)) for place in sorted(set(places))]
    try:
        yield joined
    finally:
        for hook in hooks:
            hook.remove()


def additive(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The mask that models add to their attention scores, shape `(B, 1, n, S)`: 0 at visible slots.

    visible: booleans, shape `(B, n, S)`.
    """
    import torch

    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


def shifted(features: torch.Tensor) -> torch.Tensor:
    """The features moved by one token: at every token those of the one before it, zeros at the first."""
    from torch.nn.functional import pad

    return pad(features[:, :-1], (0, 0, 1, 0))
