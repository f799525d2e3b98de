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
