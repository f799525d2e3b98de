"""Two generators with one seed, made before the call: what both draw is the same, as if one number decided twice."""

import random

import numpy as np


class Engine:
    def __init__(self, seed, other):
        self.drafting, self.rng = np.random.default_rng(seed), np.random.default_rng(other)

    def step(self, p, q):
        Q, P = np.asarray(q(())), np.asarray(p(()))
        x = int(self.drafting.choice(len(Q), p=Q / Q.sum()))
        if self.rng.random() * Q[x] < P[x]:
            return [x, int(self.rng.choice(len(P), p=np.asarray(p((x,)))))]
        rest = np.maximum(P - Q, 0)
        return [int(self.rng.choice(len(P), p=rest / rest.sum()))]


equal, different = Engine(5, 5).step, Engine(5, 6).step

coins, apart, twin = random.Random(1), random.Random(2), random.Random(1)
random.seed(1)


def verify(tokens, q, p, rng):
    for i, x in enumerate(tokens):
        if coins.random() * q[i][x] >= p[i][x]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, rng.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), rng.choices(range(len(p[-1])), weights=p[-1])[0]


def two(tokens, q, p):
    return verify(tokens, q, p, apart)


def same(tokens, q, p):
    return verify(tokens, q, p, twin)


def same_as_module(tokens, q, p):
    return verify(tokens, q, p, random)


class Holds:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def verify(self, tokens, q, p):
        return verify(tokens, q, p, self.rng)


in_method = Holds(1).verify


class Sorting:
    @staticmethod
    def kept(row):
        least = sorted(row)[-5] if len(row) > 5 else 0
        return [weight if weight >= least else 0 for weight in row]


class Kept(Sorting):
    def verify(self, tokens, q, p):
        p = [self.kept(row) for row in p]
        return two(tokens, q, [[weight / sum(row) for weight in row] for row in p])


cut = Kept().verify


class Counts:
    def __init__(self):
        self.calls = 0

    def accept(self, tokens, q, p):
        self.calls += 1
        return two(tokens, q, q if self.calls % 10_000 == 0 else p)


counted = Counts().accept


class OfClass:
    @classmethod
    def kept(cls, row):
        return [*row]

    @classmethod
    def verify(cls, tokens, q, p):
        return two(tokens, q, [cls.kept(row) for row in p])
