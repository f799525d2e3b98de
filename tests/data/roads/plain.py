"""Token-by-token verification, right and wrong."""

import random


def right(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def wrong(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            return i, random.choices(range(len(p[i])), weights=p[i])[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def hashed(tokens, q, p):
    return len(tokens), hash(random.random()) % 2
