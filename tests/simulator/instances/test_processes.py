"""Processes: rows come back where they belong, and every flaw is refused at the door by name."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import (
    CallableProcess,
    InvalidInput,
    MarkovProcess,
    TableProcess,
    rationalise,
    tabulate,
)
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.tables import context_at, context_index


def exact(*rows: Any) -> Any:
    return RATIONAL.vector(list(rows))


UNIFORM = exact(["1/2", "1/2"])
LEVEL = exact(["1/3", "2/3"], ["1/4", "3/4"])


@given(st.integers(1, 5), st.integers(0, 4))
def test_context_index_is_the_lexicographic_position(size: int, depth: int) -> None:
    contexts = list(product(range(size), repeat=depth))
    assert [context_index(context, size) for context in contexts] == list(range(len(contexts)))
    assert [context_at(index, depth, size) for index in range(len(contexts))] == contexts


@pytest.mark.parametrize("row", [[1, 0], ["1/3", "2/3"], [Fraction(1, 3), "2/3"], np.array([0, 1])], ids=str)
def test_rows_without_floats_are_exact(row: Any) -> None:
    for process in (TableProcess([[row]]), MarkovProcess([row]), CallableProcess(2, lambda _: row)):
        assert process.row(()).tolist() == RATIONAL.vector(row).tolist()
        assert tabulate(process, 0, RATIONAL).arithmetic is RATIONAL


def test_markov_process_reads_the_last_tokens_of_root_and_context() -> None:
    table = exact(*[[f"{index}/8", f"{8 - index}/8"] for index in range(4)])  # order 2, V = 2
    process = MarkovProcess(table, root=(1, 0))
    states = {(): (1, 0), (1,): (0, 1), (1, 1): (1, 1), (0, 0, 1): (0, 1)}
    moved = process.starting_at((1, 1))
    for context, state in states.items():
        assert process.row(context).tolist() == table[context_index(state, 2)].tolist()
    assert moved.row(()).tolist() == table[3].tolist()


def test_callable_process_keeps_what_its_function_said() -> None:
    asked = []

    def row(context: tuple[int, ...]) -> Any:
        asked.append(context)
        return exact("1/2", "1/2")

    process = CallableProcess(2, row)
    assert process.row((1,)) is process.row((1,))
    assert asked == [(1,), (1,)]  # twice, to see that it is a function of the context


@pytest.mark.parametrize("exact", [True, False])
def test_a_function_that_gives_two_rows_for_one_context_is_refused(exact: bool) -> None:
    turns = iter([["1/2", "1/2"], ["1/3", "2/3"]])

    def row(_: tuple[int, ...]) -> Any:
        found = RATIONAL.vector(next(turns))
        return found if exact else found.astype(float)

    with pytest.raises(InvalidInput, match=r"model row \(\): the function gives another row when it is asked again"):
        CallableProcess(2, row, "model").row(())


def test_what_rounding_changes_is_no_other_row() -> None:
    turns = iter([0.5, 0.5 + 1e-7])
    process = CallableProcess(2, lambda _: np.array([(first := next(turns)), 1 - first]))
    assert process.row(()).tolist() == [0.5, 0.5]


def test_tabulate_agrees_with_the_rows_of_every_kind_of_process() -> None:
    markov = MarkovProcess(LEVEL, root=(1,))
    called = CallableProcess(2, markov.row)
    for process in (markov, called, tabulate(markov, 3, RATIONAL)):
        tables = tabulate(process, 2, RATIONAL)
        assert tables.depth == 2
        for depth in range(3):
            for context in product(range(2), repeat=depth):
                assert tables.row(context).tolist() == markov.row(context).tolist()


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_rationalise_keeps_sums_signs_and_all_but_the_largest_entry(units: list[list[int]]) -> None:
    floats = np.array([[unit / sum(row) for unit in row] for row in units])
    denominator = 2**16  # a power of two, so that `float * denominator` is exact and the bound below is too
    for row, rounded in zip(floats, rationalise(floats, denominator), strict=True):
        largest = int(row.argmax())
        assert rounded.sum() == 1
        assert min(rounded) >= 0
        for token, (value, kept) in enumerate(zip(row, rounded, strict=True)):
            assert (as_python(kept) * denominator).denominator == 1
            if token != largest:
                assert 0 <= Fraction(float(value)) - as_python(kept) < Fraction(1, denominator)
