"""Drafts that read the text and nothing else, with the face of a model of transformers: masks, positions and caches.

`B` is the number of sequences, `n` of tokens in a pass, `T` of tokens in cache and pass, `V` the vocabulary size. What
such a model remembers of a token is the token: keys and values hold its number. So the cache is trimmed, joined and
repeated as any other, and a token in a tree has the text that its mask lets it see.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

import torch
from transformers import DynamicCache, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class TextConfig(PreTrainedConfig):  # type: ignore[misc]
    """One layer of one number a token. numbers: what tells a model of this kind from others."""

    model_type = "draftproof_text"
    vocab_size: int = 2
    numbers: tuple[float, ...] = ()
    hidden_size: int = 1
    num_hidden_layers: int = 1
    num_attention_heads: int = 1
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class TextModel(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """See the module; a kind of model says what `rows` are. Its parameter holds the numbers of the configuration."""

    config_class = TextConfig
    config: TextConfig
    _supports_sdpa = True

    def __init__(self, config: TextConfig) -> None:
        super().__init__(config)
        self.numbers = torch.nn.Parameter(torch.tensor([*config.numbers, 0.0]), requires_grad=False)

    def placed(self, target: Any) -> TextModel:
        """The same model where the target is; its logits are float32, or float64 where the target's are."""
        self.to(target.device)
        kind = torch.float64 if target.dtype == torch.float64 else torch.float32
        self.numbers.data = self.numbers.data.to(kind)
        return self

    @property
    @abstractmethod
    def reach(self) -> int | None:
        """How many of the last tokens the rows depend on; None where it is all of them."""

    @abstractmethod
    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        """The distributions of the next token, positive, float64, shape `(m, V)`.

        recent: the tokens before it, the last one first, shape `(m, width)`; -1 where the text has not begun.
        """

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """The logits after each token, shape `(B, n, V)`; a mask has four dimensions, of `(B, 1, n, T)`, or two."""
        tokens = input_ids
        if past_key_values is None and use_cache is not False:
            past_key_values = DynamicCache(config=self.config)
        if past_key_values is not None:
            states = input_ids[:, None, :, None]
            tokens = past_key_values.update(states, states, 0)[0][:, 0, :, 0]
        sees = _visible(attention_mask, input_ids.shape[1], tokens)[:, -logits_to_keep:]
        recent = seen_last(tokens, sees, self.reach)
        rows = self.rows(recent.flatten(0, 1)).view(*recent.shape[:2], -1)
        return CausalLMOutputWithPast(logits=cast(Any, rows.log().to(self.dtype)), past_key_values=past_key_values)

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Nothing is drawn."""


def seen_last(tokens: torch.Tensor, sees: torch.Tensor, count: int | None) -> torch.Tensor:
    """The last `count` tokens that each place sees, the last one first, shape `(B, n, count)`; -1 where it sees fewer.

    tokens: shape `(B, T)`, in the order of the text along every path. sees: booleans, shape `(B, n, T)`.
    """
    most = tokens.shape[1]
    width = most if count is None else min(count, most)
    places = torch.where(sees, torch.arange(most, device=tokens.device), -1)
    last = places.max(dim=-1, keepdim=True).values if width == 1 else places.topk(width, dim=-1).values
    found = tokens[:, None].expand(-1, sees.shape[1], -1).gather(2, last.clamp(min=0))
    found = torch.where(last >= 0, found, -1)
    return found if count is None or width == count else torch.nn.functional.pad(found, (0, count - width), value=-1)


def _visible(mask: torch.Tensor | None, count: int, tokens: torch.Tensor) -> torch.Tensor:
    """Which of the tokens, shape `(B, T)`, each of the last `count` sees: booleans, shape `(B, count, T)`."""
    if mask is not None and mask.ndim == 4:
        seen = mask if mask.dtype == torch.bool else mask == 0
        return seen[:, 0, :, : tokens.shape[1]]
    places = torch.arange(tokens.shape[1], device=tokens.device)
    causal = (places <= places[-count:, None]).expand(len(tokens), -1, -1)
    return causal if mask is None else causal & (mask[:, None, : tokens.shape[1]] != 0)
