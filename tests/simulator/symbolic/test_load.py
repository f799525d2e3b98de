"""Files of somebody else, loaded with recorded names in place."""

import random

import pytest
from flint import fmpq

from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.symbolic import locate_function
from draftproof.simulator.symbolic.loading import files as loading

HALF = fmpq(1, 2)
SOURCE = """
import random as r
from dataclasses import dataclass
from math import log
from random import Random, random
import numpy as np
import torch
from numpy.random import default_rng, rand
from torch import manual_seed, rand as torch_rand

OLD = Random(3)
RNG = default_rng(3)
STATE = np.random.RandomState(3)
TORCH = torch.Generator().manual_seed(3)
BOX = [default_rng(1)]

@dataclass
class Settings:
    scale: "float" = 2.0

def bound():
    return random() < 0.5, rand() < 0.5, bool(torch_rand(1) < 0.5)

def of_module():
    return OLD.random() < 0.5, RNG.random() < 0.5, STATE.rand() < 0.5, bool(torch.rand(1, generator=TORCH) < 0.5)

def in_box():
    return BOX[0].random() < 0.5

def conversions():
    u = float(random())
    v = float(torch.rand(1))
    w = float(np.random.rand(1))
    assert float("0.5") == 0.5 and isinstance(1.5, float)
    return u < 0.25, v < 0.25, w * Settings().scale < 0.5

def logarithm():
    return -log(random()) < log(2)

def shadowed():
    float = lambda x: "mine"
    return float(random())

class Verifier:
    def __init__(self, generator=Random(4)):
        self.generator = generator
    def __call__(self):
        return self.generator.random() < 0.5

verify = Verifier()
"""


@pytest.fixture(name="named")
def _named(loaded):
    """A function of `SOURCE`."""
    pytest.importorskip("torch")
    return lambda name: loaded(SOURCE, name)


def test_names_bound_at_import_are_followed(law, named):
    assert set(law(named("bound")).values()) == {HALF**3}
    assert law(named("logarithm")).keys() == {True, False}


def test_generators_of_the_module_are_followed(law, named):
    found = law(named("of_module"))
    assert len(found) == 16
    assert set(found.values()) == {HALF**4}
    assert law(named("in_box")) == {True: HALF, False: HALF}
    assert law(named("verify")) == {True: HALF, False: HALF}


def test_float_by_its_name_keeps_a_number_random(law, named):
    found = law(named("conversions"))
    assert found[True, True, True] == fmpq(1, 64)
    assert law(named("shadowed")) == {"mine": 1}


def test_loaded_functions_behave_as_usual_outside_of_a_call(named):
    function = named("of_module")
    generator = random.Random(3)
    first = function()
    assert first[0] == (generator.random() < 0.5)  # the module's own generator, seeded with 3
    assert all(isinstance(each, (bool,)) or each in (True, False) for each in named("bound")())
    assert random.Random is not type(function.__globals__["OLD"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing", "def other(): pass", "has no function 'missing'"),
        ("f", "def f(:", "is no Python"),
        ("f", "import nothing_of_that_name", "has no 'f'"),
        ("f", "f = 3", "has no function 'f'"),
    ],
)
def test_bad_files_are_refused(loaded, name, text, message):
    with pytest.raises(InvalidInput, match=message):
        loaded(text, name)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no file"):
        locate_function(tmp_path / "nowhere.py", "f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch", ["torch"]), ("import os, torch.nn as nn", ["torch"]), ("from torch import nn", ["torch"]),
        ("from torch.nn import functional", ["torch"]), ("import torchlike, os.torch", []), ("torch = 3", []),
    ],
)  # fmt: skip
def test_torch_is_imported_before_a_function_that_imports_it(loaded, monkeypatch, text, expected):
    imported = []
    monkeypatch.setattr(loading.importlib, "import_module", imported.append)
    loaded(f"def f():\n    {text}\n", "f")
    assert set(imported) == set(expected)


def test_a_file_may_start_threads_while_it_is_imported_and_not_while_it_is_followed(loaded, law):
    pytest.importorskip("torch")
    text = (
        "import threading\nBOX = []\ndef work():\n    thread = threading.Thread(target=BOX.append, args=[1])\n"
        "    thread.start()\n    thread.join()\n    return len(BOX)\nwork()\ndef f():\n    return 3\n"
    )
    assert law(loaded(text, "f")) == {3: 1}
    assert loaded(text, "work")() == 2
    with pytest.raises(InvalidVerifier, match="a thread is started"):
        law(loaded(text, "work"))
