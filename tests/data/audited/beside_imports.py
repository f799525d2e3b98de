"""Imported by a function of the file beside it, while that runs."""

from random import choices, random


def corrected(tokens, q, p, correction):
    for i, x in enumerate(tokens):
        if float(random()) >= p[i][x] / q[i][x]:
            return i, choices(range(len(p[i])), weights=correction(p[i], q[i]))[0]
    return len(tokens), choices(range(len(p[-1])), weights=p[-1])[0]


def verify(tokens, q, p):
    return corrected(tokens, q, p, lambda p, q: [max(a - b, 0) for a, b in zip(p, q, strict=True)])


def wrong(tokens, q, p):
    return corrected(tokens, q, p, lambda p, q: p)
