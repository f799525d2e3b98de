"""Memory that nothing was written to, in verifiers of one path: what is left in it decides, or is masked away."""

import numpy as np
import torch


def verify(tokens, q, p, noise):
    for i, token in enumerate(tokens):
        if torch.rand((), dtype=torch.float64) * q[i][token] >= p[i][token]:
            excess = torch.clamp(p[i] - q[i], min=0)
            return i, (excess / noise).argmax().item()
    return len(tokens), (p[-1] / noise).argmax().item()


def right_filled(tokens, q, p):
    return verify(tokens, q, p, torch.empty(p.shape[1], dtype=torch.float64).exponential_())


def wrong_part_filled(tokens, q, p):
    """The noise of the last token is never drawn."""
    noise = torch.empty(p.shape[1], dtype=torch.float64)
    noise[:-1].exponential_()
    return verify(tokens, q, p, noise)


def wrong_returned(tokens, q, p):
    out = torch.empty(len(tokens) + 1, dtype=torch.int64)
    out[:-1] = tokens
    return out


def right_masked(tokens, q, p):
    """The comparison of what was never set is masked away."""
    spare = np.empty(3)
    spare[0] = 1.0
    used = (spare > 0.5) & np.array([True, False, False])
    return verify(tokens, q, p, torch.empty(p.shape[1], dtype=torch.float64).exponential_()) if used[0] else (0, 0)


def drawn(tokens, q, p):
    return verify(tokens, q, p, torch.empty(p.shape[1], dtype=torch.float64).exponential_())


def right_masked_index(tokens, q, p):
    """Rows are looked up at places that were never set, and left out."""
    places = torch.empty(3, dtype=torch.int64) % 2
    looked_up = torch.where(torch.tensor([False] * 3), torch.tensor([0.25, 0.5])[places], torch.zeros(3))
    return drawn(tokens, q, p) if looked_up.sum() == 0 else (0, 0)


def wrong_difference(tokens, q, p):
    """Two numbers that were never set are taken for equal."""
    left = torch.empty(4, dtype=torch.float64)
    return drawn(tokens, q, p) if left[0] - left[2] == 0 else (0, 0)


def wrong_comparison(tokens, q, p):
    spare, other = np.empty(1), np.empty(1)
    return drawn(tokens, q, p) if spare[0] <= abs(other[0]) / 2 else (0, 0)


def wrong_index(tokens, q, p):
    row = torch.tensor([0.0, 1.0, 1.0])[torch.empty(1, dtype=torch.int32)]
    return drawn(tokens, q, p) if row == 0 else (0, 0)


def wrong_batch_of_types(tokens, q, p):
    flags, halves = np.empty(8, dtype=bool), torch.empty(2, dtype=torch.float16)
    return drawn(tokens, q, p) if flags.sum() + (halves > 1).sum() < 4 else (0, 0)
