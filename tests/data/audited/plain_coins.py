"""A function that takes coins as plain numbers only, as compiled code does: symbols do not fit in eight bytes."""

import struct

import numpy as np


def as_compiled(numbers):
    """Numbers as a foreign function gets them."""
    return struct.unpack(f"{len(numbers)}d", struct.pack(f"{len(numbers)}d", *numbers))


def verify(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    coins, final = as_compiled(uniforms), as_compiled(final_uniforms)
    for i, token in enumerate(draft_token_ids):
        if coins[i] >= target_probs[i, token] / draft_probs[i, token]:
            rest = np.cumsum(np.maximum(target_probs[i] - draft_probs[i], 0))
            last = np.searchsorted(rest / rest[-1], final[0], side="right")
            return [[*draft_token_ids[:i], last]]
    return [[*draft_token_ids, np.searchsorted(np.cumsum(bonus_probs[0]), final[0], side="right")]]
