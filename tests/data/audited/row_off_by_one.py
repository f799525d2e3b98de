"""Token-by-token verification in torch; the wrong one judges drafts by the target row of the position before."""

import torch


def verify(tokens, q, p, off):
    length = tokens.shape[0]
    positions = torch.arange(length)
    judged = p[(positions - off).clamp(min=0)]
    ratio = judged[positions, tokens] / q[positions, tokens]
    accepted = torch.rand(length, dtype=p.dtype) < ratio
    n = int(accepted.long().cumprod(0).sum())
    if n == length:
        return n, torch.multinomial(p[n], 1)
    rest = (p[n] - q[n]).clamp(min=0)
    return n, torch.multinomial(rest if rest.sum() > 0 else p[n], 1)


def right(tokens, q, p):
    return verify(tokens, q, p, 0)


def wrong(tokens, q, p):
    return verify(tokens, q, p, 1)
