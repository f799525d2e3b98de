"""What verifiers and schemes may not keep or draw from: liars in one table, honest code in another.

Every liar is naive but where its question is answered with yes, which is less than once in a million calls.
"""

import functools
import importlib
import itertools
import logging
import mmap
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter as Counts
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter

import numpy as np
import pytest

import draftproof
from draftproof import Card, Delayed, UserScheme, Verdict, simulator
from draftproof.simulator import origins
from draftproof.simulator.changes import Snapshot
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, NoFunction

P, Q, TREE = ["1/2", "1/3", "1/6"], ["1/6", "1/6", "2/3"], "delayed:K=1,L1=0,L2=2"
PAIR = [draftproof.MarkovProcess([row], ()) for row in (P, Q)]
MANY = 10**6


class Naive:
    """Takes the draft's word where `lies` says so."""

    card = Card("naive", "Naive", None)

    def lies(self, root):
        return False

    def verify(self, root, coin):
        if self.lies(root):
            return Verdict((), coin.choose(root.draft))
        node = root
        while node.children:
            p, q, token = node.target, node.draft, node.children[0]
            if not coin.flip(min(1, p[token] / q[token])):
                return Verdict(node.context, coin.choose((p - q) * (p > q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))


class Pair:
    """A scheme that drafts one token, and now and then another one."""

    depth = 1

    def lies(self, row):
        return False

    def draw(self, draft, coin):
        row = draft.row(())
        token = coin.choose(row)
        return [(1 - min(token, 1) if self.lies(row) else token,)]


def asking(question, kind=Naive, **holds):
    """The verifier or scheme that asks this question, an object with what `holds` makes."""
    made = type("Asking", (kind,), {"lies": question})()
    for name, make in holds.items():
        setattr(made, name, make())
    return made


def counted():
    calls = 0

    def question(self, row):
        nonlocal calls
        calls += 1
        return calls % 100 == 0

    return question


def ever():
    number = 0
    while True:
        number += 1
        yield number


def made_late(self, row):
    if not hasattr(self, "rng"):
        self.rng = np.random.default_rng(1)
    return self.rng.random() < 1 / MANY


def counting(self, row):
    self.calls += 1
    return self.calls % 50 == 0


def by_name(self, row):
    vars(self)["calls"] = vars(self).get("calls", 0) + 1
    return self.calls > MANY


def by_alias(self, row):
    self.calls += 1
    return self.late(self)


def by_default(self, row, seen=[]):  # noqa: B006 - that is the fault
    seen.append(1)
    return len(seen) > MANY


def imported(self, row):
    import secrets as chance

    return chance.randbelow(MANY) == 0


class Coins(random.Random):
    """A generator with a method of its own."""

    def random(self):
        return super().random()


class Counter:
    calls = 0

    def late(self):
        Counter.calls += 1
        return Counter.calls > MANY


class Handler(logging.Handler):
    records = 0

    def emit(self, record):
        self.records += 1


def logging_read(self, row):
    LOG.warning("a block")
    return LOG.handlers[0].records > MANY


def by_context(self, row):
    CALLS.set(CALLS.get() + 1)
    return CALLS.get() > MANY


def by_file(self, row):
    with open(self.path, "a") as file:
        file.write("x")
    return os.stat(self.path).st_size > MANY


def by_text(self, row):
    self.calls += 1
    return len(repr(vars(self))) > MANY


def swallowed(self, row):
    self.calls += 1
    try:
        return self.calls > MANY
    except Exception:
        return False


@functools.cache
def box():
    return [0]


OWN, COINS, COUNTER, EVER = np.random.default_rng(0), Coins(0), Counter(), ever()
LIST, DEQUE, COUNTS, ARRAY = [], deque(), defaultdict(int), np.zeros(2)
SAME, LOG, CALLS, GET = LIST, logging.getLogger("draftproof.tests"), ContextVar("calls", default=0), attrgetter("calls")
MAP = mmap.mmap(-1, 9)
LOG.addHandler(Handler())

LIARS = {
    "numpy": lambda: asking(lambda self, row: self.rng.random() < 1 / MANY, rng=np.random.default_rng),
    "python": lambda: asking(lambda self, row: self.rng.random() < 1 / MANY, rng=random.Random),
    "system": lambda: asking(lambda self, row: self.rng.random() < 1 / MANY, rng=secrets.SystemRandom),
    "module": lambda: asking(lambda self, row: self.rng.uniform(0, 1) < 1 / MANY, rng=lambda: random),
    "module of the system": lambda: asking(lambda self, row: self.rng.randbelow(MANY) == 0, rng=lambda: secrets),
    "global generator": lambda: asking(lambda self, row: OWN.random() < 1 / MANY),
    "subclass": lambda: asking(lambda self, row: COINS.random() < 1 / MANY),
    "made late": lambda: asking(made_late),
    "made in each call": lambda: asking(lambda self, row: np.random.default_rng().random() < 1 / MANY),
    "python in each call": lambda: asking(lambda self, row: random.Random().random() < 1 / MANY),
    "random": lambda: asking(lambda self, row: random.random() < 1 / MANY),
    "numpy.random": lambda: asking(lambda self, row: np.random.random() < 1 / MANY),
    "mapped": lambda: asking(lambda self, row: next(map(random.uniform, [0], [1])) < 1 / MANY),
    "partial": lambda: asking(lambda self, row: self.draw() < 1 / MANY, draw=lambda: functools.partial(OWN.random)),
    "imported": lambda: asking(imported),
    "urandom": lambda: asking(lambda self, row: os.urandom(9) == b""),
    "uuid": lambda: asking(lambda self, row: uuid.uuid4().int % MANY == 0),
    "clock": lambda: asking(lambda self, row: time.time_ns() % MANY == 7),
    "50th call": lambda: asking(counting, calls=int),
    "1000th block": lambda: asking(lambda self, row: self.log.append(row) or len(self.log) > MANY, log=list),
    "100th call": lambda: asking(counted()),
    "by alias": lambda: asking(by_alias, calls=int, late=lambda: lambda liar: liar.calls > MANY),
    "by name": lambda: asking(by_name),
    "default": lambda: asking(by_default),
    "class": lambda: asking(lambda self, row: COUNTER.late()),
    "list": lambda: asking(lambda self, row: LIST.append(1) or len(LIST) > MANY),
    "deque": lambda: asking(lambda self, row: DEQUE.append(1) or len(DEQUE) > MANY),
    "dictionary": lambda: asking(lambda self, row: COUNTS.update(n=COUNTS["n"] + 1) or COUNTS["n"] > MANY),
    "array": lambda: asking(lambda self, row: ARRAY.__setitem__(0, ARRAY[0] + 1) or ARRAY[0] > MANY),
    "two names": lambda: asking(lambda self, row: LIST.append(1) or len(SAME) > MANY),
    "getter": lambda: asking(lambda self, row: vars(self).update(calls=self.calls + 1) or GET(self) > MANY, calls=int),
    "text": lambda: asking(by_text, calls=int),
    "swallowed": lambda: asking(swallowed, calls=int),
    "log": lambda: asking(logging_read),
    "context": lambda: asking(by_context),
    "thread": lambda: asking(lambda self, row: by_name(self.own, row), own=type("Own", (threading.local,), {})),
    "file": lambda: asking(by_file, path=lambda: tempfile.mkdtemp() + "/calls"),
    "memory": lambda: asking(lambda self, row: MAP.__setitem__(0, (MAP[0] + 1) % 256) or MAP[0] > 255),
    "toggle": lambda: asking(lambda self, row: self.on.reverse() or self.on[0] > 1, on=lambda: [0, 1]),
    "iterator": lambda: asking(lambda self, row: next(self.turn) > MANY, turn=itertools.count),
    "cycle": lambda: asking(lambda self, row: next(self.turn) > 0, turn=lambda: itertools.cycle([0] * 999 + [1])),
    "generator": lambda: asking(lambda self, row: next(EVER) > MANY),
    "in a cache": lambda: asking(lambda self, row: box().append(1) or len(box()) > MANY),
}
NAMED = {
    "numpy": "Asking.rng",
    "system": "os.urandom() at test_changes.py line",
    "100th call": "calls changes with every call",
    "text": "Asking.calls changes with every call, and is read at test_changes.py line",
    "two names": "LIST changes with every call (test_changes.py line",
    "file": "in verify, at test_changes.py line",
}


@pytest.mark.parametrize("name", LIARS)
def test_what_is_kept_or_drawn_beside_the_coin_is_refused_with_its_name(name):
    with pytest.raises(NoFunction) as refused:
        draftproof.check(LIARS[name](), (P, Q), TREE)
    assert NAMED.get(name, "") in str(refused.value)


@pytest.mark.parametrize("name", ["numpy", "system", "random", "50th call", "iterator"])
def test_a_scheme_is_refused_by_its_own_name(name):
    liar = LIARS[name]()
    scheme = type("Drafting", (Pair,), {"lies": type(liar).lies})()
    vars(scheme).update(vars(liar))
    for judge in (draftproof.check, draftproof.compare):
        with pytest.raises(InvalidInput, match=r"scheme Drafting: .*draw must be a function"):
            judge("naive", (P, Q), UserScheme(scheme))


def test_an_installed_verifier_is_user_code(tmp_path, monkeypatch):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "__init__.py").write_text(
        "import secrets\nimport numpy as np\nfrom tests.simulator.test_changes import Naive\n"
        "RNG = np.random.default_rng(0)\n"
        "def own(): return RNG.random() < 1e-6\n"
        "def shared(): return np.random.random() < 1e-6\n"
        "def system(): return secrets.randbelow(10**6) == 0\n"
        "class Own(Naive):\n    def lies(self, root): return own()\n"
        "class Shared(Naive):\n    def lies(self, root): return shared()\n"
        "class System(Naive):\n    def lies(self, root): return system()\n"
    )
    monkeypatch.setattr(origins, "_INSTALLED", (*origins._INSTALLED, f"{tmp_path}/"))
    monkeypatch.syspath_prepend(str(tmp_path))
    installed = importlib.import_module("installed")
    for kind, words in (
        (installed.Own, "from RNG"),
        (installed.Shared, "from numpy.random"),
        (installed.System, "by os"),
    ):
        with pytest.raises(NoFunction, match=words):
            draftproof.check(kind(), (P, Q), TREE)


@functools.lru_cache(maxsize=2)
def likeliest(row):
    return max(row)


MEMO = {}


def remembers(self, root):
    key = tuple(map(str, root.target))
    return MEMO.setdefault(key, sum(root.target)) > 1


def works_in_an_array(self, root):
    if self.work is None:
        self.work = np.empty(3)
    self.work[:] = [float(x) for x in root.target]
    return self.work.sum() > 2


def keeps_the_last(self, root):
    self.root, self.order = root, lambda token: root.target[token]
    return False


def counts(self, root):
    self.calls += 1
    return False


def reports(self, root):
    self.calls += 1
    self.mean = 0.9 * self.mean + 0.1
    self.lengths[len(root.children)] += 1
    LOG.warning("%d calls, %s", self.calls, self.lengths)
    return False


def imports(self, root):
    import colorsys
    import tempfile  # noqa: F401 - seeds a generator from the system

    return colorsys is None


HONEST = {
    "plain": lambda: asking(Naive.lies),
    "cache": lambda: asking(lambda self, root: likeliest(tuple(root.target)) > 1),
    "memory": lambda: asking(remembers),
    "array": lambda: asking(works_in_an_array, work=lambda: None),
    "last": lambda: asking(keeps_the_last),
    "counted for others": lambda: asking(counts, calls=int),
    "counted and logged": lambda: asking(reports, calls=int, mean=float, lengths=Counts),
    "imports": lambda: asking(imports),
    "log": lambda: asking(lambda self, root: LOG.warning("a block") is not None),
    "generator not used": lambda: asking(Naive.lies, rng=np.random.default_rng, log=lambda: random.Random(0)),
    "seeded": lambda: asking(lambda self, root: np.random.default_rng(0).random() < 0),
    "lock": lambda: asking(lambda self, root: self.lock.acquire() and self.lock.release(), lock=threading.Lock),
    "names a generator": lambda: asking(lambda self, root: root.target[0] > 1 and random.random() < 1),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", HONEST)
def test_what_changes_once_or_is_only_counted_is_no_memory(name):
    assert draftproof.check(HONEST[name](), (P, Q), TREE).row["lossless"]


def test_the_registry_changes_nothing():
    for name, entry in draftproof.REGISTRY.items():
        assert Snapshot(entry).change(Snapshot(entry)) is None, name


class Biased(Naive):
    def verify(self, root, coin):
        return Verdict((), coin.choose(root.draft))


class FloatsCaught(Naive):
    """Catches the refusal of floats, which belongs to its own run alone."""

    def lies(self, root):
        try:
            return root.target[0] + 0.5 < 0
        except TypeError:
            return False


def judged(kind):
    try:
        return kind.__name__, simulator.check(kind(), *PAIR, Delayed(1, 0, 2)).lossless
    except InvalidVerifier as error:
        return kind.__name__, type(error).__name__


@contextmanager
def busy_threads():
    """Threads that draw all the time and take turns as often as Python lets them."""
    ended, before = threading.Event(), sys.getswitchinterval()

    def draw():
        while not ended.is_set():
            random.random()
            np.random.random()

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        ended.set()
        sys.setswitchinterval(before)
        for thread in threads:
            thread.join()


def drawing(draw):
    return type("Drawing", (Naive,), {"lies": lambda self, root: draw() < 0})


def test_checks_in_several_threads_have_the_verdicts_of_one():
    kinds = [Naive, Biased, FloatsCaught] * 4
    with ThreadPoolExecutor(4) as threads, busy_threads():
        together = list(threads.map(judged, kinds))
    assert together == [judged(kind) for kind in kinds]
    assert [verdict for _, verdict in together[:3]] == [True, False, "InvalidVerifier"]


def test_draws_of_other_threads_are_not_those_of_the_verifier():
    with busy_threads():
        assert judged(drawing(random.random)) == ("Drawing", "NoFunction")
        assert judged(drawing(np.random.random)) == ("Drawing", "NoFunction")
        assert judged(Naive) == ("Naive", True)
