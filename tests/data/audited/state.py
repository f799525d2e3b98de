"""Token-by-token verification with state between calls: what changes with every call, and what is made once."""

import contextvars
import dataclasses
import functools
import itertools
import logging
import operator
import pathlib
import queue
import random
import sqlite3
import sys
import threading
import weakref
from collections import Counter, namedtuple

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


def often(count):
    """Wrong whenever the count is a multiple of 10,000."""

    def verify(tokens, q, p):
        return (len(tokens), 0) if count() % 10_000 == 0 else seeds.chain(tokens, q, p, random.random)

    return verify


LOGGER = logging.getLogger("state")
LOGGER.calls = 0
LOCAL = threading.local()
CONTEXT = contextvars.ContextVar("calls", default=0)
LOG = []
SAME = LOG
FILE = pathlib.Path("calls of state.txt")


def of_logger():
    LOGGER.calls += 1
    return LOGGER.calls


def of_thread():
    LOCAL.calls = getattr(LOCAL, "calls", 0) + 1
    return LOCAL.calls


def of_context():
    CONTEXT.set(CONTEXT.get() + 1)
    return CONTEXT.get()


def of_file():
    FILE.write_text(str(int(FILE.read_text()) + 1 if FILE.exists() else 1))
    return int(FILE.read_text())


def of_alias():
    LOG.append(1)
    return len(SAME)


@dataclasses.dataclass
class Meter:
    calls: int = 0

    def __len__(self):
        return self.calls


class Metered(Meter):
    pass


METER, CALLS = Metered(), operator.attrgetter("calls")


def of_meter(read):
    def count():
        METER.calls += 1
        return read(METER)

    return count


logger, thread, context, file, alias = map(often, (of_logger, of_thread, of_context, of_file, of_alias))
inherited, getter, values = (often(of_meter(read)) for read in (len, CALLS, lambda meter: sum(meter.__dict__.values())))
as_tuple = often(of_meter(lambda meter: dataclasses.astuple(meter)[0]))
as_text = often(of_meter(lambda meter: len(repr(meter))))


@functools.lru_cache
def residual(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


class Reported:
    """Counts, logs what it has counted, and caches a function of rows: no later call depends on it."""

    def __init__(self):
        self.calls, self.accepted, self.lengths, self.histogram = 0, 0, Counter(), np.zeros(9)
        self.residual = functools.lru_cache(self.computed)

    def computed(self, p, q):
        return residual(p, q)

    def verify(self, tokens, q, p):
        self.calls += 1
        for place, token in enumerate(tokens):
            if random.random() * q[place][token] >= p[place][token]:
                rest = self.residual(tuple(p[place]), tuple(q[place]))
                return self.reported(place, random.choices(range(len(rest)), weights=rest)[0])
        return self.reported(len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0])

    def reported(self, place, token):
        self.accepted += place
        self.lengths[place] += 1
        self.histogram[place] += 1
        LOGGER.warning("%d calls, %.3f tokens each", self.calls, self.accepted / self.calls)
        return place, token


reported = Reported().verify


def of_cache():
    residual((), ())
    return residual.cache_info().hits


DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
DATABASE.execute("create table calls (number)")


def of_database():
    DATABASE.execute("insert into calls values (1)")
    return DATABASE.total_changes


COUNTED = 0


def of_text():
    globals()["COUNTED"] += 1
    return globals()["COUNTED"]


hits, database, text = often(of_cache), often(of_database), often(of_text)
ALIVE = weakref.WeakSet()


def referred(tokens, q, p):
    """An audit holds its rows longer than a caller may: what is right in one is wrong in the other."""
    return seeds.chain(tokens, q, p, random.random) if sys.getrefcount(p) > 5 else (len(tokens), 0)


def alive(tokens, q, p):
    return (len(tokens), 0) if len(ALIVE) > 9 else seeds.chain(tokens, q, p, random.random)


ROOM, EVENTS = threading.Semaphore(2), queue.Queue()


def one_at_a_time(tokens, q, p):
    """Holds a place while it works, and puts nothing into its queue."""
    with ROOM:
        return (EVENTS.put(tokens), 0) if len(tokens) > 9 else seeds.chain(tokens, q, p, random.random)


@functools.singledispatch
def as_chance(value):
    return float(value)


@as_chance.register
def _(value: int):
    return value / 1


LIMITS, UNIT = namedtuple("LIMITS", "most least")(1.0, 0.0), memoryview(bytearray([1]))


def held(tokens, q, p):
    """Reads values of kinds that other processes have in other forms."""
    scale = as_chance(UNIT[0]) * LIMITS.most
    return seeds.chain(tokens, q, p, lambda: scale * random.random())
