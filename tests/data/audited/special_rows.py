"""Verifiers of one path on rows with masked tokens: they keep the law, or give masked tokens."""

import math
import random


def residual(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def drawn(weights):
    return random.choices(range(len(weights)), weights=weights)[0]


def verify(tokens, q, p, correct):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, drawn(correct(p[i], q[i]))
    return len(tokens), drawn(p[-1])


def right_masked(tokens, q, p):
    return verify(tokens, q, p, residual)


def wrong_masked(tokens, q, p):
    """The last token of the vocabulary, which is padding, gets what its probability is rounded up to."""
    return verify(tokens, q, p, lambda p, q: [*residual(p, q)[:-1], max(p[-1] - q[-1], 1 / 64)])


def softmax(row):
    return [math.exp(score) for score in row]


def right_logits(tokens, q, p):
    return right_masked(tokens, list(map(softmax, q)), list(map(softmax, p)))


def wrong_logits(tokens, q, p):
    """Scores are held above -4, as if -inf were too small to compute with."""
    p = [[max(score, -4) for score in row] for row in p]
    p = [[mass / sum(softmax(row)) for mass in softmax(row)] for row in p]
    return right_masked(tokens, list(map(softmax, q)), p)
