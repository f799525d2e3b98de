"""Token-by-token verification in torch whose weights get a guard that is no literal beside an operation."""

import torch


def verify(tokens, q, p, guarded):
    n = 0
    for i, x in enumerate(tokens.tolist()):
        if not torch.rand(()) < p[i, x] / q[i, x]:
            break
        n += 1
    row = guarded((p[n] - q[n]).clamp(min=0) if n < len(tokens) else p[n])
    return n, int(torch.multinomial(row / row.sum(), 1))


WORK = torch.empty(8)


def verify_in_memory(tokens, q, p):
    """Its coins are drawn into memory that a call before may have used."""
    coins = WORK[: len(tokens)].uniform_()
    refused = [i for i, x in enumerate(tokens.tolist()) if not coins[i] < p[i, x] / q[i, x]]
    n = refused[0] if refused else len(tokens)
    return n, int(torch.multinomial((p[n] - q[n]).clamp(min=0) if refused else p[n], 1))


def tensor(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + torch.tensor(1e-7, dtype=p.dtype))


def tensor_large(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + torch.tensor(1e-3, dtype=p.dtype))


def clamped(tokens, q, p):
    return verify(tokens, q, p, lambda row: row.clamp_min(1e-7))


def added(tokens, q, p):
    return verify(tokens, q, p, lambda row: torch.add(row, 1e-7))


def finfo(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + torch.finfo(torch.float32).eps)


def finfo_large(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + torch.finfo(torch.float16).eps)


def bfloat(tokens, q, p):
    return verify(tokens, q.bfloat16(), p.bfloat16(), lambda row: row.double())
