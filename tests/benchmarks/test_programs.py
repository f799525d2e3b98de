"""All solvers that are timed beside each other solve the same program."""

import numpy as np
import pytest

from tests.benchmarks.programs import clarabel, highs, last_program, matrix, ours


@pytest.mark.parametrize("family", ["perturbed", "dirichlet"])
def test_they_find_the_same_value(family):
    pytest.importorskip("cvxpy")
    program = last_program(3, 2, 2, family, {})
    cost, A, right = matrix(program)
    x = type(program.cost)(*(np.random.default_rng(0).normal(size=part.shape) for part in program.cost))
    x.b[:, -1] = 0
    left = np.concatenate([part.ravel() for part in program.rows.apply(x)])
    assert A @ np.concatenate([part.ravel() for part in x])[:-1] == pytest.approx(left, abs=1e-12)
    assert (len(cost), right.sum()) == (A.shape[1], program.rows.n)
    value, lower = ours(program)
    assert lower <= value
    for found in (highs(program, "simplex", 60), highs(program, "ipm", 60), clarabel(program, 60)):
        assert found == pytest.approx(value, abs=1e-6)  # HiGHS accepts violations of 1e-7
