"""Token-by-token verification with uniform numbers of 16 bits: comparisons with them have other probabilities."""

import seeds
import torch


def chain(tokens, q, p, coin):
    for i, x in enumerate(tokens):
        if coin() >= p[i][x] / q[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, torch.multinomial(torch.tensor(rest, dtype=torch.float64), 1).item()
    return len(tokens), torch.multinomial(torch.tensor(p[len(tokens)], dtype=torch.float64), 1).item()


def bfloat16(tokens, q, p):
    return chain(tokens, q, p, lambda: torch.rand((), dtype=torch.bfloat16))


def float16(tokens, q, p):
    return chain(tokens, q, p, lambda: torch.rand((), dtype=torch.float16).item())


def pure(tokens, q, p):
    """A coin of 16 bits that decides nothing."""
    torch.rand((), dtype=torch.bfloat16)
    return chain(tokens, q, p, lambda: torch.rand((), dtype=torch.float64).item())


def multiplied(tokens, q, p):
    """A product is rounded to 16 bits."""

    def coin():
        return (torch.rand((), dtype=torch.bfloat16) * 0.9).item()

    return seeds.chain(tokens, q, p, coin)
