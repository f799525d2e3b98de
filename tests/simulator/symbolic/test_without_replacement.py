"""Draws of numpy without replacement, and how messages count the numbers of a line."""

import itertools
import random

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.errors import InvalidVerifier

HALF = fmpq(1, 2)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: np.random.choice(3, size=3, replace=False).tolist(), None),
        (lambda: np.random.default_rng().choice(3, 3, False).tolist(), None),
        (
            lambda: np.random.default_rng().choice([0, 1, 2], size=3, replace=False, p=[0.5, 0.25, 0.25]).tolist(),
            (2, 1, 1),
        ),
        (lambda: np.random.default_rng().choice(3, 3, False, [0.5, 0.25, 0.25], shuffle=False).tolist(), (2, 1, 1)),
    ],
)
def test_drafts_without_replacement_never_repeat(law, function, expected):
    weights = expected or (1, 1, 1)
    found = law(function)
    assert found == {
        order: fmpq(weights[order[0]], sum(weights)) * fmpq(weights[order[1]], sum(weights) - weights[order[0]])
        for order in itertools.permutations(range(3))
    }


def test_one_draft_needs_no_shuffling_and_several_do(law):
    generator = np.random.default_rng
    assert law(lambda: generator().choice(2, 1, replace=False, shuffle=False).tolist()) == {(0,): HALF, (1,): HALF}
    assert law(lambda: generator().choice(2, 2, replace=True, shuffle=False).tolist()) == {
        (i, j): HALF * HALF for i in (0, 1) for j in (0, 1)
    }
    with pytest.raises(InvalidVerifier, match="without shuffling gives an order that only numpy's algorithm decides"):
        law(lambda: generator().choice(2, 2, replace=False, shuffle=False).tolist())


def test_numbers_of_one_line_are_counted_from_0(follow):
    def function():
        drawn = [random.random() for _ in range(3)]
        first = [u < 0.5 for u in drawn]
        return first, [u < 0.25 for u in drawn[1:]]

    named = {each.split(" drawn at ")[0].rsplit(" number ")[-1] for each in follow(function).reuse}
    assert named == {"1", "2"}
