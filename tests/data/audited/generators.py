"""Verifiers of one path whose random numbers come from generators of all kinds, some with methods of their own."""

import random

import numpy as np


def corrected(tokens, q, p, unit, draw):
    """Token-by-token verification with these sources."""
    for i, x in enumerate(tokens):
        if unit() >= p[i][x] / q[i][x]:
            row = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
            return i, draw(row)
    return len(tokens), draw(list(p[len(tokens)]))


def weighted(rng):
    return lambda row: rng.choices(range(len(row)), weights=row)[0]


def sought(uniform):
    """Inverse transform."""

    def draw(row):
        u, total = uniform() * sum(row), 0
        for token, weight in enumerate(row):
            total += weight
            if u < total:
                return token
        return len(row) - 1

    return draw


class Halved(random.Random):
    def random(self):
        return super().random() / 2


class Flips(random.Random):
    def flip(self, chance):
        return self.random() < chance


class Choosy(random.Random):
    def choices(self, population, weights=None, **options):
        return [self.choice(population)]


class Squared(np.random.Generator):
    def random(self, *arguments, **options):
        return super().random(*arguments, **options) ** 2


class Helped(np.random.Generator):
    def unit(self):
        return self.random()


class OldHalved(np.random.RandomState):
    def random_sample(self, size=None):
        return super().random_sample(size) / 2


class Told:
    """A generator of one's own, which is no subclass of any."""

    def __init__(self):
        self.source = random.Random()

    def random(self):
        return 1 - self.source.random()


class Passing:
    """It has what its source has."""

    def __init__(self):
        self.source = random.Random()

    def __getattr__(self, name):
        return getattr(self.source, name)


HALVED, FLIPS, CHOOSY, TOLD, PASSING = Halved(), Flips(), Choosy(), Told(), Passing()
SQUARED, HELPED, OLD = Squared(np.random.PCG64()), Helped(np.random.PCG64()), OldHalved()
STUBBED = random.Random()
STUBBED.random = lambda: 0.25
RNG, BITS = np.random.default_rng(3), np.random.PCG64()


def halved(tokens, q, p):
    return corrected(tokens, q, p, HALVED.random, weighted(random))


def halved_weights(tokens, q, p):
    return corrected(tokens, q, p, random.random, weighted(HALVED))


def halved_default(tokens, q, p, rng=Halved()):  # noqa: B008 - as people write it
    return corrected(tokens, q, p, rng.random, weighted(random))


def closed_over(rng):
    def verify(tokens, q, p):
        return corrected(tokens, q, p, rng.random, weighted(random))

    return verify


halved_closure = closed_over(Halved())


class Engine:
    def __init__(self, kind=Halved):
        self.rng = kind()

    def verify(self, tokens, q, p):
        return corrected(tokens, q, p, self.rng.random, weighted(random))


halved_attribute = Engine().verify
plain_attribute = Engine(random.Random).verify


def flips(tokens, q, p):
    for i, x in enumerate(tokens):
        if not FLIPS.flip(p[i][x] / q[i][x]):
            return i, weighted(FLIPS)([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)])
    return len(tokens), weighted(FLIPS)(list(p[len(tokens)]))


def choosy(tokens, q, p):
    return corrected(tokens, q, p, random.random, weighted(CHOOSY))


def stubbed(tokens, q, p):
    return corrected(tokens, q, p, STUBBED.random, weighted(random))


def told(tokens, q, p):
    return corrected(tokens, q, p, TOLD.random, weighted(random))


def passing(tokens, q, p):
    return corrected(tokens, q, p, PASSING.random, weighted(PASSING))


def squared(tokens, q, p):
    return corrected(tokens, q, p, SQUARED.random, sought(RNG.random))


def squared_choice(tokens, q, p):
    return corrected(tokens, q, p, RNG.random, lambda row: int(SQUARED.choice(len(row), p=np.array(row) / sum(row))))


def helped(tokens, q, p):
    return corrected(tokens, q, p, HELPED.unit, sought(HELPED.random))


def old_halved(tokens, q, p):
    return corrected(tokens, q, p, OLD.rand, sought(RNG.random))


def raw(tokens, q, p):
    return corrected(tokens, q, p, lambda: RNG.bit_generator.random_raw() / 2**64, weighted(random))


def raw_alone(tokens, q, p):
    return corrected(tokens, q, p, lambda: BITS.random_raw() / 2**64, weighted(random))
