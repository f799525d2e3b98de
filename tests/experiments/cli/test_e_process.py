"""The e-process does not grow under the truth, and grows under what lossy verifiers write."""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from draftproof.experiments.cli.audit.e_process import RowsAfter, log_e_value, refutes, smallest_found


def rows_of(size: int, length: int, seed: int, apart: float = 1.0) -> RowsAfter:
    """Random rows of a target, and rows of a draft that are so far from them."""
    generator = np.random.default_rng(seed)
    target, other = ([generator.dirichlet(np.ones(size), size**d) for d in range(length)] for _ in range(2))
    return RowsAfter(tuple(target), tuple((1 - apart) * p + apart * q for p, q in zip(target, other, strict=True)))


def joint(tables: Sequence[Any]) -> Any:
    """The law of the first `len(tables)` tokens, in lexicographic order."""
    return reduce(lambda mass, rows: (mass[:, None] * rows).reshape(-1), tables, np.ones(1))


@pytest.mark.parametrize("length", [1, 2])
def test_the_e_process_is_a_martingale_under_the_target(length: int) -> None:
    rows = rows_of(2, length, 3)
    law = joint(rows.target)
    expected = sum(
        float(np.prod(law[list(runs)])) * exp(log_e_value([np.bincount(runs, minlength=len(law))], [rows]))
        for runs in product(range(len(law)), repeat=3)
    )
    assert expected == pytest.approx(1, abs=1e-9)  # logarithms of factorials of 3,000 lose four digits
    assert log_e_value([np.zeros(len(law), dtype=int)], [rows]) == 0


def test_a_token_that_the_target_never_gives_makes_the_e_value_infinite() -> None:
    rows = RowsAfter((np.array([[0.5, 0.5, 0.0]]),), (np.array([[0.5, 0.25, 0.25]]),))
    assert log_e_value([np.array([0, 0, 1])], [rows]) == inf
    assert log_e_value([np.array([0, 50, 0])], [rows]) < inf


def test_drafts_taken_for_targets_are_refuted_and_the_target_is_not() -> None:
    rows, generator = rows_of(4, 3, 0, apart=0.3), np.random.default_rng(0)
    for law, refuted in ((joint(rows.target), False), (joint(rows.draft), True)):
        assert (log_e_value([generator.multinomial(2000, law)], [rows]) > log(1e4)) == refuted


def test_corrections_from_the_target_are_found_by_the_law_made_for_them() -> None:
    """Drafts are accepted as they should be, after two roots of random rows."""
    rows, generator, found = [rows_of(4, 2, seed, apart=0.6) for seed in (0, 1)], np.random.default_rng(0), 0
    laws = []
    for root in rows:
        accepted = [np.minimum(p, q) for p, q in zip(root.target, root.draft, strict=True)]
        laws.append(joint([a + (1 - a.sum(1, keepdims=True)) * p for a, p in zip(accepted, root.target, strict=True)]))
    for _ in range(40):
        found += log_e_value([generator.multinomial(600, law) for law in laws], rows) > log(1e3)
    assert found >= 38  # 24 by the other laws alone


def test_the_bias_that_would_be_found_is_found() -> None:
    """Beside a chi-square test at the same level, which looks once: at the bias that is told both find it."""
    generator, runs, level = np.random.default_rng(0), 100_000, 1e-6
    rows = RowsAfter(*(tuple(generator.dirichlet([2, 2], size=2**depth) for depth in range(3)) for _ in range(2)))
    law = joint(rows.target)
    told = smallest_found([runs], [rows], level)
    assert 0.01 < told < 0.02
    found = {}
    for share in (0.3, 0.7, 1.0):
        first = law.reshape(2, 4).sum(1)
        biased = (law.reshape(2, 4) * ((first + np.array([share * told, -share * told])) / first)[:, None]).ravel()
        drawn = generator.multinomial(runs, biased, size=100)
        e_process = sum(refutes(log_e_value([texts], [rows]), level) for texts in drawn)
        chi_square = int((((drawn - runs * law) ** 2 / (runs * law)).sum(1) > chi2.isf(level, 7)).sum())
        found[share] = e_process, chi_square
    assert found[1.0][0] >= 95
    assert found[0.3][0] <= found[0.3][1] < 20
