"""A SpecBlock drafter: one pass gives the rows of `K` places, the next depths of a tree.

At a token where a block starts the layers read the token, as in EAGLE-3, and `K - 1` further places that have a learned
vector each instead of a token, with the same feature. Between two layers every place gets, beside its own state, that
of the place before it. Place `k` gives the row after `k` more tokens, whichever they are. The next block starts `K`
tokens later; its tokens inherit the output of the places that predicted them as their features
([2605.07243](https://arxiv.org/abs/2605.07243)). Departures: blocks follow one another, where the paper may start one
at any place; a pass reads all tokens since the block before, where the paper reads the last one; the rank head is a
rule of the draft scheme `specblock`; nothing is updated while texts are written.

`continued` computes the rows of a tree block by block; the loop does it in `places_reading`.
"""

from __future__ import annotations

from typing import Any, Self, cast

import torch
from transformers import DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import CausalLMOutputWithPast

from draftproof.experiments.models.pair.eagle import EagleConfig
from draftproof.experiments.models.pair.eagle3 import Eagle3Head
from draftproof.experiments.models.pair.hidden import shifted


class SpecBlockConfig(EagleConfig):
    """places: `K`; two layers unless the configuration has another number."""

    model_type = "draftproof_specblock"
    num_hidden_layers: int = 2
    places: int = 4


class SpecBlockHead(Eagle3Head):
    """See the module."""

    config_class = SpecBlockConfig

    def add_parts(self, config: EagleConfig) -> None:
        super().add_parts(config)
        width = config.hidden_size
        self.place_vectors = torch.nn.Embedding(self.places, width)
        self.shifts = torch.nn.ModuleList(
            torch.nn.Linear(2 * width, width, bias=False) for _ in range(config.num_hidden_layers - 1)
        )

    def begun(self) -> Self:
        """As that of EAGLE-3; a place begins with its own state alone."""
        with torch.no_grad():
            for shift in self.shifts:
                torch.nn.init.eye_(cast(torch.nn.Linear, shift).weight)
        return super().begun()

    @property
    def places(self) -> int:  # type: ignore[override]
        return cast(SpecBlockConfig, self.config).places

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        features: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """As `EagleHead.forward`; places: which place of a block each entry is, shape `(B, n)`, 0 for a token.

        An entry of a place above 0 stands behind that of the place before it, and its token is not read.
        """
        embedded = self.target.get_input_embeddings()(input_ids)
        if features is None:
            whole = past_key_values is None
            features = shifted(self.target_features(input_ids, attention_mask)) if whole else torch.zeros_like(embedded)
        later = None if places is None else (places > 0)[..., None]
        if later is not None:
            embedded = torch.where(later, self.place_vectors(cast(torch.Tensor, places)), embedded)
        states = self.entered(embedded, features)
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        if position_ids is None:
            before = past_key_values.get_seq_length() if past_key_values is not None else 0
            position_ids = torch.arange(before, before + states.shape[1], device=states.device)[None]
        mask = create_causal_mask(
            config=self.layer.config,
            inputs_embeds=states,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            position_ids=position_ids,
        )
        turned = self.layer.rotary_emb(states, position_ids=position_ids)
        for number, layer in enumerate(self.layer.layers):
            if number:
                before_it = torch.nn.functional.pad(states[:, :-1], (0, 0, 1, 0))
                above = states if later is None else torch.where(later, before_it, states)
                states = self.shifts[number - 1](torch.cat([states, above], -1))
            states = layer(
                states,
                attention_mask=mask,
                position_embeddings=turned,
                position_ids=position_ids,
                past_key_values=past_key_values,
                use_cache=use_cache,
            )
        states = self.layer.norm(states)
        return CausalLMOutputWithPast(
            logits=cast(Any, self.logits(states)), past_key_values=past_key_values, hidden_states=cast(Any, (states,))
        )

    @torch.no_grad()
    def continued(self, root: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        count, length = contexts.shape
        features, cache = shifted(self.target_features(root)), DynamicCache()
        read = torch.zeros(0, dtype=torch.bool, device=root.device)  # which entries of the cache are tokens
        logits, features = self._block(root, features, cache, read)
        for start in range(0, length - length % self.places, self.places):
            if not start:
                cache.batch_repeat_interleave(count)
                features = features.expand(count, -1, -1)
            tokens = torch.ones(cache.get_seq_length(), dtype=torch.bool, device=root.device)
            tokens[: len(read)] = read
            tokens[len(tokens) - self.places + 1 :] = False
            read = tokens
            logits, features = self._block(contexts[:, start : start + self.places], features, cache, read)
        return logits[:, length % self.places].expand(count, -1)

    def _block(
        self, tokens: torch.Tensor, features: torch.Tensor, cache: Any, read: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits and states of the places of a block that starts at the last of these tokens.

        read: which entries of the cache are tokens, shape `(S,)`; all of these see the new ones.
        """
        more, count = self.places - 1, tokens.shape[1]
        new = count + more
        sees = torch.cat([read.expand(new, -1), torch.ones(new, new, dtype=torch.bool, device=read.device).tril()], 1)
        mask = torch.zeros(sees.shape, dtype=features.dtype, device=read.device)
        places = torch.tensor([[0] * count + list(range(1, self.places))], device=read.device)
        output = self(
            torch.nn.functional.pad(tokens, (0, more)),
            attention_mask=mask.masked_fill_(~sees, torch.finfo(mask.dtype).min)[None, None].expand(
                len(tokens), -1, -1, -1
            ),
            position_ids=(int(read.sum()) + torch.arange(new, device=read.device))[None],
            past_key_values=cache,
            use_cache=True,
            features=torch.cat([features, features[:, -1:].expand(-1, more, -1)], 1),
            places=places.expand(len(tokens), -1),
        )
        return output.logits[:, count - 1 :], output.hidden_states[0][:, count - 1 :]
