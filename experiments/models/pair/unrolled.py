"""Passes of a head over its own outputs, as in a tree, for all places of a text at once.

In pass `j` the token at `t` reads the feature that pass `j - 1` expects at `t - 1`. It sees the tokens up to `t - j` as
pass 0 read them, with the target's features, and the token at `t - j + i` as pass `i` read it. So its row is the one
that the head gives where a tree begins after the token at `t - j` and the text goes on along the tree: the
training-time test of EAGLE-3 ([2503.01840](https://arxiv.org/abs/2503.01840)), whose passes GRIFFIN has, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from transformers import DynamicCache

from draftproof.experiments.models.pair.hidden import shifted


def unrolled(head: Any, windows: torch.Tensor, features: torch.Tensor, passes: int, detached: bool) -> Iterator[Any]:
    """The output of the head in each pass.

    windows: tokens, shape `(B, n)`; features: the target's, shape `(B, n, H)`. detached: whether no gradient goes from
    a pass into the one before it through the features, only through the keys that it sees.
    """
    cache, places = DynamicCache(), torch.arange(windows.shape[1], device=windows.device)
    behind, read = places[:, None] - places, shifted(features)
    for number in range(passes):
        sees = torch.cat([behind >= number, *(behind == number - later for later in range(1, number + 1))], 1)
        output = head(
            windows,
            attention_mask=additive(sees, read.dtype),
            position_ids=places[None],
            past_key_values=cache,
            use_cache=True,
            features=read,
        )
        yield output
        expected = output.hidden_states[0]
        read = shifted(expected.detach() if detached else expected)


def additive(sees: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A mask of four dimensions for all sequences, 0 where an entry is seen. sees: shape `(n, T)`."""
    mask = torch.zeros(sees.shape, dtype=dtype, device=sees.device)
    return mask.masked_fill_(~sees, torch.finfo(dtype).min)[None, None]


def blocks(
    head: Any, windows: torch.Tensor, features: torch.Tensor, starts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The logits of a SpecBlock drafter after every token, in the blocks at some, and in the blocks that follow these.

    Shapes `(B, n, V)`, `(B, m, K, V)` and `(B, m, K, V)`. starts: tokens where blocks start, in order, shape `(m,)`, at
    most `n - 1 - K`; the next block starts `K` tokens later and reads what these inherit.
    """
    size, (count, length), device = head.places, windows.shape, windows.device
    cache, within = DynamicCache(), torch.arange(size, device=device)
    entries_of = torch.ones(length, dtype=torch.long, device=device)
    entries_of[starts] = size
    at = torch.arange(length, device=device).repeat_interleave(entries_of)
    begins = entries_of.cumsum(0) - entries_of
    places = torch.arange(len(at), device=device) - begins[at]
    own = (at[:, None] == at) & (places[:, None] >= places)
    first = head(
        windows[:, at],
        attention_mask=additive(own | ((at[:, None] > at) & (places == 0)), features.dtype),
        position_ids=(at + places)[None],
        past_key_values=cache,
        use_cache=True,
        features=shifted(features)[:, at],
        places=places.expand(count, -1),
    )
    there = begins[starts][:, None] + within
    states = first.hidden_states[0][:, there]
    # A group: the K tokens after a start, then the places of the block that starts at the last of them.
    tokens = windows[:, starts[:, None] + 1 + within]
    entries = torch.cat([torch.zeros_like(within), within[1:]])
    numbers = torch.arange(len(entries), device=device).repeat(len(starts))
    group = torch.arange(len(starts), device=device).repeat_interleave(len(entries))
    begun = starts[group]
    before = (at <= begun[:, None]) & (places == 0)
    same = (group[:, None] == group) & (numbers[:, None] >= numbers)
    second = head(
        torch.nn.functional.pad(tokens, (0, size - 1)).flatten(1),
        attention_mask=additive(torch.cat([before, same], 1), features.dtype),
        position_ids=(begun + 1 + numbers)[None],
        past_key_values=cache,
        use_cache=True,
        features=torch.cat([states, states[:, :, -1:].expand(-1, -1, size - 1, -1)], 2).flatten(1, 2),
        places=entries.repeat(len(starts)).expand(count, -1),
    )
    later = second.logits.view(count, len(starts), len(entries), -1)[:, :, size - 1 :]
    return first.logits[:, begins], first.logits[:, there], later
