"""Token-by-token verification; the wrong one accepts where p is at least q and rejects elsewhere, without a coin."""

import random


def verify(tokens, q, p, tossed):
    for i, x in enumerate(tokens):
        ratio = p[i][x] / q[i][x]
        if random.random() >= ratio if tossed else ratio < 1:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def right(tokens, q, p):
    return verify(tokens, q, p, True)


def wrong(tokens, q, p):
    return verify(tokens, q, p, False)
