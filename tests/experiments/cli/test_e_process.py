"""The e-process does not grow under the truth, and grows under what lossy verifiers write."""

from collections.abc import Sequence
from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

from draftproof.experiments.cli.audit.e_process import Counts, RowsAfter, log_e_value


def rows_of(size: int, length: int, seed: int, apart: float = 1.0) -> RowsAfter:
    """Random rows of a target, and rows of a draft that are so far from them."""
    generator = np.random.default_rng(seed)
    target, other = ([generator.dirichlet(np.ones(size), size**d) for d in range(length)] for _ in range(2))
    return RowsAfter(tuple(target), tuple((1 - apart) * p + apart * q for p, q in zip(target, other, strict=True)))


def joint(tables: Sequence[Any]) -> Any:
    """The law of the first `len(tables)` tokens, in lexicographic order."""
    mass = np.ones(1)
    for rows in tables:
        mass = (mass[:, None] * rows).reshape(-1)
    return mass


@pytest.mark.parametrize("length", [1, 2])
def test_the_e_process_is_a_martingale_under_the_target(length: int) -> None:
    rows = rows_of(2, length, 3)
    law = joint(rows.target)
    texts = list(product(range(2), repeat=length))
    expected = 0.0
    for runs in product(range(len(texts)), repeat=3):
        seen = Counts.of(np.array([texts[run] for run in runs]), 2)
        expected += float(np.prod(law[list(runs)])) * exp(log_e_value([seen], [rows]))
    assert expected == pytest.approx(1, abs=1e-9)  # logarithms of factorials of 3,000 lose four digits


def test_the_e_value_does_not_depend_on_the_order_or_on_the_portions() -> None:
    rows = rows_of(3, 2, 0)
    texts = np.random.default_rng(0).integers(0, 3, (40, 2))
    whole = log_e_value([Counts.of(texts, 3)], [rows])
    parts = Counts.of(texts[::-1][:15], 3) + Counts.of(texts[::-1][15:], 3)
    assert log_e_value([parts], [rows]) == whole
    assert log_e_value([Counts.of(texts[:0], 3)], [rows]) == 0


def test_a_token_that_the_target_never_gives_makes_the_e_value_infinite() -> None:
    rows = RowsAfter((np.array([[0.5, 0.5, 0.0]]),), (np.array([[0.5, 0.25, 0.25]]),))
    assert log_e_value([Counts.of(np.array([[2]]), 3)], [rows]) == inf
    assert log_e_value([Counts.of(np.array([[1]] * 50), 3)], [rows]) < inf


def test_drafts_taken_for_targets_are_refuted_and_the_target_is_not() -> None:
    rows, generator = rows_of(4, 3, 0, apart=0.3), np.random.default_rng(0)
    for law, refuted in ((joint(rows.target), False), (joint(rows.draft), True)):
        seen = Counts.of_outcomes(generator.multinomial(2000, law), 4, 3)
        assert (log_e_value([seen], [rows]) > log(1e4)) == refuted


def test_corrections_from_the_target_are_found_by_the_law_made_for_them() -> None:
    """Drafts are accepted as they should be, after two roots of random rows."""
    rows, generator, found = [rows_of(4, 2, seed, apart=0.6) for seed in (0, 1)], np.random.default_rng(0), 0
    laws = []
    for root in rows:
        accepted = [np.minimum(p, q) for p, q in zip(root.target, root.draft, strict=True)]
        laws.append(joint([a + (1 - a.sum(1, keepdims=True)) * p for a, p in zip(accepted, root.target, strict=True)]))
    for _ in range(40):
        drawn = [Counts.of_outcomes(generator.multinomial(600, law), 4, 2) for law in laws]
        found += log_e_value(drawn, rows) > log(1e3)
    assert found >= 38  # 24 by the other laws alone
