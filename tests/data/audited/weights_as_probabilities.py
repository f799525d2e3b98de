"""Block verification in numpy; the wrong one stops at a depth with the weight of that depth itself."""

import numpy as np

rng = np.random.default_rng()


def verify(tokens, q, p, chance):
    weights = [1.0]
    for i, x in enumerate(tokens):
        weights.append(min(1.0, weights[-1] * p[i, x] / q[i, x]))
    if rng.random() < weights[-1]:
        return len(tokens), rng.choice(len(p[-1]), p=p[-1])
    for i in reversed(range(len(tokens))):
        rest = np.maximum(weights[i] * p[i] - q[i], 0)
        if i == 0 or rng.random() < chance(weights[i], rest.sum()):
            if not rest.any():
                rest = p[i]
            return i, rng.choice(len(rest), p=rest / rest.sum())


def right(tokens, q, p):
    return verify(tokens, q, p, lambda weight, spare: spare / (spare + 1 - weight) if spare else 0)


def wrong(tokens, q, p):
    return verify(tokens, q, p, lambda weight, spare: weight)
