"""Token-by-token verification whose coins are made of normal noise: no exact audit follows it."""

import math
import random


def coin():
    return 0.5 * (1 + math.erf(random.gauss(0, 1) / math.sqrt(2)))


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def verify(tokens, q, p, correct):
    for i, token in enumerate(tokens):
        if coin() * q[i][token] >= p[i][token]:
            return i, pick(correct(p[i], q[i]))
    return len(tokens), pick(p[-1])


def right(tokens, q, p):
    return verify(tokens, q, p, lambda p, q: [max(a - b, 0) for a, b in zip(p, q, strict=True)])


def wrong(tokens, q, p):
    return verify(tokens, q, p, lambda p, q: p)


def impossible(tokens, q, p):
    """A token that the target excludes, once in a while."""
    excluded = [token for token, mass in enumerate(p[0]) if mass == 0]
    return (0, excluded[0]) if excluded and coin() < 0.01 else right(tokens, q, p)


def fails_rarely(tokens, q, p):
    """Divides by zero once in a while."""
    return right(tokens, q, p) if coin() > 0.01 else (0, 1 // 0)


def fails(tokens, q, p):
    return [][int(coin())]
