"""A function that takes coins as plain numbers only, as compiled code does: symbols do not fit in eight bytes."""

import struct

import numpy as np


def as_compiled(numbers):
    """Numbers as a foreign function gets them."""
    return struct.unpack(f"{len(numbers)}d", struct.pack(f"{len(numbers)}d", *numbers))


def verify(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms, rest_of):
    coins, final = as_compiled(uniforms), as_compiled(final_uniforms)
    for i, token in enumerate(draft_token_ids):
        if coins[i] >= target_probs[i, token] / draft_probs[i, token]:
            rest = np.cumsum(rest_of(target_probs[i], draft_probs[i]))
            last = np.searchsorted(rest / rest[-1], final[0], side="right")
            return [[*draft_token_ids[:i], last]]
    return [[*draft_token_ids, np.searchsorted(np.cumsum(bonus_probs[0]), final[0], side="right")]]


def right(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    given = draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms
    return verify(*given, lambda p, q: np.maximum(p - q, 0))


def wrong(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    given = draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms
    return verify(*given, lambda p, q: p)


def race(draft_token_ids, bonus_probs, uniforms, final_uniforms):
    """Thresholds that move with another coin."""
    coins = as_compiled(uniforms)
    return [[int(coins[0] < coins[-1] ** 2)]]
