"""Functions out of files that cannot be imported, methods with a bare self, compiled functions by their source."""

import pytest
from flint import fmpq

from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.symbolic import locate_function

FILE = """
import random
from dataclasses import dataclass
import numpy as np
import a_package_of_nobody
import a_package_of_nobody.ops as ops
from a_package_of_nobody import log, jit, LIMIT
from .beside import twice
from beside import helper as helped, SCALE
try:
    from a_package_of_nobody import fast
    FAST = True
except ImportError:
    FAST = False
if FAST:
    def half(x):
        return fast(x)
else:
    def half(x):
        return x / 2
THIRD = 1 / 3
raise RuntimeError("nothing of this file may be run as a whole")

@jit
def plain(x: ops.Tensor) -> log.Level:
    return random.random() < half(x)

def constant():
    return random.random() < THIRD

def neighbours():
    return random.random() < twice(helped(SCALE))

def logged():
    log.info("something")
    return random.random() < 0.5

def swallowed():
    try:
        log.info("something")
    except Exception:
        pass
    return random.random() < 0.5

def limited():
    return random.random() < 0.5 and LIMIT > 3

def untouched():
    return random.random() < 0.5 or (lambda: LIMIT)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n > 0 and even(n - 1)

class Base:
    def threshold(self):
        return self.scale / 4

class Verifier(Base):
    def __init__(self):
        raise RuntimeError("nothing of this class may be made")

    @property
    def name(self):
        return "mine"

    @staticmethod
    def coin():
        return random.random()

    def verify(self, shift=0):
        self.calls.append(1)
        assert self.name == "mine"
        return self.coin() < self.threshold() + shift, len(self.calls)

    def unknown(self):
        return self.coin() < self.nowhere
"""
BESIDE = """
import another_package_of_nobody
SCALE = 0.125
def twice(x):
    return 2 * x
def helper(x):
    return x
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(FILE)
    (tmp_path / "beside.py").write_text(BESIDE)
    return path


@pytest.mark.parametrize(
    ("name", "arguments", "chance"),
    [("plain", (0.5,), fmpq(1, 4)), ("constant", (), None), ("neighbours", (), fmpq(1, 4))],
)
def test_a_function_out_of_a_file_that_cannot_be_imported(file, law, name, arguments, chance):
    found = locate_function(file, name)
    expected = fmpq(*(1 / 3).as_integer_ratio()) if chance is None else chance
    assert law(lambda: found.function(*arguments))[True] == expected
    assert any(f"{name} was taken out of theirs.py by its source" in note for note in found.notes)


def test_decorators_of_missing_packages_are_left_out_and_noted(file):
    assert any("the decorator jit of plain was left out" in note for note in locate_function(file, "plain").notes)


@pytest.mark.parametrize("name", ["logged", "swallowed", "limited", "untouched"])
def test_what_is_done_with_a_missing_name_is_refused_by_name(file, law, name):
    found = locate_function(file, name)
    if name == "untouched":  # a name that is only mentioned decides nothing, as long as nobody asks for its truth
        assert law(lambda: found.function() is True) == {True: fmpq(1, 2), False: fmpq(1, 2)}
        return
    with pytest.raises(InvalidVerifier, match=r"LIMIT|log\.info"):
        law(found.function)


def test_a_missing_name_that_is_given_is_used(file, law):
    found = locate_function(file, "limited", {"global.LIMIT": 4})
    assert law(found.function) == {True: fmpq(1, 2), False: fmpq(1, 2)}
    assert law(locate_function(file, "limited", {"global.LIMIT": 3}).function) == {False: fmpq(1)}


def test_functions_that_call_each_other(file):
    assert locate_function(file, "even").function(10) is True


def test_a_method_with_a_bare_self_that_no_call_hands_on(file, law):
    found = locate_function(file, "Verifier.verify", {"self.scale": 1, "self.calls": []})
    assert law(found.function) == {(True, 1): fmpq(1, 4), (False, 1): fmpq(3, 4)}
    assert law(found.function) == {(True, 1): fmpq(1, 4), (False, 1): fmpq(3, 4)}
    assert law(lambda: found.function(shift=0.25))[True, 1] == fmpq(1, 2)
    assert any("self is bare: scale, calls" in note for note in found.notes)


def test_what_self_lacks_is_refused_by_name(file, law):
    with pytest.raises(InvalidVerifier, match=r"self\.nowhere"):
        law(locate_function(file, "Verifier.unknown").function)
    with pytest.raises(InvalidVerifier, match=r"self\.scale"):
        law(locate_function(file, "Verifier.verify", {"self.calls": []}).function)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("nobody", {}, "has no"),
        ("Verifier.nobody", {}, "has no"),
        ("Nobody.verify", {}, "has no"),
        ("constant", {"self.x": 1}, "no method"),
    ],
)
def test_what_is_not_there_is_one_line(file, name, given, words):
    with pytest.raises(InvalidInput, match=words):
        locate_function(file, name, given)


SCRIPTED = """
import torch

@torch.jit.script
def inner(x):
    return torch.rand(()) < x

@torch.compile
def outer(x):
    return bool(inner(torch.tensor(x)))
"""


def test_scripted_and_compiled_functions_of_torch_by_their_source(tmp_path, law):
    torch = pytest.importorskip("torch")
    path = tmp_path / "scripted.py"
    path.write_text(SCRIPTED)
    before = torch.jit.script, torch.compile
    found = locate_function(path, "outer")
    assert (torch.jit.script, torch.compile) == before
    assert law(lambda: found.function(0.25))[True] == fmpq(1, 4)
    assert {note.split()[0] for note in found.notes} == {"inner", "outer"}


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_a_scripted_function_that_was_made_before(law):
    torch = pytest.importorskip("torch")

    def draws(x: torch.Tensor) -> torch.Tensor:
        return torch.rand([]) < x

    draws.__annotations__ = {}
    scripted = torch.jit.script(draws)

    def wrapper():
        return bool(scripted(torch.tensor(0.25)))

    assert law(wrapper)[True] == fmpq(1, 4)
