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

from pathlib import Path
from typing import Any, cast

import torch
from transformers import LlamaConfig, LlamaModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from draftproof.experiments.models.pair.devices import quiet_loading
from draftproof.experiments.models.pair.hidden import features_of, shifted
from draftproof.experiments.models.pair.loading import Located, check_files
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
    """The head as a model of transformers; `of` sets the target that it drafts for."""

    config_class = EagleConfig
    config: EagleConfig
    reads_features = True
    _supports_sdpa = True

    def __init__(self, config: EagleConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.joined = torch.nn.Linear(2 * width, width, bias=False)
        inner = LlamaConfig(
            vocab_size=1,  # its input is embedded already
            hidden_size=width,
            intermediate_size=-(-width * 8 // 24) * 8,
            num_hidden_layers=1,
            num_attention_heads=config.num_attention_heads,
            num_key_value_heads=config.num_attention_heads,
            initializer_range=width**-0.5,
            bos_token_id=None,
            eos_token_id=None,
        )
        self.layer = LlamaModel(inner)
        self._targets: tuple[Any, ...] = ()  # in a tuple, so that torch does not register it as a submodule
        self.post_init()

    def of(self, target: Any) -> EagleHead:
        """The head on the target's device, drafting for it; raises `InvalidInput` where sizes differ."""
        text = target.config.get_text_config(decoder=True)
        there, own = (text.hidden_size, text.vocab_size), (self.config.hidden_size, self.config.vocab_size)
        if there != own:
            raise InvalidInput(
                f"the head is for width {own[0]} and {own[1]} tokens, the target has {there[0]} and {there[1]}; "
                "train one for it: draftproof train-head"
            )
        self._targets = (target,)
        self.to(target.device, target.dtype)
        return self

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
        (target,) = self._targets
        embedded = target.get_input_embeddings()(input_ids)
        if features is None:
            whole = past_key_values is None
            features = shifted(self.target_features(input_ids, attention_mask)) if whole else torch.zeros_like(embedded)
        output = self.layer(
            inputs_embeds=self.joined(torch.cat([embedded, features], -1)),
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            use_cache=use_cache,
        )
        expected = output.last_hidden_state
        return CausalLMOutputWithPast(
            logits=target.get_output_embeddings()(expected),
            past_key_values=output.past_key_values,
            hidden_states=cast(Any, (expected,)),
        )

    @torch.no_grad()
    def target_features(self, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The target's features at these tokens of whole texts, shape `(B, n, H)`."""
        (target,) = self._targets
        with features_of(target) as found:
            target(tokens, attention_mask=mask, use_cache=False)
        return found[0]

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


def new_head(target: Any, seed: int) -> EagleHead:
    """An untrained head for this target, with random weights that depend on its sizes and the seed alone."""
    text = target.config.get_text_config(decoder=True)
    config = EagleConfig(
        vocab_size=text.vocab_size, hidden_size=text.hidden_size, num_attention_heads=text.num_attention_heads
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = EagleHead(config)
    return made.of(target)


def load_head(folder: str, target: Any) -> EagleHead:
    """A head that `draftproof train-head` saved; raises `InvalidInput` for a folder without one."""
    none = InvalidInput(f"{folder} holds no head; make one: draftproof train-head --pair FOLDER --out {folder}")
    if not Path(folder, "config.json").is_file():
        raise none
    check_files(Located("head", folder, local=True))
    options = {"local_files_only": True, "use_safetensors": True, "output_loading_info": True}
    try:
        with quiet_loading():
            made, report = EagleHead.from_pretrained(folder, **options)
    except Exception:  # a field of another kind fails in whatever way its use does
        raise none from None
    if report["missing_keys"]:
        raise none
    made.eval()
    made.requires_grad_(False)
    head: EagleHead = made.of(target)
    return head
