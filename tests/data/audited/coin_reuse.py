"""A ragged batch with its coins as arguments; the wrong one corrects with the coin that rejected the draft."""

import numpy as np


def verify(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs, uniforms, final, again):
    output = np.full((len(cu_num_draft_tokens), max(np.diff(cu_num_draft_tokens, prepend=0)) + 1), -1)
    start = 0
    for request, end in enumerate(cu_num_draft_tokens):
        for place, i in enumerate(range(start, end)):
            token, coin = draft_token_ids[i], uniforms[i]
            if coin >= target_probs[i, token] / draft_probs[i, token]:
                rest = np.cumsum(np.maximum(target_probs[i] - draft_probs[i], 0))
                coin = uniforms[i] if again else final[request]
                output[request, place] = np.searchsorted(rest / rest[-1], coin, side="right")
                break
            output[request, place] = token
        else:
            output[request, end - start] = np.searchsorted(
                np.cumsum(bonus_probs[request]), final[request], side="right"
            )
        start = end
    return output


def right(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    given = draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs
    return verify(*given, uniforms, final_uniforms, False)


def shared(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    """Forgets where the coins of the second request begin."""
    coins = np.concatenate([uniforms[:length] for length in np.diff(cu_num_draft_tokens, prepend=0)])
    given = draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs
    return verify(*given, coins, final_uniforms, False)


def wrong(draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
    given = draft_token_ids, cu_num_draft_tokens, draft_probs, target_probs, bonus_probs
    return verify(*given, uniforms, final_uniforms, True)
