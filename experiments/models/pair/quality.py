"""How good a language model is: bits per character on held-out text, and a sample of what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.devices import libraries, within_memory
from draftproof.experiments.models.pair.ngram_bits import ngram_bits
from draftproof.experiments.models.pair.warp import Warp

#: Windows scored in one pass, fewer where their logits would be more than so many numbers.
BATCH, BATCH_ENTRIES = 64, 2**24


@dataclass(frozen=True)
class Quality:
    """Bits per character of the pair and of n-gram models of order 3 and 1, on the same held-out characters.

    tokens_per_character turns bits per token into these.
    """

    target: float
    draft: float
    ngram3: float
    ngram1: float
    tokens_per_character: float


def measure(
    models: Sequence[Any], training: Any, held_out: Any, characters: int, vocab_size: int, window: int
) -> Quality:
    """Quality of target and draft; tokens as arrays of shape `(n,)`, `characters` the number held out."""
    share = len(held_out) / characters
    target, draft = (model_bits(each, training, held_out, vocab_size, window) for each in models)
    third, first = (ngram_bits(training, held_out, vocab_size, order) for order in (3, 1))
    return Quality(target * share, draft * share, third * share, first * share, share)


def model_bits(model: Any, training: Any, held_out: Any, vocab_size: int, window: int) -> float:
    """Bits per token of the held-out tokens, each scored once, after at least `window / 2` tokens before it.

    Windows of `window` tokens overlap by half, the first reaches back into the training tokens.
    """
    torch, _ = libraries()
    half, count = window // 2, max(1, min(BATCH, BATCH_ENTRIES // (window * vocab_size)))
    before = training[-half:]
    tokens = np.concatenate([before, held_out])
    total = 0.0
    with torch.no_grad(), within_memory("scoring held-out text", model.device):
        for first in range(0, len(held_out), half * count):
            starts = range(first, min(first + half * count, len(held_out)), half)
            batch = _stacked([tokens[start : start + len(before) + half] for start in starts], model.device)
            chances = model(batch.clamp(min=0), use_cache=False).logits[:, len(before) - 1 : -1]
            wanted = batch[:, len(before) :]
            scored = chances.double().log_softmax(dim=-1).gather(-1, wanted.clamp(min=0)[..., None])[..., 0]
            total -= float(scored[wanted >= 0].sum())
    return total / log(2) / len(held_out)


def sample(model: Any, prompt: Sequence[int], count: int, seed: int, warp: Warp) -> list[int]:
    """`count` tokens after the prompt, one at a time, drawn by a generator of its own."""
    torch, _ = libraries()
    generator = np.random.default_rng(seed)
    tokens: list[int] = []
    entered, cache = torch.tensor([list(prompt)], device=model.device), None
    with torch.no_grad(), within_memory("writing a sample", model.device):
        for _ in range(count):
            done = model(entered, past_key_values=cache, use_cache=True)
            row = warp.rows(done.logits[0, -1]).cpu().numpy()
            tokens.append(int(generator.choice(len(row), p=row / row.sum())))
            entered, cache = torch.tensor([tokens[-1:]], device=model.device), done.past_key_values
    return tokens


def _stacked(windows: Sequence[Any], device: Any) -> Any:
    """Windows as one tensor; the last ones may be shorter and are filled up with -1."""
    torch, _ = libraries()
    width = max(len(each) for each in windows)
    rows = np.full((len(windows), width), -1, dtype=np.int64)
    for row, each in zip(rows, windows, strict=True):
        row[: len(each)] = each
    return torch.from_numpy(rows).to(device)
