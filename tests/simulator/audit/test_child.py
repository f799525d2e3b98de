"""Functions are judged in a process of their own: what travels there, and what is said where something does not."""

import importlib
import os
import random
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from draftproof.simulator import InvalidVerifier, assert_lossless
from draftproof.simulator.audit import child

VERIFIER = """
import random
from types import SimpleNamespace

MOST = 1.0
SETTINGS = SimpleNamespace(most=1.0)


def accepted(ratio):
    return float(random.random()) < min(MOST, SETTINGS.most, ratio)


def verify(tokens, q, p):
    for i, x in enumerate(tokens):
        if not accepted(p[i][x] / q[i][x]):
            return i, random.choices(range(len(p[i])), weights=[max(a - b, 0) for a, b in zip(p[i], q[i])])[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""
SCRIPT = """
import linecache
import threading

from draftproof import assert_lossless

class Halved(random.Random):
    def random(self):
        return super().random() / 2

rng, halved, lock = random.Random(3), Halved(), threading.Lock()

def of(unit, pick):
    def made(tokens, q, p):
        for i, x in enumerate(tokens):
            if float(unit()) >= p[i][x] / q[i][x]:
                return i, pick([max(a - b, 0) for a, b in zip(p[i], q[i])])
        return len(tokens), pick(p[-1])
    return made

def pick(row):
    return rng.choices(range(len(row)), weights=row)[0]

def locked(tokens, q, p):
    with lock:
        return verify(tokens, q, p)

source = "def cell(tokens, q, p):\\n    return verify(tokens, q, p) if float(random.random()) < 1 else None\\n"
linecache.cache["<cell 1>"] = len(source), None, source.splitlines(True), "<cell 1>"
exec(compile(source, "<cell 1>", "exec"))

def word(function):
    try:
        assert_lossless(function, interface="chain", cases=["context"])
        return "lossless"
    except Exception as error:
        return f"{type(error).__name__} {error}"

closed = [of(rng.random, pick), of(lambda: rng.uniform(0, 1), pick), of(halved.random, pick)]
for function in (verify, *closed, locked, cell):
    print(word(function).split("\\n")[0])
"""


def word(function):
    try:
        assert_lossless(function, interface="chain", cases=["context"])
    except AssertionError:
        return "refuted"
    return "lossless"


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A module of somebody else, imported here."""
    (tmp_path / "theirs_of_a_test.py").write_text(VERIFIER)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("theirs_of_a_test")
    del sys.modules["theirs_of_a_test"]


def test_what_the_file_says_now_is_judged_and_a_global_that_is_not_as_in_the_file_is_refused_by_name(theirs, tmp_path):
    assert word(theirs.verify) == "lossless"
    theirs.UNREAD = "not read by the function"
    theirs.SETTINGS.most = 0.5
    with pytest.raises(
        InvalidVerifier, match=r"SETTINGS\.most of theirs_of_a_test is not in this process as in its file"
    ):
        word(theirs.verify)
    theirs.SETTINGS.most, theirs.accepted = 1.0, lambda ratio: True
    with pytest.raises(InvalidVerifier, match="accepted of theirs_of_a_test"):
        word(theirs.verify)
    (tmp_path / "theirs_of_a_test.py").write_text(VERIFIER.replace("min(MOST, SETTINGS.most, ratio)", "1"))
    del theirs.accepted
    with pytest.raises(InvalidVerifier, match="accepted of theirs_of_a_test"):
        word(theirs.verify)
    importlib.reload(theirs)
    assert word(theirs.verify) == "refuted"


HELD = """
import dataclasses, functools, pathlib, types
from collections import OrderedDict, deque
from typing import NamedTuple
import numpy as np

class Pair(NamedTuple):
    most: float = 1.0

@dataclasses.dataclass(slots=True)
class Settings:
    most: float = 1.0

class Rules:
    most = 1.0
    def exact(self): return self.most
    def loose(self): return 2.0

def of(number):
    return lambda: number

RULES = Rules()
VALUES = {
    "LAMBDA": (lambda: 1.0, lambda: 2.0), "CLOSURE": (of(1.0), of(2.0)), "METHOD": (RULES.exact, RULES.loose),
    "SLOTS": (Settings(), Settings(2.0)), "PAIR": (Pair(), Pair(2.0)), "LISTED": ([Settings()], [Settings(2.0)]),
    "ORDERED": (OrderedDict(most=1.0), OrderedDict(most=2.0)), "DEQUE": (deque([1.0]), deque([2.0])),
    "PATH": (pathlib.Path("1"), pathlib.Path("2")), "PARTIAL": (functools.partial(max, 1), functools.partial(max, 2)),
    "VIEW": (types.MappingProxyType({"most": 1.0}), types.MappingProxyType({"most": 2.0})),
}
LAMBDA, CLOSURE, METHOD, SLOTS, PAIR, LISTED, ORDERED, DEQUE, PATH, PARTIAL, VIEW = [one for one, _ in VALUES.values()]
ARRAY = np.ones(101)

def reading(*arguments):
    LAMBDA, CLOSURE, METHOD, SLOTS, PAIR, LISTED, ORDERED, DEQUE, PATH, PARTIAL, VIEW
    return verify(*arguments)

def of_array(tokens, q, p):
    return verify(tokens, q, [[x * float(ARRAY[token]) for token, x in enumerate(row)] for row in p])
"""


def test_values_of_every_kind_are_compared_and_arrays_are_judged_as_they_are_here(tmp_path, monkeypatch):
    (tmp_path / "holding_of_a_test.py").write_text(VERIFIER + HELD)
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("holding_of_a_test")
    assert word(theirs.reading) == word(theirs.of_array) == "lossless"
    for name, (own, other) in theirs.VALUES.items():
        setattr(theirs, name, other)
        with pytest.raises(InvalidVerifier, match=rf"{name}\b.* of holding_of_a_test is not in this process as in its"):
            word(theirs.reading)
        setattr(theirs, name, own)
    theirs.ARRAY[0] = 2.0
    assert word(theirs.of_array) == "refuted"
    del sys.modules["holding_of_a_test"]


DEFAULTS = """
import functools

def scaled(arguments, scale=1, *, more=1):
    tokens, q, p = arguments
    return verify(tokens, q, [[x * scale * more for x in row] for row in p])

def with_scale(function):
    scale = [1]
    return functools.wraps(function)(lambda *arguments: function(arguments, scale[0]))

@with_scale
def closed(arguments, scale):
    return scaled(arguments, scale)

def reading(*arguments):
    return scaled(arguments)
"""


@pytest.mark.parametrize("change", [
    lambda theirs: setattr(theirs.scaled, "__defaults__", (2,)),
    lambda theirs: theirs.scaled.__kwdefaults__.update(more=2),
    lambda theirs: theirs.closed.__closure__[1].cell_contents.__setitem__(0, 2),
])  # fmt: skip
def test_defaults_and_closures_are_compared(change, tmp_path, monkeypatch):
    (tmp_path / "defaults_of_a_test.py").write_text(VERIFIER + DEFAULTS)
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("defaults_of_a_test")
    change(theirs)
    with pytest.raises(
        InvalidVerifier, match=r"(scaled|closed)\.__.* of defaults_of_a_test is not in this process as in"
    ):
        word(theirs.closed)
    del sys.modules["defaults_of_a_test"]


IMPORTED_WITHIN = """
def of_statement(tokens, q, p):
    import set_by_a_test
    return verify(tokens, q, [[x * set_by_a_test.SCALE for x in row] for row in p])

def of_text(tokens, q, p):
    import importlib
    return verify(tokens, q, [[x * importlib.import_module("set_by_a_test").SCALE for x in row] for row in p])
"""


@pytest.mark.parametrize("name", ["of_statement", "of_text"])
def test_modules_that_are_imported_within_a_function_are_compared(name, tmp_path, monkeypatch):
    (tmp_path / "importing_within_a_test.py").write_text(VERIFIER + IMPORTED_WITHIN)
    (tmp_path / "set_by_a_test.py").write_text("SCALE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    theirs = importlib.import_module("importing_within_a_test")
    importlib.import_module("set_by_a_test").SCALE = 2
    with pytest.raises(InvalidVerifier, match="SCALE of set_by_a_test is not in this process as in its file"):
        word(getattr(theirs, name))
    for module in ("importing_within_a_test", "set_by_a_test"):
        del sys.modules[module]


def test_a_stub_of_this_process_in_place_of_a_library_function_is_judged_with_it(theirs, monkeypatch):
    monkeypatch.setattr(random, "random", Mock(return_value=0.25))
    assert word(theirs.verify) == "refuted"


def leaving(*_):
    os._exit(0)


def crashing(*_):
    os.abort()


def test_a_process_that_ends_gives_no_verdict_and_the_next_audit_does(theirs):
    for function, how in ((leaving, "with exit code 0"), (crashing, r"by signal 6 \(SIGABRT\)")):
        with pytest.raises(InvalidVerifier, match=f"the process that ran your code was ended {how} before it gave"):
            word(function)
    assert word(theirs.verify) == "lossless"


@pytest.mark.heavy
def test_functions_of_a_script_and_of_a_notebook_cell_travel_with_what_they_read(tmp_path):
    (tmp_path / "script.py").write_text(VERIFIER + SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    words = done.stdout.splitlines()
    assert words[:3] == ["lossless"] * 3, done.stderr
    assert words[3].startswith("AssertionError made is not lossless")
    assert words[4].startswith(
        "InvalidVerifier locked cannot be sent to the process that judges it: TypeError: cannot pickle"
    )
    assert words[5] == "lossless"


@pytest.mark.heavy
def test_ctrl_c_ends_the_process(theirs):
    def endless(*_):
        while True:
            pass

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        with pytest.raises(KeyboardInterrupt):
            word(endless)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not child._servers
    assert word(theirs.verify) == "lossless"
