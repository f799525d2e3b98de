"""Audits and checks at once, in threads beside others that draw: each has the word that it has alone."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import draftproof
from draftproof import Card, Verdict
from draftproof.simulator.audit import assert_lossless
from draftproof.simulator.audit.verdict import NOT_JUDGED
from draftproof.simulator.errors import NoFunction
from tests.quick import quick

P, Q = ["1/2", "1/3", "1/6"], ["1/6", "1/6", "2/3"]


class Right:
    card = Card(name="right", title="Token by token", source=None)

    def rest(self, p, q):
        return (p - q) * (p > q)

    def verify(self, root, coin):
        node = root
        while node.children:
            p, q, token = node.target, node.draft, node.children[0]
            if not coin.flip(min(1, p[token] / q[token])):
                return Verdict(node.context, coin.choose(self.rest(p, q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


class FromTarget(Right):
    def rest(self, p, q):
        return p


class Beside(Right):
    generator = random.Random(3)

    def rest(self, p, q):
        return p if self.generator.random() < 1e-3 else super().rest(p, q)


def function(rest, draws=random.random):
    def verify(tokens, q, p):
        for i, x in enumerate(tokens):
            if draws() * q[i][x] >= p[i][x]:
                return i, random.choices(range(len(p[i])), weights=rest(p[i], q[i]))[0]
        return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]

    return verify


def positive(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


AUDITS = {
    function(positive): "lossless",
    function(positive, np.random.rand): "lossless",
    function(lambda p, q: p): "refuted",
    function(positive, random.SystemRandom().random): "refused",
}
CHECKS = {Right: "lossless", FromTarget: "refuted", Beside: "refused"}


def audited(function):
    try:
        assert_lossless(function, interface="chain", cases=["context"])
    except AssertionError:
        return "refuted"
    except NOT_JUDGED:
        return "refused"
    return "lossless"


def checked(verifier):
    try:
        verdict = draftproof.check(verifier(), (P, Q), "delayed:K=1,L1=0,L2=2").verdict
    except NoFunction:
        return "refused"
    return ("lossless", "refuted")[verdict]


@pytest.mark.parametrize("number", quick([7, 200], [7]))
def test_words_at_once_are_those_alone(number):
    ended, seen = threading.Event(), set()

    def busy():
        while not ended.wait(0.0005):
            seen.update((type(random.random()), type(np.random.rand())))

    questions = [*((audited, *item) for item in AUDITS.items()), *((checked, *item) for item in CHECKS.items())]
    asked = [questions[i % len(questions)] for i in range(number)]
    with ThreadPoolExecutor(4) as others, ThreadPoolExecutor(min(number, 50)) as pool:
        for _ in range(4):
            others.submit(busy)
        try:
            words = list(pool.map(lambda question: question[0](question[1]), asked))
        finally:
            ended.set()
    assert words == [word for _, _, word in asked]
    assert seen == {float}
