"""Random numbers among the arguments, known by the names of parameters; the wrong ones correct from p."""

import numpy as np


def raced(weights, noise):
    return int(np.argmax(np.where(weights > 0, weights / noise, -1)))


def shifted(weights, gumbel):
    return int(np.argmax([np.log(w) + g if w > 0 else -np.inf for w, g in zip(weights, gumbel, strict=True)]))


def inverse(weights, coin):
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges / edges[-1], coin, side="right"))


def verify(tokens, q, p, uniforms, sample, residual=True):
    for i, token in enumerate(tokens):
        if uniforms[i] * q[i, token] >= p[i, token]:
            return i, sample(np.maximum(p[i] - q[i], 0) if residual else p[i])
    return len(tokens), sample(p[len(tokens)])


def exponential(residual):
    def function(tokens, q, p, uniform_samples, exponential_noise):
        return verify(tokens, q, p, uniform_samples, lambda row: raced(row, exponential_noise), residual)

    return function


def gumbel(residual):
    def function(tokens, q, p, uniform_probs, *, gumbels):
        return verify(tokens, q, p, uniform_probs, lambda row: shifted(row, gumbels), residual)

    return function


def final(residual):
    def function(tokens, q, p, coins, bonus_uniform=None):
        return verify(tokens, q, p, coins, lambda row: inverse(row, bonus_uniform), residual)

    return function


def flat(residual):
    def function(draft_token_ids, draft_probs, target_probs, uniform_rand, gumbel_noise):
        kept, last = verify(
            draft_token_ids,
            draft_probs,
            target_probs,
            uniform_rand,
            lambda row: shifted(row, gumbel_noise[0]),
            residual,
        )
        return [[*draft_token_ids[:kept], last]]

    return function


def batch(tokens, q, p, lengths, uniforms, exponential, shared):
    return [
        verify(
            tokens[b][: lengths[b]], q[b], p[b], uniforms[b], lambda row, b=b: raced(row, exponential[b - shared * b])
        )
        for b in range(len(tokens))
    ]


def right_batch(tokens, q, p, lengths, uniforms, exponential):
    return batch(tokens, q, p, lengths, uniforms, exponential, False)


def wrong_batch(tokens, q, p, lengths, uniforms, exponential):
    """One row of noise for all requests."""
    return batch(tokens, q, p, lengths, uniforms, exponential, True)


right_exponential, wrong_exponential = exponential(True), exponential(False)
right_gumbel, wrong_gumbel = gumbel(True), gumbel(False)
right_final, wrong_final = final(True), final(False)
right_flat, wrong_flat = flat(True), flat(False)
