"""Coins as arguments, coins that decide twice, and corner coins."""

import random

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import EnumeratingCoin
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.symbolic import ArgumentCoins, intercepted

LIBRARIES = ("numpy", "torch", "python")
QUARTER, HALF = fmpq(1, 4), fmpq(1, 2)


def coins(library, shape=2):
    if library == "torch":
        pytest.importorskip("torch")
    return lambda session: (ArgumentCoins(session).numbers("uniform", shape, library),)


def twice(u):
    accepted = bool(u[0] < 0.5)
    drawn = bool(u[0] < 0.25)
    return accepted, drawn


def once(u):
    x, k = u[1], 0
    while k < 2 and not x < (0.25, 0.5)[k]:
        k += 1
    return k


def four(u):
    return [bool(u[i // 2] < 0.5) for i in range(4)]


#: A function, the settings, some of its law, and how many numbers decide twice.
COINS = [
    (twice, {}, {(True, True): QUARTER, (True, False): QUARTER, (False, False): HALF}, 1),
    (twice, {"apart": "fetches"}, {(True, True): fmpq(1, 8), (False, True): fmpq(1, 8)}, 0),
    (once, {}, {0: QUARTER, 1: QUARTER, 2: HALF}, 0),
    (four, {}, {(True, True, True, True): QUARTER}, 2),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("function", "settings", "law", "reused"), COINS)
def test_a_coin_that_decides_twice_is_reported_and_computed_exactly(follow, library, function, settings, law, reused):
    found = follow(function, coins(library), **settings)
    assert {key: found.law[key] for key in law} == law
    assert len(found.reuse) == reused
    if function is twice and reused:
        lines = [f"test_arguments.py:{twice.__code__.co_firstlineno + i}" for i in (1, 2)]
        assert found.reuse == {f"coin[0] decides at {lines[0]} and again {lines[1]}"}


def test_exponential_noise_as_argument(law):
    torch = pytest.importorskip("torch")
    p = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    found = law(
        lambda e: (p / e).argmax(-1).tolist(), lambda s: (ArgumentCoins(s).numbers("exponential", (2, 2), "torch"),)
    )
    assert found == {(a, b): HALF * fmpq((1, 3)[b], 4) for a in (0, 1) for b in (0, 1)}
    plain = law(lambda e: int(np.argmin(e / np.array([1, 3]))), lambda s: (ArgumentCoins(s).numbers("exponential", 2),))
    assert plain == {0: QUARTER, 1: fmpq(3, 4)}


def test_shapes_and_types():
    torch = pytest.importorskip("torch")
    with intercepted(EnumeratingCoin(FLOAT64)) as session:
        coins = ArgumentCoins(session)
        assert coins.numbers("uniform", (2, 3), "torch").dtype == torch.float64
        assert coins.numbers("uniform", (2, 3), "torch", torch.float32).shape == (2, 3)
        assert coins.numbers("uniform", (), "torch").dim() == 0
        assert coins.numbers("uniform", (2, 3)).shape == (2, 3)
        assert coins.numbers("uniform", ()) < 2
        assert [len(row) for row in coins.numbers("uniform", (2, 3), "python")] == [3, 3]
        with pytest.raises(InvalidInput, match="library = 'cupy'"):
            coins.numbers("uniform", 1, "cupy")


def test_uniforms_as_arguments_have_corners_and_exponentials_have_none(follow):
    uniform = follow(lambda u: u <= 0, lambda s: (ArgumentCoins(s).numbers("uniform", ()),), boundary=True)
    assert uniform.law.keys() == {True, False}
    assert 0 < uniform.law[True] < fmpq(1, 10**9)
    assert {value for _, value in uniform.events} == {fmpq(0), 1 - fmpq(1, 2**53)}
    noise = follow(lambda e: e <= 0, lambda s: (ArgumentCoins(s).numbers("exponential", ()),), boundary=True)
    assert (noise.law, noise.events) == ({False: 1}, set())


def test_a_threshold_between_two_floats_of_the_generator_is_no_corner(follow):
    def function(threshold):
        return lambda: random.random() <= threshold

    on_grid, beside = follow(function(0.25), boundary=True), follow(function(0.25 + 2.0**-54), boundary=True)
    assert {value for _, value in on_grid.events} == {fmpq(0), fmpq(1, 4), 1 - fmpq(1, 2**53)}
    assert {value for _, value in beside.events} == {fmpq(0), 1 - fmpq(1, 2**53)}


def test_largest_float_below_one_depends_on_the_type(follow):
    torch = pytest.importorskip("torch")

    def function(dtype):
        return lambda: bool(torch.rand(1, dtype=dtype) > 1 - 2.0**-25)

    assert follow(function(torch.float32), boundary=True).law.keys() == {True, False}
    single = follow(lambda: bool(torch.rand(1) < 0.75), boundary=True)
    assert 1 - fmpq(1, 2**24) in {value for _, value in single.events}
