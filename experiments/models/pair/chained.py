"""A draft that itself writes by speculative decoding: `chain:middle=MODEL,small=MODEL,length=2`.

The small model drafts `length` tokens for the middle one, which reads them in one pass and verifies them without loss,
until there are as many tokens as the target's tree has. They have the middle model's law, whose rows the target's
verifier gets as `q`; `loop.chains` writes them. To everything that computes rows the draft is the middle model.
"""

from __future__ import annotations

from typing import Any

from draftproof.experiments.models.pair.hidden import depends_on_root, drafts_chains
from draftproof.simulator.errors import InvalidInput


class Chained:
    """The middle model, `wrapped_model`, with a small one that drafts for it; other attributes are the middle model's.

    length: how many tokens the small model drafts at a time. Raises `InvalidInput` for a length below 1, for models of
    different vocabularies or devices, and for one whose rows depend on where a tree begins.
    """

    drafts_chains = True

    def __init__(self, wrapped_model: Any, small: Any, length: int = 2) -> None:
        self.wrapped_model, self.small, self.length = wrapped_model, small, length
        if length < 1:
            raise InvalidInput(f"a chain of length {length}: the small model drafts at least 1 token; give length=2")
        for name, model in (("middle", wrapped_model), ("small", small)):
            if depends_on_root(model) or drafts_chains(model):
                raise InvalidInput(
                    f"the {name} model of a chain is a {type(model).__name__}; it takes models that read tokens alone, "
                    "such as a folder, lookup, ngram or early"
                )
        sizes = [int(model.config.get_text_config(decoder=True).vocab_size) for model in (wrapped_model, small)]
        if sizes[0] != sizes[1]:
            raise InvalidInput(
                f"the middle model of the chain has {sizes[0]} tokens, the small one {sizes[1]}; "
                "choose two models with the same tokens"
            )
        if wrapped_model.device != small.device:
            raise InvalidInput(
                f"the middle model of the chain is on {wrapped_model.device}, the small one on {small.device}; "
                "move one to the other"
            )

    def __call__(self, *given: Any, **named: Any) -> Any:
        """A pass of the middle model."""
        return self.wrapped_model(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["wrapped_model"], name)

    def state_dict(self) -> dict[str, Any]:
        """The weights of both models, for `pair_digest`, and the length."""
        import torch

        small = {f"small.{name}": values for name, values in self.small.state_dict().items()}
        return {**self.wrapped_model.state_dict(), **small, "length": torch.tensor(self.length)}
