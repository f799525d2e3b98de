"""The features of a model: at every token the hidden state that its output layer reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from draftproof.simulator.errors import InvalidInput

if TYPE_CHECKING:
    import torch


def reads_features(model: Any) -> bool:
    """Whether a draft goes on from the features of its target, as an EAGLE head does."""
    return bool(getattr(model, "reads_features", False))


@contextmanager
def heard(model: Any) -> Iterator[list[torch.Tensor]]:
    """The features of all passes that the model makes meanwhile, each of shape `(B, n, H)`.

    Raises `InvalidInput` for a model without an output layer.
    """
    head = model.get_output_embeddings()
    found: list[torch.Tensor] = []
    if head is None:
        raise InvalidInput(f"{type(model).__name__} has no output layer whose input could be looked at")
    hook = head.register_forward_pre_hook(lambda _, given: found.append(given[0].detach()))
    try:
        yield found
    finally:
        hook.remove()


def shifted(features: torch.Tensor) -> torch.Tensor:
    """At every token the features of the one before it, zeros before the first: shape `(B, n, H)` as given."""
    from torch.nn.functional import pad

    return pad(features[:, :-1], (0, 0, 1, 0))
