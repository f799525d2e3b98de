"""Verifiers that tell followed numbers from rationals, or one call from the next: none is proved, each is named.

Every verifier here is naive but where a question is answered with yes; each question is one that arithmetic and
comparisons cannot ask. Its twin asks the same in a way that is followed.
"""

import functools
import gc
import itertools
import os
import pickle
import random
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import draftproof.verifiers.naive
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.theorems.proof import theorem as proofs
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.simulator.theorems.proof.watch import NotFollowed
from draftproof.verifiers.naive import Naive

SHAPE = Shape(2, Delayed(1, 0, 1))
MANY = 1_000_000


class Asking(Naive):
    """Naive, but lossy where `question` says yes."""

    def __init__(self, question):
        self.question = question

    def verify(self, root, coin):
        if root.children and self.question(root):
            return Verdict((), 0)
        return super().verify(root, coin)


def caught(use):
    """The use of a number with all that it raises caught."""

    def question(root):
        try:
            return use(root.target[0])
        except BaseException:
            return False

    return question


def first(use):
    return lambda root: use(root.target[0])


CALLS = 0
LIST: list[int] = []


def counted(root):
    global CALLS  # noqa: PLW0603 - that is the fault
    CALLS += 1
    return CALLS > MANY


def listed(root):
    LIST.append(1)
    return len(LIST) > MANY


def by_default(root, seen=[]):  # noqa: B006 - that is the fault
    seen.append(1)
    return len(seen) > MANY


def by_attribute(root):
    by_attribute.calls = getattr(by_attribute, "calls", 0) + 1
    return by_attribute.calls > MANY


def by_module(root):
    draftproof.verifiers.naive.flag = getattr(draftproof.verifiers.naive, "flag", 0) + 1
    return draftproof.verifiers.naive.flag > MANY


def counting():
    calls = 0

    def question(root):
        nonlocal calls
        calls += 1
        return calls > MANY

    return question


def toggling():
    box = [0]

    def question(root):
        box[0] ^= 1
        return box[0] > 1

    return question


def from_stack(root):
    return sys._getframe(1).f_code.co_name == "nothing"


def imported(root):
    import random

    return random.random() < 1 / MANY


@functools.cache
def remembered(x):
    return x


GENERATOR, COUNT = random.Random(0), itertools.count()
NUMPY, CLOCK = np.random.default_rng(0), time.perf_counter

INSIDE = {
    "hash": first(lambda x: hash(x) % 1009 == 7),
    "a set": first(lambda x: x * 64 in {1, 3}),
    "a dictionary": first(lambda x: {1: True}.get(x * 1009, False)),
    "set of rows": lambda root: len({root.target[0], root.draft[0]}) == 3,
    "a memory": first(lambda x: remembered(x) == 2),
    "id": first(lambda x: id(x) % 4096 == 4095),
    "sorted by id": lambda root: sorted(root.target.tolist(), key=id) == [],
    "repr": first(lambda x: "1009" in repr(x)),
    "format": first(lambda x: f"{x}" == "1/1009"),
    "old format": caught(lambda x: "%s" % x == "1/1009"),  # noqa: UP031
    "type": first(lambda x: type(x) is fmpq and x * 1009 == 1),
    "float": caught(lambda x: float(x) > 0.999),
    "int": caught(lambda x: int(x * 1000) == 999),
    "round": caught(lambda x: round(x * 1009) == 1008),
    "floor": caught(lambda x: np.floor(np.array([x]))[0] == 1008),
    "asarray": caught(lambda x: np.asarray([x], dtype=float)[0] > 0.9999),
    "exponent": caught(lambda x: 2**x == 3),
    "numerator": first(lambda x: getattr(x, "numerator", 0) == 1008),
    "hasattr": first(lambda x: hasattr(x, "p") and x * 1009 == 1),
    "size": caught(lambda x: x.height_bits() > 12),
    "invert": caught(lambda x: ~x == 1009),
    "rational of it": caught(lambda x: fmpq(x) * 1009 == 1),
    "pickle": caught(lambda x: b"1009" in pickle.dumps(x)),
    "bytes": lambda root: root.target.tobytes()[1] == 7,
}
OUTSIDE = {
    "random": lambda root: random.random() < 1 / MANY,
    "numpy.random": lambda root: np.random.random() < 1 / MANY,
    "kept generator": lambda root: GENERATOR.random() < 1 / MANY,
    "numpy generator": lambda root: NUMPY.random() < 1 / MANY,
    "imported": imported,
    "time": lambda root: time.time() > 1e11,
    "clock": lambda root: CLOCK() > 1e12,
    "environment": lambda root: "NOTHING" in os.environ,
    "stack": from_stack,
    "modules": lambda root: "draftproof.simulator.theorems.proof.numbers" not in sys.modules,
    "file": lambda root: np.load("nothing.npy")[0] > 0,
}
MEMORY = {
    "global": counted,
    "list": listed,
    "default": by_default,
    "function": by_attribute,
    "module": by_module,
    "nonlocal": counting(),
    "toggle": toggling(),
    "iterator": lambda root: next(COUNT) > MANY,
}


def proof_of(question, monkeypatch):
    monkeypatch.setattr(proofs, "trial_points", lambda *_: iter(()))
    return prove(Subject.of(Asking(question)), SHAPE)


@pytest.mark.parametrize("question", [*INSIDE.values(), *OUTSIDE.values()], ids=[*INSIDE, *OUTSIDE])
def test_what_is_no_comparison_is_refused_with_its_line(monkeypatch, question):
    with pytest.raises(NotFollowed, match=r"at test_watch\.py line \d+"):
        proof_of(question, monkeypatch)


@pytest.mark.parametrize("question", MEMORY.values(), ids=list(MEMORY))
def test_a_memory_between_calls_is_refused(monkeypatch, question):
    with pytest.raises(NotFollowed, match=r"changed"):
        proof_of(question, monkeypatch)


class Kept(Naive):
    """HasState the last row that it saw."""

    last = None

    def verify(self, root, coin):
        if root.children and self.last is not None and self.last * 1009 == root.target[0]:
            return Verdict((), 0)
        self.last = root.target[0]
        return super().verify(root, coin)


def test_a_number_kept_from_another_call_is_refused(monkeypatch):
    monkeypatch.setattr(proofs, "trial_points", lambda *_: iter(()))
    with pytest.raises(NotFollowed, match=r"Kept\.last changed"):
        prove(Subject.of(Kept()), SHAPE)


RARE = {
    "a value": first(lambda x: x * 1009 == 1),
    "the largest": lambda root: max(root.target.tolist()) * 1009 == 1008,
    "the order": lambda root: sorted(root.target)[0] * 1009 == 1,
    "a tie in order": lambda root: (
        bool(np.argsort([root.target[0] * 1009, 1], kind="stable")[0] == 0) and not root.target[0] * 1009 < 1
    ),
    "the coin": lambda root: root.target[0] ** 3 * 1009**3 == 1,
    "the sum": lambda root: sum(root.target.tolist()) * 1009 == 1009 and root.target[0] * 1009 == 1,
}


@pytest.mark.parametrize("question", RARE.values(), ids=list(RARE))
def test_a_rare_point_that_comparisons_tell_apart_is_found(monkeypatch, question):
    found = proof_of(question, monkeypatch).refutation
    assert found is not None
    assert found.instance.target.row(())[0] in (fmpq(1, 1009), fmpq(1008, 1009))


def with_closures(root):
    seen = []

    def visit(node):
        seen.append(node.context)
        for token in node.children:
            visit(node.child(token))

    visit(root)
    return len(seen) > 2


HONEST = {
    "closures": with_closures,
    "order": lambda root: sorted(range(2), key=lambda token: root.target[token]) == [],
    "unique": lambda root: len(np.unique(root.target)) > 2,
    "constants": first(lambda x: x > fmpq(3, 2)),
    "other kinds": first(lambda x: x in (-0.25, Fraction(5, 4), "1", (0, 1))),
    "lists": lambda root: [0, 1].index(1) == {(0, 1): 0}[0, 1],
}


@pytest.mark.parametrize("question", HONEST.values(), ids=list(HONEST))
def test_what_is_followed_is_proved(monkeypatch, question):
    assert proof_of(question, monkeypatch).proved


def test_the_coin_tells_nothing():
    class Looking(Naive):
        def verify(self, root, coin):
            if not hasattr(coin, "_run") and root.target[0] * 1009 == 1:
                return Verdict((), 0)
            return super().verify(root, coin)

    assert prove(Subject.of(Looking()), SHAPE).refutation is not None


def test_a_scheme_is_watched_too(monkeypatch):
    class Chancy(Delayed):
        def draw(self, draft, coin):
            return super().draw(draft, coin) if random.random() >= 0 else None

    with pytest.raises(InvalidInput, match="scheme delayed: draw uses random numbers beside its coin"):
        prove(Subject.of(Naive()), Shape(2, Chancy(1, 0, 1)))


def test_a_verifier_that_exec_made_is_watched():
    names = {"time": time, "Naive": Naive, "Verdict": Verdict}
    lines = (
        "class Made(Naive):",
        "    def verify(self, root, coin):",
        "        return Verdict((), 0) if time.time() < 0 else super().verify(root, coin)",
    )
    exec("\n".join(lines), names)
    with pytest.raises(InvalidVerifier, match=r"reads a clock, time\.time\(\) at <string> line 3"):
        prove(Subject.of(names["Made"]()), SHAPE)


class Allocating(Naive):
    """Naive, with enough new objects for a collection of garbage, which may come at any line that is followed."""

    def verify(self, root, coin):
        _ = [[] for _ in range(1_000)]
        return super().verify(root, coin)


ENDED = []


class Left:
    """What only the collector ends, as it refers to itself, by something that a verifier may not do."""

    def __init__(self):
        self.myself = self

    def __del__(self):
        found = os.stat(os.curdir)
        ENDED or ENDED.append(found)


class Leaving(Allocating):
    """Leaves garbage before the collection."""

    def verify(self, root, coin):
        Left()
        return super().verify(root, coin)


@pytest.mark.heavy
def test_what_ends_in_a_collection_is_nobodys_doing():
    threshold = gc.get_threshold()
    gc.set_threshold(50, 1, 1)
    try:
        assert prove(Subject.of(Leaving()), SHAPE).proved
    finally:
        gc.set_threshold(*threshold)
    assert ENDED


def test_what_the_collector_calls_is_nobodys_doing():
    times = []

    def note(phase, _):
        times.append((phase, time.perf_counter()))

    threshold = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(50, 1, 1)
    try:
        assert prove(Subject.of(Allocating()), SHAPE).proved
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)
    assert times
