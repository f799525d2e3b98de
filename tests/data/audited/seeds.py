"""Token-by-token verification with seeds: constants, functions of the drafts, arguments, and generators made once."""

import itertools
import random

import numpy as np


def chain(tokens, q, p, coin):
    """Right, where `coin` gives independent uniform numbers."""
    for i, x in enumerate(tokens):
        if coin() * q[i][x] >= p[i][x]:
            return i, pick([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)], coin())
    return len(tokens), pick(p[len(tokens)], coin())


def pick(weights, u):
    edges = list(itertools.accumulate(weights))
    return next((token for token, edge in enumerate(edges) if u * edges[-1] < edge), len(edges) - 1)


def of_numpy(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng(0).random)


def of_philox(tokens, q, p):
    return chain(tokens, q, p, np.random.Generator(np.random.Philox(key=0)).random)


def of_state(tokens, q, p):
    return chain(tokens, q, p, np.random.RandomState(0).random_sample)


def of_python(tokens, q, p):
    return chain(tokens, q, p, random.Random(7).random)


def of_module(tokens, q, p):
    random.seed(1234)
    return chain(tokens, q, p, random.random)


def of_numpy_module(tokens, q, p):
    np.random.seed(3)
    return chain(tokens, q, p, np.random.rand)


def of_number(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng(len(tokens)).random)


def of_drafts(tokens, q, p):
    return chain(tokens, q, p, random.Random(hash(tuple(tokens))).random)


def of_row(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng([int(1e6 * x) for x in p[0]]).random)


def wrong_beside(tokens, q, p):
    u = random.Random(7).random
    for i, x in enumerate(tokens):
        if u() * q[i][x] >= p[i][x]:
            return i, pick(p[i], u())
    return len(tokens), pick(p[len(tokens)], u())


def endless(tokens, q, p):
    """Draws one number again until it accepts."""
    while np.random.default_rng(0).random() * q[0][tokens[0]] >= p[0][tokens[0]] / 2:
        pass
    return chain(tokens, q, p, random.random)


def order_only(tokens, q, p):
    """A constant order of the vocabulary changes no law."""
    order = np.random.default_rng(0).permutation(len(p[0]))

    def sorted_pick(weights):
        return int(order[pick([weights[token] for token in order], random.random())])

    for i, x in enumerate(tokens):
        if random.random() * q[i][x] >= p[i][x]:
            return i, sorted_pick([max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)])
    return len(tokens), sorted_pick(p[len(tokens)])


def argument(tokens, q, p, seed=5):
    one, two = np.random.default_rng([seed, 0]), random.Random(seed * 1000 + 1)
    return chain(tokens, q, p, lambda: one.random() if random.random() < 0.5 else two.random())


def given(tokens, q, p, seed):
    return chain(tokens, q, p, np.random.default_rng(seed).random)


def same_twice(tokens, q, p, seed=5):
    return chain(tokens, q, p, lambda: np.random.default_rng(seed).random())


def drawn(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng(random.getrandbits(32)).random)


def unseeded(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng().random)


MADE_ONCE = np.random.default_rng(0)


def made_once(tokens, q, p):
    return chain(tokens, q, p, MADE_ONCE.random)


class Engine:
    def __init__(self):
        self.generator = random.Random(0)

    def verify(self, tokens, q, p):
        return chain(tokens, q, p, self.generator.random)


engine = Engine().verify
NUMBERS = itertools.count()


def counted(tokens, q, p):
    return chain(tokens, q, p, np.random.default_rng(next(NUMBERS)).random)
