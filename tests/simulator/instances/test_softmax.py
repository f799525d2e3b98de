"""Rows of a softmax become exact: each divided by its sum, the largest change told."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import draftproof
from draftproof.simulator import InvalidInput, MarkovProcess, TableProcess, from_softmax
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python, as_rows
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.user_code import Exact, UserCoin


def fractions(row: object) -> list[Fraction | float]:
    return [as_python(value) for value in row]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_row_is_divided_by_its_exact_sum(kind: type) -> None:
    row = np.array([0.1, 0.2, 0.7], dtype=kind)
    process = from_softmax(row)
    given = [Fraction(float(value)) for value in row]
    wanted = [value / sum(given) for value in given]
    assert fractions(process.row((2, 1))) == wanted
    assert process.correction == max(abs(a - b) for a, b in zip(wanted, given, strict=True))
    assert process.arithmetic is RATIONAL


def test_rows_by_context_and_tables() -> None:
    rows = np.array([[0.5, 0.5], [0.25, 0.75]], dtype=np.float32)
    markov = from_softmax(rows, root=(1,))
    assert isinstance(markov, MarkovProcess)
    assert fractions(markov.row(())) == [Fraction(1, 4), Fraction(3, 4)]
    assert fractions(markov.row((0,))) == [Fraction(1, 2), Fraction(1, 2)]
    cube = from_softmax(np.stack([rows, rows[::-1]]), root=(1, 0))
    assert fractions(cube.row(())) == [Fraction(1, 4), Fraction(3, 4)]
    tables = from_softmax([rows[:1], rows])
    assert isinstance(tables, TableProcess)
    assert fractions(tables.row((1,))) == [Fraction(1, 4), Fraction(3, 4)]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([1.0, 2.0], {}, "row 0 sums to 3, no softmax does; take the softmax first"),
        ([-1.0, 2.0], {}, "row 0 gives token 0 probability -1.0; take the softmax first"),
        ([float("nan"), 1.0], {}, "row 0 gives token 0 probability nan"),
        (np.ones((2, 2)) / 2, {}, r"say with root=\(0,\) or the like"),
        (np.ones((3, 2)) / 2, {}, "3 rows; V = 2 tokens need 1, 2 or 4 of them"),
        ([[[0.5, 0.5]]], {"root": (1,)}, "leave out root"),
        ([[0.5], [0.5, 0.5]], {}, "rows must be numbers"),
        ([], {}, "give"),
    ],
)
def test_what_is_no_softmax_is_refused(rows: object, options: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        from_softmax(rows, **options)  # type: ignore[arg-type]


def test_masked_tokens_have_probability_zero():
    row = np.ma.masked_array([0.5, 0.5, 0.25], [False, False, True])
    assert from_softmax(row).row(()).tolist() == [fmpq(1, 2), fmpq(1, 2), fmpq(0)]
    assert from_softmax([[row], [row] * 3]).row((1,)).tolist() == [fmpq(1, 2), fmpq(1, 2), fmpq(0)]
    assert from_softmax(np.ma.stack([row, row, row]), root=(0,)).row((2,))[2] == 0
    assert as_rows(row).tolist() == as_rows([row])[0].tolist() == [0.5, 0.5, 0]
    assert draftproof.check("naive", (row, [0.25, 0.25, 0.5]), arithmetic="float64").row["lossless"]
    with pytest.raises(InvalidInput, match=r"where masked tokens have probability 0, row 0 sums to 0\.75"):
        from_softmax(np.ma.masked_array([0.5, 0.25, 0.25], [False, False, True]))


def test_a_coin_does_not_choose_what_is_masked():
    weights = np.ma.masked_array([1.0, 2.0], [False, True])
    assert SamplingCoin(np.random.default_rng(0)).choose(weights) == EnumeratingCoin(FLOAT64).choose(weights) == 0
    exact = np.ma.masked_array([Exact(fmpq(1)), Exact(fmpq(2))], [False, True])
    assert list(outcomes(lambda coin: UserCoin(coin).choose(exact), RATIONAL)) == [(0, 1)]
