"""The floor of drafts that forget: an example by hand, a linear program, and drafts that never go below."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof.lp_analysis import floors
from draftproof.lp_analysis.forgetting import barycentre
from draftproof.simulator import CallableProcess, Delayed
from draftproof.simulator.instances.processes import remembering
from draftproof.simulator.verdicts.cases import case_instances

OF, NO, COURSE, PROBLEM, OTHER = range(5)
HALF = Fraction(1, 2)


def sure(token: int) -> list[Fraction]:
    return [Fraction(token == each) for each in range(5)]


def test_of_course_and_no_problem() -> None:
    """A draft that knows no token cannot tell them apart; one token is enough."""
    first = [HALF, HALF, Fraction(0), Fraction(0), Fraction(0)]
    target = CallableProcess(5, lambda c: sure(COURSE if c[0] == OF else PROBLEM) if c else first)
    guess = [Fraction(0), Fraction(0), Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)]
    draft = CallableProcess(5, lambda c: guess if c else first)
    assert floors(target, draft, 0, 2) == [(0, 0), (Fraction(7, 10), HALF)]
    assert floors(target, draft, 1, 2) == [(0, 0), (Fraction(7, 10), 0)]


def total_variation(p: Any, q: Any) -> Any:
    return sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2


def solved(weights: Any, rows: Any) -> float:
    """`1 - max sum over z, y of w_z a_z(y)`, with `a_z(y) <= p_z(y)`, `a_z(y) <= q(y)` and `sum q = 1`."""
    count, size = rows.shape
    cost = np.concatenate([-np.repeat(weights, size), np.zeros(size)])
    above = np.hstack([np.eye(count * size), np.tile(-np.eye(size), (count, 1))])
    bounds = [(0, mass) for mass in rows.ravel()] + [(0, 1)] * size
    total = np.concatenate([np.zeros(count * size), np.ones(size)])[None]
    found = linprog(cost, above, np.zeros(count * size), total, [1], bounds)
    return float(weights.sum() + found.fun)


@pytest.mark.parametrize("memory", [0, 1])
def test_the_floor_is_the_value_of_the_linear_program_and_no_draft_goes_below(memory: int) -> None:
    positive = 0
    for instance in case_instances((3, Delayed(1, 0, 3)), 6):
        own = remembering(instance.draft, memory, 2)
        best = floors(instance.target, own, memory, 3)
        masses = np.ones(1)
        for depth, (rejected, floor) in enumerate(best):
            assert rejected >= floor
            rows = np.array(instance.target.tables[depth].tolist(), dtype=np.float64)
            endings = min(3**memory, len(rows))
            value = sum(solved(masses[end::endings], rows[end::endings]) for end in range(endings))
            assert abs(float(floor) - value) < 1e-7  # HiGHS solves in floats
            masses = (masses[:, None] * rows).ravel()
            positive += floor > 0
        assert [floor for _, floor in best[: memory + 1]] == [0] * (memory + 1)
    assert positive > 4


def test_the_row_that_is_given_has_the_value_exactly() -> None:
    for instance in case_instances((3, Delayed(1, 0, 2)), 6):
        weights, rows = instance.target.row(()), [instance.target.row((x,)) for x in range(3)]
        value, best = barycentre(weights, rows)
        assert sum(best) == 1
        assert sum(w * total_variation(row, best) for w, row in zip(weights, rows, strict=True)) == value
