"""What passes of a model see and compute: masks, recorded hidden states and logits.

The features of a model are the hidden states that its output layer reads, one at every token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from draftproof.simulator.errors import InvalidInput

if TYPE_CHECKING:
    import torch


def reads_features(model: Any) -> bool:
    """Whether a draft reads the features of its target, as heads do.

    Its rows depend on where a tree begins; `continued` computes them.
    """
    return bool(getattr(model, "reads_features", False))


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


@dataclass(frozen=True)
class TokenState:
    """A model at one token: the hidden state that its output layer reads, `(H,)`, and the logits, `(V,)`."""

    hidden: torch.Tensor
    logits: torch.Tensor


class Passes:
    """Hidden states and logits of one model since the last `forget`, in the order in which tokens were read.

    seconds: of all passes since the beginning.
    """

    def __init__(self, now: Callable[[], float] = perf_counter) -> None:
        self.hidden: list[torch.Tensor] = []
        self.logits: list[torch.Tensor] = []
        self.seconds, self._now, self._began = 0.0, now, 0.0

    def begins(self) -> None:
        self._began = self._now()

    def ends(self, logits: torch.Tensor) -> None:
        self.seconds += self._now() - self._began
        self.logits.append(logits.detach())

    def forget(self) -> None:
        self.hidden.clear()
        self.logits.clear()

    def at(self, place: int, sequence: int = 0) -> TokenState:
        """The state at token number `place` since the last `forget`; negative numbers count from the last token."""
        if place < 0:
            place += sum(part.shape[1] for part in self.hidden)
        for hidden, logits in zip(self.hidden, self.logits, strict=True):
            if place < hidden.shape[1]:
                return TokenState(hidden[sequence, place], logits[sequence, place])
            place -= hidden.shape[1]
        raise IndexError(place)


@contextmanager
def watched(model: Any, now: Callable[[], float] = perf_counter) -> Iterator[Passes]:
    """Records the passes that the model makes in the body; raises `InvalidInput` for a model without an output layer.

    now: the clock for their seconds.
    """
    passes, head = Passes(now), model.get_output_embeddings()
    if head is None:
        raise InvalidInput(f"{type(model).__name__} has no output layer whose input could be looked at")
    hooks = [
        head.register_forward_pre_hook(lambda _, given: passes.hidden.append(given[0].detach())),
        model.register_forward_pre_hook(lambda *_: passes.begins()),
        model.register_forward_hook(lambda _, __, output: passes.ends(output.logits)),
    ]
    try:
        yield passes
    finally:
        for hook in hooks:
            hook.remove()
