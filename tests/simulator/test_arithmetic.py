"""Numbers: exact rationals refuse floats, and every spelling of a fraction gives the same number."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python, parse_fraction, to_fmpq
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import ARITHMETICS, arithmetic_named


@pytest.mark.parametrize(
    "value", [Fraction(3, 4), fmpq(3, 4), "3/4", "0.75", "+3/4", " 3/4 ", "75e-2", ".75"], ids=repr
)
def test_every_spelling_of_three_quarters_is_the_same_rational(value: object) -> None:
    assert RATIONAL.number(value) == fmpq(3, 4)
    assert type(RATIONAL.number(value)) is fmpq


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), float("nan"), None, 1j, [1]], ids=repr)
def test_rational_arithmetic_refuses_everything_inexact(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"is not an exact number; write a fraction such as '1/3'"):
        RATIONAL.number(value)


@pytest.mark.parametrize("text", ["", "a", "1/0", "1/", "/2", "1_000", "nan", "inf", "1/2e3", "1/2/3", "--1", "1 / 2"])
def test_text_that_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_fraction(text)
    assert str(caught.value) == f"{text!r} is not a number; write a fraction such as '1/3'"


@given(st.fractions())
def test_fraction_survives_the_way_through_text_and_flint(value: Fraction) -> None:
    assert parse_fraction(str(value)) == value
    assert as_python(to_fmpq(value)) == value
    assert type(as_python(to_fmpq(value))) is Fraction


def test_rationals_refuse_to_meet_floats() -> None:
    with pytest.raises(TypeError):
        RATIONAL.vector([1, 2]) * 0.5
    with pytest.raises(TypeError):
        RATIONAL.vector(["1/2", "1/2"]) + np.array([0.5, 0.5])


def test_arithmetic_is_found_by_name() -> None:
    assert {name: arithmetic_named(name) for name in ARITHMETICS} == ARITHMETICS
    with pytest.raises(InvalidInput, match="unknown arithmetic 'decimal'; choose rational or float64"):
        arithmetic_named("decimal")


@pytest.mark.parametrize("arithmetic", [RATIONAL, FLOAT64])
def test_another_process_gets_the_same_arithmetic(arithmetic):
    assert pickle.loads(pickle.dumps(arithmetic)) is arithmetic
