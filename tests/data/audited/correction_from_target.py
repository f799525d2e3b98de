"""Token-by-token verification in plain Python; the wrong one corrects from p instead of the residual."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def right(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            return i, pick([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)])
    return len(tokens), pick(p[-1])


def wrong(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            return i, pick(p[i])
    return len(tokens), pick(p[-1])
