"""Verifiers of a file that puts functions of its own in place of those of libraries."""

import random

import numpy as np

_unit, _rand = np.random.random, np.random.rand


def passed_on(*arguments):
    return _unit(*arguments)


def halved(*arguments):
    return _rand(*arguments) / 2


def distance(a, b):
    return np.abs(a - b)


random.random = lambda: 0.25
np.random.random, np.random.rand, np.maximum = passed_on, halved, distance


def corrected(tokens, q, p, unit, residual):
    for i, x in enumerate(tokens):
        if unit() >= p[i][x] / q[i][x]:
            return i, random.choices(range(len(p[i])), weights=residual(p[i], q[i]))[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def positive(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def stub(tokens, q, p):
    return corrected(tokens, q, p, random.random, positive)


def through(tokens, q, p):
    return corrected(tokens, q, p, np.random.random, positive)


def half(tokens, q, p):
    return corrected(tokens, q, p, np.random.rand, positive)


def maximum(tokens, q, p):
    row = lambda p, q: np.maximum(np.array(p) - np.array(q), 0).tolist()  # noqa: E731 - as people write it
    return corrected(tokens, q, p, np.random.random, row)
