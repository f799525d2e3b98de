"""A draft that gives the rows of all tokens of a block after one pass, counted on a text.

The row of the `t`-th token of a tree depends on the last tokens of the text before the tree and on `t`, not on what is
drafted: it is what came `t` places after such tokens in the text that was counted. This is how Medusa heads and
diffusion drafters draft. The rows are those of n-grams (`text_drafts`) with a gap: `n(c, y)` counts where `y` came `t`
places after `c`. Without a tree, as in assisted generation of transformers, it is the n-gram model, `t = 1` everywhere.

In a tree the loop asks a draft of this kind for `ahead`, with the states that the pass gave at the root
(`loop.reading.BlockReading`). `V` is the vocabulary size.
"""

from __future__ import annotations

from typing import Any

import torch

from draftproof.experiments.models.pair.text_drafts import NgramModel, TextConfig, TextModel, count_ngrams
from draftproof.simulator.errors import InvalidInput


class ParallelConfig(TextConfig):
    """See `TextConfig`; numbers: the order and the depth."""

    model_type = "draftproof_parallel"


class ParallelModel(TextModel):
    """See the module; made by `count_parallel`. places: the n-gram model of each place of a block."""

    config_class = ParallelConfig
    drafts_blocks = True

    def __init__(self, config: ParallelConfig, places: list[NgramModel]) -> None:
        super().__init__(config)
        self.places = torch.nn.ModuleList(places)
        self.post_init()

    @property
    def reach(self) -> int:
        return self._place(0).reach

    def rows(self, recent: torch.Tensor) -> torch.Tensor:
        return self._place(0).rows(recent)

    def ahead(self, states: torch.Tensor, depth: int) -> torch.Tensor:
        """The logits of the token after `depth` more tokens, whatever they are, shape `(n, V)`.

        states: of the pass at the root, shape `(n, width)`. Raises `InvalidInput` beyond the depth of the model.
        """
        return self._place(depth).rows(states).log().to(self.dtype)

    def continued(self, root: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
        """The logits after `root + context` where trees begin after the root, shape `(n, V)`.

        root: the text before the tree, shape `(1, m)`; contexts: shape `(n, length)`.
        """
        output: Any = self(root, use_cache=False)
        return self.ahead(output.hidden_states[0][:, -1], contexts.shape[1]).expand(len(contexts), -1)

    def _place(self, depth: int) -> NgramModel:
        if depth >= len(self.places):
            order, most = (int(number) for number in self.config.numbers)
            raise InvalidInput(
                f"the draft parallel:order={order},depth={most} has no row for token {depth + 1} of a tree; "
                f"give it depth={depth + 1}, or choose a shallower tree"
            )
        place: Any = self.places[depth]
        return place  # type: ignore[no-any-return]


def count_parallel(tokens: Any, vocab_size: int, order: int = 2, depth: int = 4) -> ParallelModel:
    """The draft of a text for trees of up to `depth` tokens; raises as `count_ngrams`. tokens: shape `(n,)`."""
    places = [count_ngrams(tokens, vocab_size, order, gap) for gap in range(depth)]
    made = ParallelModel(ParallelConfig(vocab_size=vocab_size, numbers=(float(order), float(depth))), places)
    made.eval()
    return made
