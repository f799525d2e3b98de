"""A process from a language model: the rows that it gives after a prompt, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.protocol import Context

#: Contexts of one length up to which rows are computed: those of two tokens at V = 256, of one at V = 65,536.
MOST_CONTEXTS = 2**16


def from_model(
    model: Any, prompt: Sequence[int], denominator: int | None = 2**16, name: str = "model"
) -> CallableProcess:
    """The process of a causal Hugging Face model after the tokens of `prompt`, at least one.

    One call of the model a row, rows kept. Its softmax is taken in float64 and made exact with `from_softmax`, over
    `denominator` (None keeps every bit). Raises `InvalidInput` for other models. Its rows raise
    `TooLarge` after contexts of which there are more than `MOST_CONTEXTS`: trees may be two tokens deep up to V = 256,
    else one.
    """
    size = getattr(getattr(model, "config", None), "vocab_size", None)
    if not callable(model) or not isinstance(size, int):
        raise InvalidInput(f"{name}: {type(model).__name__} is no causal model with config.vocab_size")
    tokens = [int(token) for token in prompt]
    if not tokens or any(not 0 <= token < size for token in tokens):
        raise InvalidInput(f"{name}: prompt {tokens} must hold tokens of 0..{size - 1}, at least one")
    import torch

    def row(context: Context) -> Any:
        if size ** len(context) > MOST_CONTEXTS:
            raise TooLarge(
                f"{name} has {size:,} tokens, so rows after {len(context)} of them are {size ** len(context):,}, more "
                f"than {MOST_CONTEXTS:,}; take a shallower tree, or `draftproof compare --target --draft`, which keeps "
                "the most probable tokens"
            )
        with torch.no_grad():
            logits = model(torch.tensor([[*tokens, *context]], device=getattr(model, "device", None))).logits[0, -1]
        return from_softmax(logits.double().softmax(-1), denominator=denominator, name=name).row(())

    return CallableProcess(size, row, name)
