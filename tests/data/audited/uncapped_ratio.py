"""Block verification in plain Python; the wrong one accepts the whole path by the product of all its ratios."""

import random


def pick(row):
    return random.choices(range(len(row)), weights=row)[0]


def residual(weight, p, q):
    return [max(weight * a - b, 0) for a, b in zip(p, q, strict=True)]


def verify(tokens, q, p, capped):
    weights, product = [1], 1
    for i, x in enumerate(tokens):
        product *= p[i][x] / q[i][x]
        weights.append(min(1, weights[-1] * p[i][x] / q[i][x]))
    last = weights[-1] if capped else min(1, product)
    if random.random() < last:
        return list(tokens), pick(p[-1])
    for i in range(len(tokens) - 1, -1, -1):
        rest = residual(weights[i], p[i], q[i])
        if i == 0 or (sum(rest) > 0 and random.random() < sum(rest) / (sum(rest) + 1 - weights[i])):
            return list(tokens[:i]), pick(rest)


def right(tokens, q, p):
    return verify(tokens, q, p, True)


def wrong(tokens, q, p):
    return verify(tokens, q, p, False)


def token_wise(tokens, q, p):
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            return i, pick(residual(1, p[i], q[i]))
    return len(tokens), pick(p[-1])
