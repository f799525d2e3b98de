"""Lookup as a draft: what followed the longest run of last tokens where it came before in the same text.

Of the places where the last `m` tokens came before, `m` up to `n` and as large as there are any, each has the same part
of `1 - fresh`; the rest, and all where even the last token is new, goes to how often tokens came, one added to each:
`(count + 1) / (length + V)`. No row has a zero. `V` is the vocabulary size.
"""

from __future__ import annotations

import torch

from draftproof.experiments.models.drafts.text_model import TextConfig, TextModel


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
        """All of the text."""
        return

    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        most, fresh = int(self.config.numbers[0]), self.config.numbers[1]
        there = recent >= 0
        rows = _counted(recent, there.double(), self.config.vocab_size) + 1
        rows /= rows.sum(1, keepdim=True)
        lengths = _matches(recent, most)
        longest = lengths.amax(1, keepdim=True) if lengths.shape[1] else lengths.new_zeros(len(recent), 1)
        best = ((lengths == longest) & (lengths > 0)).double()
        followed = _counted(recent[:, :-1], best, self.config.vocab_size) / best.sum(1, keepdim=True).clamp(min=1)
        return torch.where(longest > 0, (1 - fresh) * followed + fresh * rows, rows)


def lookup(vocab_size: int, n: int = 3, fresh: float = 0.1) -> LookupModel:
    """The draft that looks for the last `n` tokens; fresh: what is left for others, between 0 and 1."""
    made = LookupModel(LookupConfig(vocab_size=vocab_size, numbers=(float(n), fresh)))
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
    """The weights of each token added up, float64, shape `(m, V)`; tokens of -1 have weight 0."""
    found = torch.zeros(len(tokens), size, dtype=torch.float64, device=tokens.device)
    return found.scatter_add_(1, tokens.clamp(min=0), weights)
