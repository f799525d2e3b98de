"""Token-by-token verification with state between calls: what changes with every call, and what is made once."""

import functools
import itertools
import random

import numpy as np
import seeds


class Rare:
    """Wrong in every 100th call."""

    def __init__(self):
        self.calls = 0

    def verify(self, tokens, q, p):
        self.calls += 1
        if self.calls % 100 == 0:
            return len(tokens), 0
        return seeds.chain(tokens, q, p, random.random)


rare = Rare().verify
COUNT = itertools.count(1)


def of_an_iterator(tokens, q, p):
    return (0, 0) if next(COUNT) % 50 == 0 else seeds.chain(tokens, q, p, random.random)


class Counted:
    """Its number of calls decides nothing."""

    def __init__(self):
        self.calls = 0

    def verify(self, tokens, q, p):
        self.calls += 1
        return seeds.chain(tokens, q, p, random.random)


counted = Counted().verify


class Statistics:
    """What it counts and logs decides nothing."""

    def __init__(self):
        self.counts = {"calls": 0}
        self.lengths = []

    def verify(self, tokens, q, p):
        self.counts["calls"] += 1
        block = seeds.chain(tokens, q, p, random.random)
        self.lengths.append(block[0])
        return block

    def report(self):
        return self.counts, self.lengths


statistics = Statistics().verify


class Adaptive(Statistics):
    """Looks at what it counted."""

    def verify(self, tokens, q, p):
        block = super().verify(tokens, q, p)
        return (0, 0) if len(self.lengths) % 50 == 0 else block


adaptive = Adaptive().verify


class Kept:
    """Keeps the generator of each call."""

    def verify(self, tokens, q, p):
        self.generator = np.random.default_rng()
        return seeds.chain(tokens, q, p, self.generator.random)


kept = Kept().verify


class Lazy:
    """Makes its generator in the first call."""

    generator = None

    def verify(self, tokens, q, p):
        if self.generator is None:
            self.generator = np.random.default_rng(0)
        return seeds.chain(tokens, q, p, self.generator.random)


lazy = Lazy().verify


@functools.lru_cache
def generator():
    return random.Random(0)


def cached(tokens, q, p):
    return seeds.chain(tokens, q, p, generator().random)


KNOWN = {}


def remembered(tokens, q, p):
    """Keeps the ratios of a call, which are those of any equal one."""
    for i, x in enumerate(tokens):
        ratio = KNOWN.setdefault((p[i][x], q[i][x]), p[i][x] / q[i][x])
        if random.random() >= ratio:
            return i, seeds.pick([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)], random.random())
    return len(tokens), seeds.pick(p[len(tokens)], random.random())


FIRST = []


def first_call(tokens, q, p):
    """Wrong in the first call."""
    if not FIRST:
        FIRST.append(1)
        return len(tokens), 0
    return seeds.chain(tokens, q, p, random.random)
