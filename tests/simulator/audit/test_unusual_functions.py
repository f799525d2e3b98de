"""Functions written in ways that nobody expects, right ones beside twins that only look so."""

import heapq
import itertools
import math
import random
from bisect import bisect_right

import numpy as np
import pytest

from draftproof.simulator.audit import default_cases, make_audit

CHAIN, ARRAYS = {"interface": "chain"}, {"interface": "chain", "library": "numpy"}


def excess(p, q):
    return np.maximum(p - q, 0) if isinstance(p, np.ndarray) else [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def pick(row):
    return random.choices(range(len(row)), weights=list(row))[0]


def inverse(row, coin):
    edges = np.cumsum(row)
    return int(np.searchsorted(edges, coin * edges[-1], side="right"))


def chain(accept, choose):
    def function(tokens, q, p):
        for i, token in enumerate(tokens):
            if not accept(min(1, p[i][token] / q[i][token])):
                return i, choose(excess(p[i], q[i]))
        return len(tokens), choose(p[len(tokens)])

    return function


def rescaled(again):
    """The coin that rejects also corrects; what is left of it is uniform only when it is rescaled."""

    def function(tokens, q, p):
        for i, token in enumerate(tokens):
            coin, share = np.random.random(), min(1, p[i][token] / q[i][token])
            if coin >= share:
                return i, inverse(excess(p[i], q[i]), (coin - share) / (1 - share) if again else coin)
        return len(tokens), inverse(p[-1], np.random.random())

    return function


def at_once(count):
    """All coins in one array; the accepted ones are counted up to the first that is none."""

    def function(tokens, q, p):
        places = np.arange(len(tokens))
        kept = np.random.random(len(tokens)) < p[places, tokens] / q[places, tokens]
        length = int(count(kept))
        row = p[length] if length == len(tokens) else excess(p[length], q[length])
        return length, pick(row if row.sum() > 0 else p[length])

    return function


def one_row_of_noise(other):
    """The noise that corrects is also the coin: right while the token that it rejects can not be put out again."""

    def function(tokens, q, p):
        for i, token in enumerate(tokens):
            noise = np.random.exponential(size=q.shape[1])
            place = (token + other) % q.shape[1]
            if (1 - np.exp(-noise[place])) * q[i, token] >= p[i, token]:
                return i, int(np.argmax(excess(p[i], q[i]) / noise))
        return len(tokens), pick(p[-1])

    return function


def alias(row):
    """Walker's tables: a place, and a coin between it and another one."""
    size = len(row)
    weights, others = [float(mass) / sum(row) * size for mass in row], list(range(size))
    small, large = [i for i in range(size) if weights[i] < 1], [i for i in range(size) if weights[i] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        others[low], weights[high] = high, weights[high] + weights[low] - 1
        (small if weights[high] < 1 else large).append(high)
    place = random.randrange(size)
    return place if place in small + large or random.random() < weights[place] else others[place]


def raced(row):
    return heapq.nsmallest(1, [(random.expovariate(mass) if mass > 0 else math.inf, i) for i, mass in enumerate(row)])[
        0
    ][1]


def bisected(row):
    edges = list(itertools.accumulate(row))
    return bisect_right(edges, random.random() * edges[-1])


def in_any_order(row):
    left, order = random.random() * sum(row), list(range(len(row)))
    random.shuffle(order)
    for token in order:
        left -= row[token]
        if left < 0:
            return token
    return max(token for token in order if row[token] > 0)


def beside_nan(search):
    def choose(row):
        with np.errstate(all="ignore"):
            return int(search(np.where(row > 0, np.random.exponential(size=len(row)) / row, np.nan)))

    return choose


def coin(share):
    return random.random() < share


def paired(tokens, q, p):
    """Every second coin is what the one before it leaves of 1."""
    waiting = []

    def accept(share):
        if waiting:
            return waiting.pop() < share
        first = random.random()
        waiting.append(1 - first)
        return first < share

    return chain(accept, pick)(tokens, q, p)


LOSSLESS = {
    "rescaled": (rescaled(True), ARRAYS),
    "at once": (at_once(lambda kept: np.cumprod(kept).sum()), ARRAYS),
    "one row of noise": (one_row_of_noise(0), ARRAYS),
    "alias": (chain(coin, alias), CHAIN),
    "heap": (chain(coin, raced), CHAIN),
    "bisected": (chain(coin, bisected), CHAIN),
    "any order": (chain(coin, in_any_order), CHAIN),
    "nanargmin": (chain(coin, beside_nan(np.nanargmin)), ARRAYS),
    "larger of two": (chain(lambda share: max(random.random(), random.random()) < share**0.5, pick), CHAIN),
    "turned": (chain(lambda share: abs(random.randrange(2) - random.random()) < share, pick), CHAIN),
}
LOSSY = {
    "not rescaled": (rescaled(False), ARRAYS),
    "all counted": (at_once(np.sum), ARRAYS),
    "noise of another token": (one_row_of_noise(1), ARRAYS),
    "argmin beside NaN": (chain(coin, beside_nan(np.argmin)), ARRAYS),
    "larger of two, not its root": (chain(lambda share: max(random.random(), random.random()) < share, pick), CHAIN),
    "pairs": (paired, CHAIN),
}


@pytest.mark.one_in(16)
@pytest.mark.parametrize(
    ("function", "how", "lossless"),
    [(*each, True) for each in LOSSLESS.values()] + [(*each, False) for each in LOSSY.values()],
    ids=[*LOSSLESS, *LOSSY],
)
def test_unusual_functions_get_the_verdict_that_they_deserve(function, how, lossless):
    audit = make_audit(function, **how)
    cases = default_cases(audit.audited.interface, None, ["three_tokens", "zeros"])
    assert all(audit.judge(case.instance, case.scheme).lossless for case in cases) is lossless
