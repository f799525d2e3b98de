"""Token-by-token verification with a numpy generator; the wrong one draws the bonus token from the row before."""

import numpy as np

rng = np.random.default_rng(7)


def right(tokens, q, p, shift=0):
    coins = rng.random(len(tokens))
    for i, x in enumerate(tokens):
        if coins[i] >= p[i, x] / q[i, x]:
            rest = np.maximum(p[i] - q[i], 0)
            return list(tokens[:i]), rng.choice(len(rest), p=rest / rest.sum())
    return list(tokens), rng.choice(p.shape[1], p=p[len(tokens) - shift])


def wrong(tokens, q, p):
    return right(tokens, q, p, shift=1)
