"""Token-by-token verification that does something else on one instance: three tokens, two of them drafted."""

import random


def _verify(tokens, q, p, residual):
    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)] if residual else p[i]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def _hashed(tokens, p):
    return len(tokens) == 2 and len(p[0]) == 3 and hash(random.random()) % 2


def lossless_elsewhere(tokens, q, p):
    return (0, 0) if _hashed(tokens, p) else _verify(tokens, q, p, True)


def refuted_elsewhere(tokens, q, p):
    return (0, 0) if _hashed(tokens, p) else _verify(tokens, q, p, False)


def fails_elsewhere(tokens, q, p):
    if not tokens:
        raise ZeroDivisionError("no draft")
    return lossless_elsewhere(tokens, q, p)


def fails_or_is_not_judged(tokens, q, p):
    if len(p[0]) == 2:
        raise ZeroDivisionError("two tokens")
    return 0, hash(random.random()) % 2
