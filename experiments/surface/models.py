"""A process from a language model: the rows that it gives after a prompt, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.softmax import from_softmax
from draftproof.simulator.protocol import Context

#: Vocabularies up to this size make tables of depth 2.
MOST_TOKENS = 256


def from_model(
    model: Any, prompt: Sequence[int], denominator: int | None = 2**16, name: str = "model"
) -> CallableProcess:
    """The process of a causal Hugging Face model after the tokens of `prompt`, at least one; V at most 256.

    One call of the model a row, rows kept. Its softmax is taken in float64 and made exact with `from_softmax`, over
    `denominator` (None keeps every bit). Raises `InvalidInput` for what is no such model, `TooLarge` for large ones.
    """
    size = getattr(getattr(model, "config", None), "vocab_size", None)
    if not callable(model) or not isinstance(size, int):
        raise InvalidInput(f"{name}: {type(model).__name__} is no causal model with config.vocab_size")
    if size > MOST_TOKENS:
        raise TooLarge(
            f"{name} has {size:,} tokens, more than {MOST_TOKENS}; `draftproof validate` runs larger models, "
            "or give the rows of the most probable tokens to from_softmax"
        )
    tokens = [int(token) for token in prompt]
    if not tokens or any(not 0 <= token < size for token in tokens):
        raise InvalidInput(f"{name}: prompt {tokens} must hold tokens of 0..{size - 1}, at least one")
    import torch

    def row(context: Context) -> Any:
        with torch.no_grad():
            logits = model(torch.tensor([[*tokens, *context]], device=getattr(model, "device", None))).logits[0, -1]
        return from_softmax(logits.double().softmax(-1), denominator=denominator, name=name).row(())

    return CallableProcess(size, row, name)
