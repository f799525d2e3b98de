"""Token-by-token verification whose weights get a guard, written in many ways: of 1e-7, and of 1e-3."""

import random

import numpy as np


def verify(tokens, q, p, guarded):
    n = len(tokens)
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            n = i
            break
    row = guarded(np.maximum(p[n] - q[n], 0) if n < len(tokens) else p[n])
    return n, int(np.random.choice(len(row), p=row / row.sum()))


def literal(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + 1e-7)


class Verifier:
    floor = 1e-7

    def __init__(self, eps=1e-7):
        self.eps = eps

    def __call__(self, tokens, q, p):
        return verify(tokens, q, p, lambda row: row + self.eps)

    def floored(self, tokens, q, p):
        return verify(tokens, q, p, lambda row: row + self.floor)


attribute, attribute_large = Verifier(), Verifier(1e-3)


def class_attribute(tokens, q, p):
    return Verifier().floored(tokens, q, p)


def clipped(tokens, q, p):
    return verify(tokens, q, p, lambda row: np.clip(row, 1e-7, None))


def clipped_large(tokens, q, p):
    return verify(tokens, q, p, lambda row: np.clip(row, 1e-3, None))


def scalar(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + np.float32(1e-7))


SETTINGS = {"eps": 1e-7, "large": 1e-3}


def dictionary(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + SETTINGS["eps"])


def dictionary_large(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + SETTINGS["large"])


def power(tokens, q, p):
    return verify(tokens, q, p, lambda row: row + 10**-7)


def logarithm(tokens, q, p):
    """The race of keras-hub and others: a guard within the logarithm of the weights."""
    return verify_race(tokens, q, p, 1e-7)


def logarithm_large(tokens, q, p):
    return verify_race(tokens, q, p, 1e-3)


def verify_race(tokens, q, p, eps):
    n = 0
    while n < len(tokens) and np.random.random() * q[n][tokens[n]] < p[n][tokens[n]]:
        n += 1
    row = np.maximum(p[n] - q[n], 0) if n < len(tokens) else p[n]
    return n, int(np.argmax(np.log(row + eps) + np.random.gumbel(size=len(row))))


def rare(tokens, q, p):
    """No guard: with probability 1e-4 the answer is wrong."""
    return (0, 0) if random.random() < 1e-4 else verify(tokens, q, p, lambda row: row)


def rarer(tokens, q, p):
    """No guard either, but nobody measures 1e-9."""
    return (0, 0) if random.random() < 1e-9 else verify(tokens, q, p, lambda row: row)


def half(tokens, q, p):
    return verify(tokens, q.astype(np.float16), p.astype(np.float16), lambda row: row.astype(np.float64))


def single(tokens, q, p):
    return verify(tokens, q.astype(np.float32), p.astype(np.float32), lambda row: row.astype(np.float64))
