"""The enumerating coin gives exact laws and refuses nonsense; the sampling coin inverts cumulative sums."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import Coin, InvalidVerifier, SamplingCoin, outcomes
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, as_python

HALF, THIRD = fmpq(1, 2), fmpq(1, 3)
STATE = "two runs with the same answers from the coin went different ways"


def law_of(run: Callable[[Coin], Any], arithmetic: Arithmetic = RATIONAL) -> dict[Any, Any]:
    masses: dict[Any, Any] = defaultdict(int)
    for outcome, weight in outcomes(run, arithmetic):
        masses[outcome] += as_python(weight)
    return dict(masses)


#: A program for the coin: a leaf, or a probability with two programs, or weights with as many programs.
PROGRAMS = st.recursive(
    st.integers(0, 3),
    lambda inner: st.one_of(
        st.tuples(st.fractions(0, 1, max_denominator=6), inner, inner),
        st.lists(st.tuples(st.integers(0, 3), inner), min_size=1, max_size=3).filter(
            lambda pairs: any(weight for weight, _ in pairs)
        ),
    ),
    max_leaves=8,
)


def interpret(program: Any, coin: Coin) -> int:
    while not isinstance(program, int):
        if isinstance(program, tuple):
            probability, heads, tails = program
            program = heads if coin.flip(RATIONAL.number(probability)) else tails
        else:
            program = program[coin.choose([weight for weight, _ in program])][1]
    return program


def expected(program: Any) -> dict[int, Fraction]:
    if isinstance(program, int):
        return {program: Fraction(1)}
    if isinstance(program, tuple):
        parts = [(program[0], program[1]), (1 - program[0], program[2])]
    else:
        total = sum(weight for weight, _ in program)
        parts = [(Fraction(weight, total), inner) for weight, inner in program]
    masses: dict[int, Fraction] = defaultdict(Fraction)
    for mass, inner in parts:
        for leaf, share in expected(inner).items():
            masses[leaf] += mass * share
    return {leaf: mass for leaf, mass in masses.items() if mass}


@given(PROGRAMS)
def test_enumeration_agrees_with_the_recursive_law_of_random_programs(program: Any) -> None:
    found = law_of(lambda coin: interpret(program, coin))
    assert found == expected(program)
    assert sum(found.values()) == 1


def test_float_run_forgives_rounding_and_nothing_more() -> None:
    # 1 + 2**-52 is what p/q can round to; 1e-6 is a mistake.
    assert law_of(lambda coin: coin.flip(1 + 2**-52), FLOAT64) == {True: 1.0}
    assert law_of(lambda coin: coin.flip(-(2**-60)), FLOAT64) == {False: 1.0}
    for probability in (1 + 1e-6, -1e-6, float("nan")):
        with pytest.raises(InvalidVerifier, match=r"it must lie in \[0, 1\]"):
            law_of(lambda coin, asked=probability: coin.flip(asked), FLOAT64)


#: What a run asks of the coin, given how often it ran before, and what is said of that.
WRONG: list[tuple[Callable[[Coin, int], Any], str]] = [
    *(
        (ask, "in a rational run; build probabilities from the rows")
        for value in (0.5, np.float64(0.5), None, "1/2", Fraction(1, 2))
        for ask in (
            lambda coin, runs, value=value: coin.flip(value),
            lambda coin, runs, value=value: coin.choose([1, value]),
        )
    ),
    *(
        (
            lambda coin, runs, asked=asked: coin.flip(asked),
            rf"^the coin was asked for probability {asked}; it must lie in \[0, 1\]$",
        )
        for asked in (fmpq(-1, 1000), fmpq(1001, 1000), -1, 2)
    ),
    *(
        (lambda coin, runs, weights=weights: coin.choose(weights), "they must be >= 0, not all 0")
        for weights in ([0, 0], [], [1, -1], [2, fmpq(-1, 9)])
    ),
    (lambda coin, runs: coin.flip(fmpq(1, 2 + runs)), STATE),
    (lambda coin, runs: coin.choose([1, 1 + runs]), STATE),
    (lambda coin, runs: coin.flip(HALF) and coin.flip(HALF) if runs == 0 else True, STATE),
    (lambda coin, runs: coin.flip((HALF, THIRD)[runs % 3 % 2]) and coin.flip(HALF), STATE),
]


@pytest.mark.parametrize(("run", "message"), WRONG)
def test_nonsense_and_state_are_refused(run: Callable[[Coin, int], Any], message: str) -> None:
    runs = count()
    with pytest.raises(InvalidVerifier, match=message):
        law_of(lambda coin: run(coin, next(runs)))


class Dial:
    """A generator that returns what it is told."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


@pytest.mark.parametrize(
    ("value", "index"), [(0.0, 1), (0.2499999, 1), (0.25, 3), (0.9999999, 3), (1 - 2**-53, 3)], ids=str
)
@pytest.mark.parametrize("kind", [list, np.array, RATIONAL.vector], ids=["list", "float64", "rational"])
def test_sampling_coin_never_chooses_what_has_no_weight(value: float, index: int, kind: Any) -> None:
    weights = kind([0, 2, 0, 6, 0])
    assert SamplingCoin(Dial(value)).choose(weights) == index


@pytest.mark.parametrize("probability", [0.25, fmpq(1, 4)], ids=["float64", "rational"])
def test_sampling_coin_shows_heads_below_the_probability(probability: Any) -> None:
    assert [SamplingCoin(Dial(v)).flip(probability) for v in (0.0, 0.2499, 0.25, 0.9)] == [True, True, False, False]


@pytest.mark.parametrize("weights", [[0, 0], [float("nan"), 1.0], [float("inf"), 1.0]], ids=str)
def test_both_coins_refuse_what_is_no_measure(weights: list[Any]) -> None:
    with pytest.raises(InvalidVerifier, match="they must be >= 0, not all 0"):
        SamplingCoin(Dial(0.5)).choose(weights)
    with pytest.raises(InvalidVerifier, match="they must be >= 0, not all 0"):
        law_of(lambda coin: coin.choose(weights), FLOAT64)
    for probability in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidVerifier, match=r"it must lie in \[0, 1\]"):
            SamplingCoin(Dial(0.5)).flip(probability)


def test_a_run_too_unlikely_for_float64_is_refused_by_name():
    def halve(coin):
        while coin.flip(0.5):
            pass

    with pytest.raises(InvalidVerifier, match="too unlikely for float64"):
        list(outcomes(halve, FLOAT64))
