"""A collection of garbage may come at any line of a followed verifier; what it calls is not part of it."""

import gc
import os
import time

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.verifiers.naive import Naive


class Allocating(Naive):
    """Naive, with enough new objects for a collection."""

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
        assert prove(Subject.of(Leaving()), Shape(2, Delayed(1, 0, 1))).proved
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
        assert prove(Subject.of(Allocating()), Shape(2, Delayed(1, 0, 1))).proved
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)
    assert times
