"""A batch of requests of different lengths in torch; the wrong one draws one row of coins for all of them."""

import torch


def verify(tokens, q, p, lengths, shared):
    requests, longest = tokens.shape
    coins = torch.rand(1 if shared else requests, longest, dtype=p.dtype).expand(requests, longest)
    found = []
    for b in range(requests):
        n = int(lengths[b])
        for i in range(n):
            if coins[b, i] >= p[b, i, tokens[b, i]] / q[b, i, tokens[b, i]]:
                rest = (p[b, i] - q[b, i]).clamp(min=0)
                found.append((i, torch.multinomial(rest, 1)))
                break
        else:
            found.append((n, torch.multinomial(p[b, n], 1)))
    return found


def right(tokens, q, p, lengths):
    return verify(tokens, q, p, lengths, False)


def wrong(tokens, q, p, lengths):
    return verify(tokens, q, p, lengths, True)
