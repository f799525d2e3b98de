"""Draft models without a network, computed from the text alone, with the interface of a model of transformers.

`B` is the number of sequences, `n` of tokens in a pass, `T` of tokens in cache and pass, `V` the vocabulary size. The
keys and values in the cache are the token numbers. So the cache is trimmed, joined and repeated as any other, and the
text before a token in a tree is what its mask shows.

Lookup: what followed the longest run of last tokens where it came before in the same text. Of the places where the last
`m` tokens came before, `m` up to `n` and as large as there are any, each has the same part of `1 - smoothing`; the
rest, and all where even the last token is new, goes to how often tokens came, one added: `(count + 1) / (length + V)`.

N-grams: what followed the last tokens in a text that was counted, longer contexts first. Interpolation is that of
`draftproof.simulator.instances.ngram` ([witten1991zero], method C): after a context `c` that was followed by `n` tokens
of `d` different kinds, `q(y|c) = (n(c, y) + d q(y|c')) / (n + d)`, `c'` without its first token, and `1/V` behind the
empty one. A context that never came is its own `c'`. Contexts of up to `order` tokens are numbered in base `V + 1`, the
last token first, digits from 1: one sorted list holds those of all lengths.

No row of either has a zero.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

import numpy as np
import torch
from transformers import DynamicCache, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from draftproof.simulator.errors import InvalidInput


class TextConfig(PreTrainedConfig):  # type: ignore[misc]
    """The configuration: one layer with one number a token. numbers: the parameters of the model."""

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
        """The number of last tokens that the rows depend on; None for all."""

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
    seen = tokens[:, None].expand(-1, sees.shape[1], -1).gather(2, last.clamp(min=0))
    seen = torch.where(last >= 0, seen, -1)
    return seen if count is None or width == count else torch.nn.functional.pad(seen, (0, count - width), value=-1)


def _visible(mask: torch.Tensor | None, count: int, tokens: torch.Tensor) -> torch.Tensor:
    """Which of the tokens, shape `(B, T)`, each of the last `count` sees: booleans, shape `(B, count, T)`."""
    if mask is not None and mask.ndim == 4:
        seen = mask if mask.dtype == torch.bool else mask == 0
        return seen[:, 0, :, : tokens.shape[1]]
    places = torch.arange(tokens.shape[1], device=tokens.device)
    causal = (places <= places[-count:, None]).expand(len(tokens), -1, -1)
    return causal if mask is None else causal & (mask[:, None, : tokens.shape[1]] != 0)


class LookupConfig(TextConfig):
    """See `TextConfig`."""

    model_type = "draftproof_lookup"


class LookupModel(TextModel):
    """See the module; made by `lookup`."""

    config_class = LookupConfig

    def __init__(self, config: LookupConfig) -> None:
        super().__init__(config)
        self.post_init()

    @property
    def reach(self) -> None:
        return

    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        most, smoothing = int(self.config.numbers[0]), self.config.numbers[1]
        there = recent >= 0
        rows = _counted(recent, there.double(), self.config.vocab_size) + 1
        rows /= rows.sum(1, keepdim=True)
        lengths = _matches(recent, most)
        longest = lengths.amax(1, keepdim=True) if lengths.shape[1] else lengths.new_zeros(len(recent), 1)
        best = ((lengths == longest) & (lengths > 0)).double()
        followed = _counted(recent[:, :-1], best, self.config.vocab_size) / best.sum(1, keepdim=True).clamp(min=1)
        return torch.where(longest > 0, (1 - smoothing) * followed + smoothing * rows, rows)


def lookup(vocab_size: int, n: int = 3, smoothing: float = 0.1) -> LookupModel:
    """The lookup draft for the last `n` tokens. smoothing: the probability of the smoothed counts, between 0 and 1."""
    made = LookupModel(LookupConfig(vocab_size=vocab_size, numbers=(float(n), smoothing)))
    made.eval()
    return made


def _matches(recent: torch.Tensor, most: int) -> torch.Tensor:
    """How many of the last tokens, at most so many, stand before each earlier place: shape `(m, width - 1)`."""
    width = recent.shape[1]
    lengths = torch.zeros_like(recent[:, 1:])
    alive = torch.ones_like(lengths, dtype=torch.bool)
    for back in range(min(most, width - 1)):
        same = (recent[:, 1 + back :] == recent[:, back : back + 1]) & (recent[:, 1 + back :] >= 0)
        alive &= torch.nn.functional.pad(same, (0, back), value=False)
        lengths += alive
    return lengths


def _counted(tokens: torch.Tensor, weights: torch.Tensor, size: int) -> torch.Tensor:
    """The sum of weights of each token, float64, shape `(m, V)`; tokens of -1 have weight 0."""
    sums = torch.zeros(len(tokens), size, dtype=torch.float64, device=tokens.device)
    return sums.scatter_add_(1, tokens.clamp(min=0), weights)


class NgramConfig(TextConfig):
    """See `TextConfig`."""

    model_type = "draftproof_ngram"


class NgramModel(TextModel):
    """See the module; made by `count_ngrams`."""

    config_class = NgramConfig
    keys: torch.Tensor
    starts: torch.Tensor
    scales: torch.Tensor
    followers: torch.Tensor
    shares: torch.Tensor
    powers: torch.Tensor

    def __init__(self, config: NgramConfig, tables: dict[str, Any]) -> None:
        super().__init__(config)
        for name, table in tables.items():
            self.register_buffer(name, torch.as_tensor(table))
        self.post_init()

    @property
    def reach(self) -> int:
        return max(1, len(self.powers))

    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        order, size = len(self.powers), self.config.vocab_size
        digits = recent[:, :order] + 1
        keys = torch.nn.functional.pad((digits * self.powers).cumsum(1), (1, 0))
        begun = torch.nn.functional.pad(digits > 0, (1, 0), value=True)
        places = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        counted = (self.keys[places] == keys) & begun
        scales = torch.where(counted, self.scales[places], 1.0)
        # A context's own counts are scaled by all longer ones.
        longer = torch.nn.functional.pad(scales.flip(1).cumprod(1).flip(1), (0, 1), value=1.0)
        counts = torch.where(counted, self.starts[places + 1] - self.starts[places], 0).flatten()
        whose = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        within = torch.arange(len(whose), device=counts.device) - (counts.cumsum(0) - counts)[whose]
        entries = self.starts[places.flatten()[whose]] + within
        rows = (longer[:, :1] / size).repeat(1, size)
        where = whose // (order + 1) * size + self.followers[entries]
        rows.view(-1).index_add_(0, where, self.shares[entries] * longer[:, 1:].flatten()[whose])
        return rows


def count_ngrams(tokens: Any, vocab_size: int, order: int) -> NgramModel:
    """The model of a text. tokens: shape `(n,)`.

    Raises `InvalidInput` for too many contexts, or other tokens.
    """
    base = vocab_size + 1
    if order < 0 or float(base) ** (order + 1) >= 2.0**63:
        raise InvalidInput(f"order {order} over {vocab_size} tokens has too many contexts; lower the order")
    text = np.asarray(tokens, dtype=np.int64)
    if len(text) and not 0 <= text.min() <= text.max() < vocab_size:
        raise InvalidInput(
            f"the text has token {text.max() if text.min() >= 0 else text.min()}; tokens are 0..{vocab_size - 1}"
        )
    if len(text) <= order:
        raise InvalidInput(f"{len(text)} training tokens are too few for order {order}; give a longer text")
    parts = []
    for length in range(order + 1):
        count = len(text) - length
        context = np.zeros(count, dtype=np.int64)
        for back in range(length):
            context += (text[length - 1 - back : length - 1 - back + count] + 1) * base**back
        parts.append(context * vocab_size + text[length:])
    pairs, counts = np.unique(np.concatenate(parts), return_counts=True)
    keys, starts = np.unique(pairs // vocab_size, return_index=True)
    different = np.diff([*starts, len(pairs)])
    totals = np.add.reduceat(counts, starts) + different
    tables = {
        "keys": keys,
        "starts": np.append(starts, len(pairs)),
        "scales": different / totals,
        "followers": pairs % vocab_size,
        "shares": counts / np.repeat(totals, different),
        "powers": np.array([base**back for back in range(order)], dtype=np.int64),
    }
    made = NgramModel(NgramConfig(vocab_size=vocab_size, numbers=(float(order),)), tables)
    made.eval()
    return made
