"""Token-by-token verification in numpy; the wrong one accepts a token of probability zero where its coin is zero."""

import numpy as np


def verify(tokens, q, p, accepts):
    coins = np.random.random(len(tokens))
    for i, x in enumerate(tokens):
        if not accepts(coins[i], p[i, x] / q[i, x]):
            rest = np.cumsum(np.maximum(p[i] - q[i], 0))
            return i, int(np.searchsorted(rest, np.random.random() * rest[-1], side="right"))
    return len(tokens), int(np.searchsorted(np.cumsum(p[-1]), np.random.random(), side="right"))


def right(tokens, q, p):
    return verify(tokens, q, p, lambda coin, ratio: coin < ratio)


def wrong(tokens, q, p):
    return verify(tokens, q, p, lambda coin, ratio: coin <= ratio)
