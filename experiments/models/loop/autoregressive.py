"""Plain generation, one token a pass: what speculative generation must be faster than, with the same law.

It keeps the model's own cache and gives no mask, so it shares nothing with the tree passes but the rows and the coin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from draftproof.experiments.models.loop.generation import Generation, cut
from draftproof.experiments.models.loop.loop import Block
from draftproof.experiments.models.loop.rows import RowsOf
from draftproof.experiments.models.loop.supported import check_prompt
from draftproof.experiments.models.loop.timing import Stopwatch
from draftproof.experiments.models.pair.devices import within_memory
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.protocol import Coin


@torch.inference_mode()
def autoregressive(
    pair: Pair,
    prompt: Sequence[int],
    warp: Warp,
    coin: Coin,
    max_new_tokens: int,
    stop: Collection[int] = (),
    vectors: str = "numpy",
    draft: bool = False,
) -> Generation:
    """`max_new_tokens` tokens after a prompt from the target, or from the draft model; arguments as for `generate`.

    Each block is one token at depth 0; the seconds that draw it count as verification.
    """
    check_prompt(pair, prompt, max_new_tokens)
    model = pair.draft if draft else pair.target
    rows_of, watch = RowsOf(warp, pair.vocab_size, vectors), Stopwatch(pair.device)
    started = watch.now()
    tokens: list[int] = []
    with within_memory("generating token by token", pair.device):
        cache, unread = None, torch.tensor([list(prompt)], device=pair.device)
        if len(prompt) > 1:
            with watch.part("prompt"):
                cache = model(input_ids=unread[:, :-1], use_cache=True).past_key_values
        unread = unread[:, -1:]
        while len(tokens) < max_new_tokens and not (tokens and tokens[-1] in stop):
            with watch.part("draft" if draft else "target"):
                output = model(input_ids=unread, past_key_values=cache, use_cache=True)
                cache, numbers = output.past_key_values, rows_of.numbers(output.logits[:, -1:])
            with watch.part("verify"):
                tokens.append(coin.choose(rows_of.vectors(numbers)[0, 0]))
                unread = torch.tensor([tokens[-1:]], device=pair.device)
    blocks = tuple(Block((), token) for token in tokens)
    return Generation(cut(tokens, max_new_tokens, stop), blocks, watch.seconds, watch.now() - started)
