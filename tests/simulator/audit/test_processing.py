"""Temperature, top-k and top-p: what the function does to the rows is done to the target that it has to meet."""

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import InvalidInput, assert_lossless
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Processing

ROW = RATIONAL.vector(["1/8", "4/8", "1/8", "2/8"])


def test_top_k_keeps_ties_at_its_edge():
    assert Processing(top_k=2).row(ROW).tolist() == [0, fmpq(2, 3), 0, fmpq(1, 3)]
    assert Processing(top_k=3).row(ROW).tolist() == ROW.tolist()


def test_top_p_keeps_the_likeliest_until_their_mass_is_reached():
    assert Processing(top_p=0.5).row(ROW).tolist() == [0, 1, 0, 0]
    assert Processing(top_p=0.75).row(ROW).tolist() == [0, fmpq(2, 3), 0, fmpq(1, 3)]
    assert Processing(top_p=0.8).row(ROW).tolist() == [fmpq(1, 7), fmpq(4, 7), 0, fmpq(2, 7)]
    assert Processing(top_p=1).row(ROW).tolist() == ROW.tolist()


def test_temperature_is_a_power_normalised_exactly():
    assert Processing(temperature=1).row(ROW).tolist() == ROW.tolist()
    assert Processing(temperature=0).row(ROW).tolist() == [0, 1, 0, 0]
    assert Processing(temperature=0.5).row(ROW).tolist() == [fmpq(1, 22), fmpq(16, 22), fmpq(1, 22), fmpq(4, 22)]


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"top_k": 0}, {"top_p": 0}, {"top_p": 1.5}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(InvalidInput, match="must"):
        Processing(**wrong)


def chain(process, declared):
    """Token-by-token verification that processes its rows; `declared` is what it takes for q."""

    def function(tokens, q, p):
        p, q = np.array([process(row) for row in p]), np.array([declared(row) for row in q])
        for i, x in enumerate(tokens):
            if np.random.random() >= p[i, x] / q[i, x]:
                rest = np.maximum(p[i] - q[i], 0)
                return i, np.random.choice(len(rest), p=rest / rest.sum())
        return len(tokens), np.random.choice(p.shape[1], p=p[-1])

    return function


def cold(row):
    powers = row**2
    return powers / powers.sum()


def two_likeliest(row):
    kept = np.where(row >= np.sort(row)[-2], row, 0)
    return kept / kept.sum()


@pytest.mark.parametrize(("process", "options"), [(cold, {"temperature": 0.5}), (two_likeliest, {"top_k": 2})])
def test_function_that_processes_both_rows_meets_the_processed_target(process, options):
    assert_lossless(chain(process, process), interface="chain", library="numpy", **options)


def test_function_that_forgets_to_process_q_is_refuted():
    with pytest.raises(AssertionError, match="not lossless"):
        assert_lossless(chain(cold, lambda row: row), interface="chain", library="numpy", temperature=0.5)


def test_function_that_processes_is_refuted_where_it_should_not():
    with pytest.raises(AssertionError, match="not lossless"):
        assert_lossless(chain(cold, cold), interface="chain", library="numpy", cases=["context"])
