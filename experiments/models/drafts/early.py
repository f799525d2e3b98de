"""Early exit as a draft: the target's first layers with its own last norm and its own output layer.

The draft is a model of the target's class with fewer layers whose weights are the target's, not copies of them: it
takes no memory but for its caches.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch

from draftproof.simulator.errors import InvalidInput


def early_exit(target: Any, layers: int) -> Any:
    """The draft; raises `InvalidInput` unless the target has more layers, which can be left out from behind."""
    config = deepcopy(target.config)
    text = config.get_text_config(decoder=True)
    before = text.num_hidden_layers
    if not 1 <= layers < before:
        raise InvalidInput(f"early:layers={layers}: the target has {before} layers; leave after 1 to {before - 1}")
    text.num_hidden_layers = layers
    if getattr(text, "layer_types", None):
        text.layer_types = list(text.layer_types[:layers])
    try:
        with torch.device("meta"):
            draft = type(target)(config)
        given = target.state_dict()
        draft.load_state_dict({name: given[name] for name in draft.state_dict()}, assign=True)
        _share_buffers(draft, target)
    except (KeyError, RuntimeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"early exit: {type(target).__name__} is not made of layers that can be left out ({type(error).__name__}); "
            "choose another draft"
        ) from None
    draft.generation_config = deepcopy(target.generation_config)
    return draft.eval().requires_grad_(False)


def _share_buffers(draft: Any, target: Any) -> None:
    """What is not part of the saved weights, such as the frequencies of rotary positions."""
    given = dict(target.named_buffers())
    for name, buffer in list(draft.named_buffers()):
        if buffer.is_meta:
            holder, _, last = name.rpartition(".")
            draft.get_submodule(holder)._buffers[last] = given[name]
