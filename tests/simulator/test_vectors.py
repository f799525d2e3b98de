"""Vector functions agree with their definitions, on exact rows drawn by Hypothesis."""

from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.vectors import LONG, ascending, ascending_ratio, mass_before, mass_below, top_tokens, without


@st.composite
def rows(draw: Any, count: int) -> list[Any]:
    """`count` exact rows over one small vocabulary, zeros likely."""
    size = draw(st.integers(2, 4))
    units = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    return [RATIONAL.vector(row) / fmpq(sum(row)) for row in (draw(units) for _ in range(count))]


@given(rows(1), st.data())
def test_without_conditions_on_another_token(single: list[Any], data: Any) -> None:
    (q,) = single
    token = data.draw(st.integers(0, len(q) - 1))
    before = q.tolist()
    rest = without(q, token)
    assert q.tolist() == before, "the row that came in was changed"
    if q[token] == 1:
        assert (rest == q).all()
    else:
        assert rest[token] == 0
        assert all(rest[y] * (1 - q[token]) == q[y] for y in range(len(q)) if y != token)


@pytest.mark.parametrize("kind", ["float64", "torch"])
@pytest.mark.parametrize("denominator", [13, 1000, 2**16])
def test_floats_are_ranked_as_the_rationals_that_they_stand_for(kind: str, denominator: int) -> None:
    """Every row has equal quotients that differ as floats, and random ones."""
    generator = np.random.default_rng(denominator)
    differ = 0
    for _ in range(100):
        units = generator.integers(1, max(denominator // 40, 3), size=(2, 4))
        factor = generator.integers(2, 10)
        p, q = (np.concatenate([row, row * factor]) for row in units)
        p[0] += denominator - p.sum() if denominator > p.sum() else 0
        p, q = (RATIONAL.vector(row) / denominator for row in (p, q))
        floats = [FLOAT64.vector(row) for row in (p, q)]
        differ += len(set(floats[0] / floats[1])) > len(set(p / q))
        if kind == "torch":
            floats = [pytest.importorskip("torch").tensor(row) for row in floats]
        assert ascending_ratio(*floats) == ascending_ratio(p, q)
        below = mass_below(p, q)
        assert abs(np.asarray(mass_below(*floats)) - FLOAT64.vector(below)).max() < 1e-12 * denominator
        assert all(abs(float(mass_before(*floats, y)) - float(below[y])) < 1e-12 * denominator for y in range(8))
    assert differ > 10 or denominator != 1000  # floats of the other ones happen to tie, too


@pytest.mark.parametrize("kind", ["apart", "near", "zeros", "ties", "wide", "equal", "float32"])
def test_a_long_row_sorted_by_digits_is_in_the_order_of_its_floats(kind: str) -> None:
    generator = np.random.default_rng(1)
    row = np.exp(2.5 * generator.normal(size=2 * LONG))
    row = {
        "apart": row,
        "near": 1 + row.round(1) * 2.0**-40,  # the upper halves of their floats are equal
        "zeros": row * (generator.random(len(row)) < 0.3),
        "ties": row.round(1),
        "wide": row**50,  # beyond the digits on both sides
        "equal": row * 0 + 1,
        "float32": row.astype(np.float32),
    }[kind]
    assert (ascending(row) == np.argsort(row, kind="stable")).all()


def test_the_mass_before_a_token_of_a_long_row_is_that_of_all_that_rank_below() -> None:
    generator = np.random.default_rng(3)
    for units in (generator.integers(0, 5, (2, LONG)), generator.integers(1, 10**6, (2, LONG))):
        units[:, 0] = 1
        p, q = (row / row.sum() for row in units)
        below = mass_below(p, q)
        for token in (0, *generator.integers(0, LONG, 20)):
            assert abs(mass_before(p, q, int(token)) - below[token]) <= 1e-12


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masses_below_tokens_of_a_long_tensor_are_those_of_the_array(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    p, q = np.random.default_rng(2).dirichlet(np.full(2 * LONG, 0.1), 2).astype(dtype)
    rows = torch.tensor(p), torch.tensor(q)
    below = mass_below(*rows)
    assert below.dtype == rows[0].dtype
    assert (below.numpy() == mass_below(p, q)).all()
    assert mass_before(*rows, 7).item() == mass_before(p, q, 7)


@pytest.mark.parametrize("kind", ["rational", "float64", "torch"])
def test_short_cuts_for_long_rows_say_what_sorting_says(kind: str) -> None:
    """Many ties, and zeros in both rows."""
    generator = np.random.default_rng(0)
    for size in (20, 50, 130):
        units = generator.integers(0, 5, size=(2, size))
        units[:, 0] += 1
        if size == 50:  # hardly any ties
            units = generator.integers(0, 10**6, size=(2, size))
        p, q = (RATIONAL.vector([int(n) for n in row]) / fmpq(int(row.sum())) for row in units)
        if kind != "rational":
            p, q = FLOAT64.vector(p), FLOAT64.vector(q)
        if kind == "torch":
            torch = pytest.importorskip("torch")
            p, q = torch.tensor(p), torch.tensor(q)
        ranked = sorted(range(size), key=lambda token: (-q[token], token))
        assert [top_tokens(q, count) for count in (0, 1, 3, size)] == [tuple(ranked[:c]) for c in (0, 1, 3, size)]
        below = mass_below(p, q)
        for token in range(size):
            if kind == "rational":
                assert mass_before(p, q, token) == below[token]
            else:
                assert abs(float(mass_before(p, q, token) - below[token])) <= 1e-14 * size  # sums of `size` terms
