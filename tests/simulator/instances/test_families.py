"""Synthetic families: valid rows everywhere, reproducible, and each corner case has its property."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.simulator import FAMILIES, Instance, InvalidInput, TooLarge
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.instances.families import CORNER_CASES, family_named


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


def test_every_corner_case_is_a_family() -> None:
    assert set(CORNER_CASES) < set(FAMILIES)
    assert all(FAMILIES[name].title.startswith("corner case: ") == (name in CORNER_CASES) for name in FAMILIES)
    assert all(name == family.name for name, family in FAMILIES.items())


SEEDS = st.integers(0, 10**6)


@given(SEEDS)
def test_equal_has_the_draft_of_the_target(seed: int) -> None:
    assert all(p == q for p, q in pairs(draw("equal", seed)))


@given(SEEDS)
def test_disjoint_shares_no_token(seed: int) -> None:
    assert all(x * y == 0 for p, q in pairs(draw("disjoint", seed)) for x, y in zip(p, q, strict=True))


@given(SEEDS)
def test_point_masses_have_one_token_a_row(seed: int) -> None:
    assert all(sorted(row) == [0, 0, 1] for pair in pairs(draw("point_masses", seed)) for row in pair)


@given(SEEDS)
def test_ties_have_equal_entries_in_every_row(seed: int) -> None:
    assert all(len(set(row)) < 3 for pair in pairs(draw("ties", seed)) for row in pair)


@given(SEEDS)
def test_zeros_have_many_zeros_of_target_and_draft(seed: int) -> None:
    found = pairs(draw("zeros", seed, depth=4))
    for side in range(2):
        entries = [value for pair in found for value in pair[side]]
        assert entries.count(0) > len(entries) / 5  # about half of 120; rounding adds zeros and removes none


@given(SEEDS, st.sampled_from([0.5, 1.0, 3.0]))
def test_temperature_at_equal_temperatures_is_equal(seed: int, heat: float) -> None:
    assert all(p == q for p, q in pairs(draw("temperature", seed, target=heat, draft=heat)))
    assert any(p != q for p, q in pairs(draw("temperature", seed, denominator=2**16, target=heat, draft=2 * heat)))


def test_perturbation_grows_with_its_strength() -> None:
    def distance(s: float) -> Any:
        rows = pairs(draw("perturbed", 0, depth=4, denominator=2**16, s=s))
        return sum(abs(x - y) for p, q in rows for x, y in zip(p, q, strict=True))

    assert distance(0.01) < distance(0.1) < distance(1.0)


def test_small_alpha_makes_rows_more_extreme() -> None:
    def largest(alpha: float) -> Any:
        return sum(max(p) for p, _ in pairs(draw("dirichlet", 0, depth=4, denominator=2**16, alpha=alpha)))

    assert largest(0.1) > largest(1.0) > largest(10.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 1}, "family dirichlet needs a vocabulary of at least 2 tokens, not 1"),
        ({"denominator": 2}, "denominator 2 does not fit 3 tokens; use 3 to 2^40"),
        ({"beta": 1.0}, "family dirichlet has no parameter 'beta'; its parameters: alpha"),
        ({"alpha": -1.0}, "family dirichlet: alpha = -1.0 must be a finite number of at least 0"),
        ({"alpha": float("inf")}, "family dirichlet: alpha = inf must be a finite number of at least 0"),
        ({"alpha": float("nan")}, "family dirichlet: alpha = nan must be a finite number of at least 0"),
        ({"alpha": 0.0}, "family dirichlet: alpha = 0.0 must be positive"),
    ],
    ids=str,
)
def test_bad_sizes_and_parameters_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        draw("dirichlet", 0, **arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(("name", "values"), [("temperature", {"draft": 1e-320}), ("perturbed", {"s": 1.7e308})])
def test_a_parameter_beyond_float64_is_refused(name: str, values: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="logits that float64 cannot hold"):
        draw(name, 0, depth=2, **values)


def test_an_instance_of_too_many_rows_is_refused_before_it_is_drawn() -> None:
    with pytest.raises(TooLarge) as caught:
        draw("dirichlet", 0, depth=14)
    assert str(caught.value) == (
        "tables of depth 14 at V = 3 have more than 4,000,000 rational entries; "
        "the deepest that fit have depth 12, or use a smaller vocabulary"
    )


def test_bad_temperatures_and_needless_parameters_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"family temperature: target = 1\.0 and draft = 0 must be positive"):
        draw("temperature", 0, draft=0)
    with pytest.raises(InvalidInput, match="family equal has no parameter 's'; its parameters: none"):
        draw("equal", 0, s=1.0)


def test_family_is_found_by_name() -> None:
    assert all(family_named(name) is FAMILIES[name] for name in FAMILIES)
    with pytest.raises(InvalidInput, match="unknown family 'zipf'; known: dirichlet, "):
        family_named("zipf")
