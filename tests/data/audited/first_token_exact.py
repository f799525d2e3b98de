"""Token-by-token verification with numpy's legacy functions; the wrong one is right about the first token only."""

import numpy as np


def verify(tokens, q, p, exact_to):
    for i, x in enumerate(tokens):
        if not np.random.rand() < p[i, x] / q[i, x]:
            rest = np.maximum(p[i] - q[i], 0) if i < exact_to else p[i]
            return i, np.argmax(np.random.multinomial(1, rest / rest.sum()))
    return len(tokens), np.argmax(np.random.multinomial(1, p[len(tokens)]))


def right(tokens, q, p):
    return verify(tokens, q, p, len(tokens))


def wrong(tokens, q, p):
    return verify(tokens, q, p, 1)
