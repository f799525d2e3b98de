"""An n-gram model as a draft: what followed the last tokens in a text it was counted on, longer contexts first.

Interpolation is that of `draftproof.simulator.instances.ngram` ([witten1991zero], method C): after a context `c` that
was followed by `n` tokens of `d` different kinds, `q(y|c) = (n(c, y) + d q(y|c')) / (n + d)`, `c'` without its first
token, and `1/V` behind the empty one. A context that never came is its own `c'`. No row has a zero.

`V` is the vocabulary size. Contexts of up to `order` tokens are numbered in base `V + 1`, the last token first, digits
from 1: one sorted list holds those of all lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from draftproof.experiments.models.drafts.text_model import TextConfig, TextModel
from draftproof.simulator.errors import InvalidInput


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
        """The order, at least 1."""
        return max(1, len(self.powers))

    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        order, size = len(self.powers), self.config.vocab_size
        digits = recent[:, :order] + 1
        keys = torch.nn.functional.pad((digits * self.powers).cumsum(1), (1, 0))
        begun = torch.nn.functional.pad(digits > 0, (1, 0), value=True)
        places = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        found = (self.keys[places] == keys) & begun
        scales = torch.where(found, self.scales[places], 1.0)
        # A context's own counts are scaled by all longer ones.
        longer = torch.nn.functional.pad(scales.flip(1).cumprod(1).flip(1), (0, 1), value=1.0)
        counts = torch.where(found, self.starts[places + 1] - self.starts[places], 0).flatten()
        whose = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        within = torch.arange(len(whose), device=counts.device) - (counts.cumsum(0) - counts)[whose]
        entries = self.starts[places.flatten()[whose]] + within
        rows = (longer[:, :1] / size).repeat(1, size)
        where = whose // (order + 1) * size + self.followers[entries]
        rows.view(-1).index_add_(0, where, self.shares[entries] * longer[:, 1:].flatten()[whose])
        return rows


def count_ngrams(tokens: Any, vocab_size: int, order: int) -> NgramModel:
    """The model of a text. tokens: shape `(n,)`; raises `InvalidInput` for too many contexts, or other tokens."""
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
        context = np.zeros(len(text) - length, dtype=np.int64)
        for back in range(length):
            context += (text[length - 1 - back : len(text) - 1 - back] + 1) * base**back
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
