"""Synthetic families: valid rows everywhere, reproducible, and each corner case has its property."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import FAMILIES, Instance
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.instances.families import CORNER_CASES


def draw(name: str, seed: int, size: int = 3, depth: int = 2, denominator: int = 20, **parameters: float) -> Instance:
    return FAMILIES[name].instance(size, depth, np.random.default_rng(seed), denominator, **parameters)


def pairs(instance: Instance) -> list[tuple[list[Any], list[Any]]]:
    """Target and draft row of every context that has both."""
    together = zip(instance.target.tables, instance.draft.tables, strict=False)
    return [(p.tolist(), q.tolist()) for targets, drafts in together for p, q in zip(targets, drafts, strict=True)]


@given(
    st.sampled_from(sorted(FAMILIES)), st.integers(0, 10**6), st.integers(2, 4), st.integers(0, 2), st.integers(4, 90)
)
def test_rows_are_multiples_of_the_denominator_that_sum_to_one(
    name: str, seed: int, size: int, depth: int, denominator: int
) -> None:
    instance = draw(name, seed, size, depth, denominator)
    assert (instance.vocab_size, instance.depth, instance.target.arithmetic) == (size, depth, RATIONAL)
    assert instance.draft.depth == max(depth - 1, 0)
    assert instance.about["family"] == name
    for process in (instance.target, instance.draft):
        for row in (row for table in process.tables for row in table):
            assert row.sum() == 1
            assert min(row) >= 0
            assert all((as_python(value) * denominator).denominator == 1 for value in row)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_seed_decides_the_instance(name: str) -> None:
    assert draw(name, 5).digest() == draw(name, 5).digest()
    assert len({draw(name, seed).digest() for seed in range(6)}) == 6


SEEDS = st.integers(0, 10**6)


@given(SEEDS, st.sampled_from([0.5, 1.0, 3.0]))
def test_temperature_at_equal_temperatures_is_equal(seed: int, heat: float) -> None:
    assert all(p == q for p, q in pairs(draw("temperature", seed, target=heat, draft=heat)))
    assert any(p != q for p, q in pairs(draw("temperature", seed, denominator=2**16, target=heat, draft=2 * heat)))


#: What every pair of rows of a corner case has.
CORNERS: dict[str, Callable[[list[Any], list[Any]], bool]] = {
    "equal": lambda p, q: p == q,
    "disjoint": lambda p, q: all(x * y == 0 for x, y in zip(p, q, strict=True)),
    "point_masses": lambda p, q: sorted(p) == sorted(q) == [0, 0, 1],
    "ties": lambda p, q: max(len(set(p)), len(set(q))) < 3,
}


@pytest.mark.parametrize("name", CORNER_CASES)
def test_a_corner_case_has_its_property(name: str) -> None:
    assert FAMILIES[name].name == name
    for seed in range(30):
        found = pairs(draw(name, seed, depth=4))
        if name == "zeros":  # about half of 120; rounding adds zeros and removes none
            assert all([x for pair in found for x in pair[side]].count(0) > len(found) * 3 / 5 for side in range(2))
        else:
            assert all(CORNERS[name](p, q) for p, q in found)
