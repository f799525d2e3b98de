"""How well an interpolated n-gram model predicts tokens: the yardstick for trained models.

The model is that of `draftproof.simulator.instances.ngram` ([witten1991zero], method C) in floats, for any vocabulary
size `V`: only contexts that occur are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput


def ngram_bits(training: Any, held_out: Any, vocab_size: int, order: int) -> float:
    """Bits per token of the held-out tokens, each after the `order` tokens before it, training tokens included.

    training, held_out: token arrays of shape `(n,)`; raises `InvalidInput` where `training` is shorter than a context.
    """
    if len(training) <= order:
        raise InvalidInput(f"{len(training)} training tokens are too few for order {order}")
    kinds, tokens = np.unique(np.concatenate([training, held_out]), return_inverse=True)
    size = len(kinds)  # tokens that never occur need no number
    if float(size) ** (order + 1) >= 2.0**63:
        raise InvalidInput(f"order {order} over {size} different tokens has too many contexts; lower the order")
    known, asked = tokens[: len(training)], tokens[len(training) - order :]
    mass = np.full(len(held_out), 1 / vocab_size)
    for length in range(order + 1):
        seen, after = _windows(known, length, size)
        context, wanted = (part[order - length :] for part in _windows(asked, length, size))
        both, both_counts = np.unique(seen * size + after, return_counts=True)
        different = _looked_up(context, *np.unique(both // size, return_counts=True))
        total = _looked_up(context, *np.unique(seen, return_counts=True)) + different
        count = _looked_up(context * size + wanted, both, both_counts)
        mass = np.where(total > 0, (count + different * mass) / np.maximum(total, 1), mass)
    return float(-np.log2(mass).mean())


def _windows(tokens: Any, length: int, size: int) -> tuple[Any, Any]:
    """Every run of `length` tokens as one number in base `size`, and the token after it."""
    starts = len(tokens) - length
    index = np.zeros(starts, dtype=np.int64)
    for offset in range(length):
        index = index * size + tokens[offset : offset + starts]
    return index, np.asarray(tokens[length:], dtype=np.int64)


def _looked_up(asked: Any, keys: Any, values: Any) -> Any:
    """The value of every key asked for, 0 for keys that are not there; keys are sorted."""
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, values[place], 0)
