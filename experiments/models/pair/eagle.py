"""An EAGLE-style head as a draft: one decoder layer on the target's features and the next token.

At a token the layer reads the token's embedding joined with the feature of the token before it, and predicts the
feature at the token; the target's own output layer turns that into a row. For tokens of the text the features are the
target's; in a tree, which the target has not read yet, they are the head's own predictions
([2401.15077](https://arxiv.org/abs/2401.15077)). So a row depends on where the tree begins: `continued` computes the
rows that the loop has. Departures: the layer is always a Llama layer followed by a norm; trees and their passes are
those of the loop.

`H` is the width of the target, `V` its vocabulary size. Embedding and output layer are the target's, not copies.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Self, cast

import torch
from transformers import LlamaConfig, LlamaModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from draftproof.experiments.models.pair.hidden import features_of, shifted
from draftproof.simulator.errors import InvalidInput


class EagleConfig(PreTrainedConfig):  # type: ignore[misc]
    """hidden_size: `H`, a multiple of the number of attention heads."""

    model_type = "draftproof_eagle"
    vocab_size: int = 2
    hidden_size: int = 8
    num_attention_heads: int = 1
    num_hidden_layers: int = 1
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class EagleHead(PreTrainedModel):  # type: ignore[misc]
    """The head as a model of transformers; `of` sets the target that it drafts for. Other heads are made from it."""

    config_class = EagleConfig
    config: EagleConfig
    reads_features = True
    _supports_sdpa = True
    #: How many depths of a tree get their rows from one pass.
    places = 1

    def __init__(self, config: EagleConfig) -> None:
        super().__init__(config)
        self.add_parts(config)
        self._targets: tuple[Any, ...] = ()  # in a tuple, so that torch does not register it as a submodule
        self.post_init()

    def add_parts(self, config: EagleConfig) -> None:
        """Make the modules."""
        width = config.hidden_size
        self.joined = torch.nn.Linear(2 * width, width, bias=False)
        inner = LlamaConfig(
            vocab_size=1,  # its input is embedded already
            hidden_size=width,
            intermediate_size=-(-width * 8 // 24) * 8,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            num_key_value_heads=config.num_attention_heads,
            initializer_range=width**-0.5,
            bos_token_id=None,
            eos_token_id=None,
        )
        self.layer = LlamaModel(inner)

    def of(self, target: Any) -> Self:
        """The head on the target's device, drafting for it; raises `InvalidInput` where sizes differ."""
        text = target.config.get_text_config(decoder=True)
        there, own = (text.hidden_size, text.vocab_size), (self.config.hidden_size, self.config.vocab_size)
        if there != own:
            raise InvalidInput(
                f"the head is for width {own[0]} and {own[1]} tokens, the target has {there[0]} and {there[1]}; "
                "train one for it: draftproof model train --kind eagle"
            )
        self._targets = (target,)
        self.to(target.device, target.dtype)
        return self

    @property
    def target(self) -> Any:
        """The model that it drafts for."""
        return self._targets[0]

    def watching(self) -> AbstractContextManager[list[torch.Tensor]]:
        """In the body, what the head looks at in every pass of its target, each for `taken`."""
        return features_of(self.target)

    def taken(self, seen: torch.Tensor) -> torch.Tensor:
        """The features, shape `(B, n, H)`, from what `watching` has of a pass."""
        return seen

    def entered(self, embedded: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """What the layer reads at every token."""
        return cast(torch.Tensor, self.joined(torch.cat([embedded, features], -1)))

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """The logits of what the layer puts out, by the target's output layer."""
        return cast(torch.Tensor, self.target.get_output_embeddings()(states))

    def expected(self, states: torch.Tensor) -> torch.Tensor:
        """The features that the head expects, of what the layer puts out."""
        return states

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        features: torch.Tensor | None = None,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """The logits after each token; `hidden_states` holds the features that the head expects there.

        features: those of the token before each, shape `(B, n, H)`. If missing, a pass of the target over the text
        computes them; with a cache they are zeros.
        """
        embedded = self.target.get_input_embeddings()(input_ids)
        if features is None:
            whole = past_key_values is None
            features = shifted(self.target_features(input_ids, attention_mask)) if whole else torch.zeros_like(embedded)
        output = self.layer(
            inputs_embeds=self.entered(embedded, features),
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            use_cache=use_cache,
        )
        states = output.last_hidden_state
        return CausalLMOutputWithPast(
            logits=cast(Any, self.logits(states)),
            past_key_values=output.past_key_values,
            hidden_states=cast(Any, (self.expected(states),)),
        )

    @torch.no_grad()
    def target_features(self, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The target's features at these tokens of whole texts, shape `(B, n, H)`."""
        with self.watching() as seen:
            self.target(tokens, attention_mask=mask, use_cache=False)
        return self.taken(seen[0])

    @torch.no_grad()
    def continued(self, root: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """The logits after `root + context` where trees begin after the root, shape `(n, V)`.

        root: the text before the tree, shape `(1, m)`; contexts: shape `(n, length)`.
        """
        output = self(root, features=shifted(self.target_features(root)), use_cache=True)
        if not contexts.shape[1]:
            return cast(torch.Tensor, output.logits[:, -1].expand(len(contexts), -1))
        logits, cache = output.logits, output.past_key_values
        last = output.hidden_states[0][:, -1:].expand(len(contexts), -1, -1)
        cache.batch_repeat_interleave(len(contexts))
        for depth in range(contexts.shape[1]):
            output = self(contexts[:, depth : depth + 1], past_key_values=cache, use_cache=True, features=last)
            logits, last = output.logits, output.hidden_states[0]
        found: torch.Tensor = logits[:, -1]
        return found

    def get_output_embeddings(self) -> Any:
        """None: the output layer is the target's."""
        return
