"""A trained model with more layers that says the same at first: many layers for the price of training few.

Behind every layer stand copies of it whose outputs are 0, so that they pass on what they get until training changes
them (function-preserving growth, Net2Net, arXiv:1511.05641).
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from draftproof.experiments.models.pair.devices import libraries
from draftproof.simulator.errors import InvalidInput


def grown(model: Any, layers: int) -> Any:
    """A Llama-type model of so many layers with the function of `model`, which stays as it is.

    Raises `InvalidInput` where that is no multiple of the layers there are.
    """
    torch, _ = libraries()
    before = model.config.num_hidden_layers
    if layers < before or layers % before:
        raise InvalidInput(f"{before} layers do not grow to {layers}; choose a multiple of {before}")
    larger = deepcopy(model)
    larger.config.num_hidden_layers = layers
    larger.config.layer_types = None
    found = []
    for layer in larger.model.layers:
        found.append(layer)
        for _ in range(layers // before - 1):
            copy = deepcopy(layer)
            for last in (copy.self_attn.o_proj, copy.mlp.down_proj):
                torch.nn.init.zeros_(last.weight)
            found.append(copy)
    for number, layer in enumerate(found):
        layer.self_attn.layer_idx = number
    larger.model.layers = torch.nn.ModuleList(found)
    return larger.requires_grad_(True)
