"""What the function does to the rows is done to the target that it has to meet."""

import numpy as np
import pytest

from draftproof.simulator import InvalidInput, assert_lossless


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("process", "processing"), [(cold, "temperature=.5"), (two_likeliest, "top_k=2")])
def test_function_that_processes_both_rows_meets_the_processed_target(process, processing):
    assert_lossless(chain(process, process), interface="chain", library="numpy", processing=processing)


def test_a_temperature_that_is_no_root_needs_floats():
    with pytest.raises(InvalidInput, match=r"p\^\(1/0.7\) is irrational; use arithmetic float64"):
        assert_lossless(chain(cold, cold), interface="chain", arithmetic="rational", processing="temperature=.7")
