"""Seeds: random ones, and arguments of that name. Generators of libraries make streams of them, nothing else does."""

import random
from importlib.util import find_spec

import numpy as np
import pytest

from draftproof.simulator.symbolic import NotFollowed

SOURCE = """
import math
import random
import numpy as np
try:
    import torch
except ImportError:
    torch = None

rng = np.random.default_rng

def of_torch(seed):
    return torch.rand((), generator=torch.Generator().manual_seed(seed))

def hashed(seed):
    return ((seed * 0x85EBCA6B + 12345) & 0xFFFFFFFF) / 2**32

def run({parameters}):
    seed = {seed}
    return {result}
"""
#: How two numbers that are made of seeds depend on each other, the seed, and the numbers.
NUMBERS = [
    ("apart", "random.getrandbits(32)", "rng(seed).random(), rng(seed + 1).random()"),
    ("apart", "random.randrange(2**31)", "random.Random(seed).random(), random.Random(seed + 5).random()"),
    ("apart", "np.random.randint(2**31)", "rng([seed, 0]).random(), rng([seed, 1]).random()"),
    ("apart", "rng().integers(2**31)", "np.random.RandomState(seed).random(), random.Random(int(seed)).random()"),
    ("apart", "given", "rng(given).random(), rng(given * 7 + 1).random()"),
    ("one", "random.getrandbits(40)", "rng(seed).random(), rng(seed).random()"),
    ("one", "np.random.randint(2**31)", "rng(seed).random(), rng(seed).random()"),
    ("one", "given + 11", "rng(seed).random(), rng(seed).random()"),
    ("apart", "torch.randint(0, 2**31, (2,))", "of_torch(int(seed[0])), of_torch(seed[1].item())"),
    ("one", "torch.randint(0, 2**31, (2,))", "of_torch(int(seed[0])), of_torch(seed[0].item())"),
    ("arithmetic of", "given", "hashed(seed), 0"),
    ("arithmetic of", "random.getrandbits(32)", "hashed(seed), 0"),
]


@pytest.fixture(name="written")
def _written(loaded):
    def write(seed, result):
        parameters = "given" if "given" in seed else ""
        function = loaded(SOURCE.format(parameters=parameters, seed=seed, result=result))
        return function, (lambda session: [session.given_seed("given", 7)]) if parameters else None

    return write


@pytest.mark.parametrize(("how", "seed", "numbers"), NUMBERS)
def test_generators_with_one_seed_are_one_and_others_are_independent(follow, q, written, how, seed, numbers):
    if "torch" in seed and find_spec("torch") is None:
        pytest.skip("needs torch")
    function, make = written(seed, f"[bool(number < 0.5) for number in ({numbers})]")
    if how not in ("one", "apart"):
        with pytest.raises(NotFollowed, match=rf"{how} .*theirs\.py:\d+"):
            follow(function, make)
        return
    found = follow(function, make)
    assert set(found.law.values()) == {q(1, 2) if how == "one" else q(1, 4)}
    assert found.reuse if how == "one" else not found.reuse


@pytest.mark.parametrize(
    "use",
    ["seed < 2**30", "seed % 2", "[1, 2][seed]", "{seed: 1}", "np.uint32(seed)", "range(seed)", "seed and 1", "-seed",
     "np.array([seed]) % 3", "int(seed) == 4", "float(seed) < 5", "str(seed) == '3'", "np.zeros(seed)", "round(seed)",
     "bytes(seed)", "hash(seed) == 1", "1 - seed", "seed ** 2", "math.floor(seed)"],
)  # fmt: skip
def test_a_random_seed_is_nothing_else(law, written, use):
    function, _ = written("random.getrandbits(32)", use)
    with pytest.raises((NotFollowed, TypeError)):
        law(lambda: str(function()))


def test_outside_of_calls_nothing_changes(loaded):
    assert loaded("def run(value):\n    return int(value), float(value)\n")("3") == (3, 3.0)
    assert isinstance(random.getrandbits(32), int)
    assert isinstance(np.random.default_rng(1).integers(2**31), np.integer)
