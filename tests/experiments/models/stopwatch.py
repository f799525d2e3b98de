"""A stopwatch around `generate`, which knows nothing of how `model choose` measures, predicts or weighs.

It counts processor time, which other programs on the machine hardly change; so does `model choose --clock processor`.
"""

import math
import statistics
import time
from typing import Any

import torch


def seconds_of(target: Any, prompt: list[int], tokens: int, **how: Any) -> float:
    ids, began = torch.tensor([prompt]), time.process_time()
    text = target.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, **how)
    seconds = time.process_time() - began
    assert text.shape[1] == len(prompt) + tokens
    return seconds


def times_faster(
    target: Any, prompts: list[list[int]], tokens: int, plain: dict[str, Any], other: dict[str, Any], rounds: int
) -> tuple[float, float]:
    """How many times as fast `other` writes as `plain`, in turn, by the median round; standard error of the log."""
    logs = []
    for _ in range(-1, rounds):
        pairs = [[seconds_of(target, each, tokens, **how) for how in (plain, other)] for each in prompts]
        first, second = map(sum, zip(*pairs, strict=True))
        logs.append(math.log(first / second))
    kept = logs[1:]  # the first one warms up
    return math.exp(statistics.median(kept)), 1.25 * statistics.stdev(kept) / math.sqrt(len(kept))
