"""Token-by-token verification of lists of floats in torch; in numbers of fewer and fewer digits."""

import random

import torch


def verify(tokens, q, p, dtype):
    q, p = torch.tensor(q, dtype=dtype), torch.tensor(p, dtype=dtype)
    for i, x in enumerate(tokens):
        if random.random() >= (p[i, x] / q[i, x]).item():
            rest = (p[i] - q[i]).clamp(min=0)
            return i, torch.multinomial(rest / rest.sum(), 1).item()
    return len(tokens), torch.multinomial(p[-1], 1).item()


def double(tokens, q, p):
    return verify(tokens, q, p, torch.float64)


def single(tokens, q, p):
    return verify(tokens, q, p, torch.float32)


def half(tokens, q, p):
    return verify(tokens, q, p, torch.float16)
