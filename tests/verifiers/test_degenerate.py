"""Where verifiers must coincide or become trivial, their whole laws do so exactly."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Delayed, Instance, MarkovProcess, Verifier, block_law, check, outcomes
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import REGISTRY, STANDALONE, make


def law(verifier: str | Verifier, instance: Instance, *scheme: int) -> list[Any]:
    """The whole law as lists: two laws are equal if and only if these are."""
    verifier = make(verifier) if isinstance(verifier, str) else verifier
    found = block_law(verifier, instance.target, instance.draft, Delayed(*scheme), "rational", engine="enumerate")
    return [table.tolist() for table in found.correction]


def efficiency(verifier: str | Verifier, instance: Instance, *scheme: int) -> Any:
    verifier = make(verifier) if isinstance(verifier, str) else verifier
    return block_law(
        verifier, instance.target, instance.draft, Delayed(*scheme), "rational", engine="enumerate"
    ).block_efficiency


def instances(size: int, depth: int, count: int = 8) -> Iterator[Instance]:
    shape = (size, 1, 0, depth)
    yield from conformance_instances(shape, count)
    yield from corner_instances(shape)


def known(*names: str) -> list[str]:
    """Those of the names that the registry has by now."""
    return [name for name in names if name in REGISTRY]


@pytest.mark.parametrize("name", known("naive_tree", "specinfer", "spectr", "khisti", "optimal_transport"))
@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 2)])
def test_with_one_path_top_down_verifiers_equal_naive(name: str, size: int, depth: int) -> None:
    for instance in instances(size, depth):
        assert law(name, instance, 1, 0, depth) == law("naive", instance, 1, 0, depth)


@pytest.mark.parametrize("name", known("traversal", "gbv", "mixed_order", "path_transport"))
@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 2)])
def test_with_one_path_others_equal_block(name: str, size: int, depth: int) -> None:
    for instance in instances(size, depth):
        assert law(name, instance, 1, 0, depth) == law("block", instance, 1, 0, depth)


@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 2)])
def test_block_accepts_at_least_as_much_as_naive_and_sometimes_more(size: int, depth: int) -> None:
    gains = [efficiency("block", i, 1, 0, depth) - efficiency("naive", i, 1, 0, depth) for i in instances(size, depth)]
    assert min(gains) >= 0
    assert max(gains) > 0


ACCEPT_ALL = known(
    "naive",
    "block",
    "naive_tree",
    "specinfer",
    "traversal",
    "spectr",
    "khisti",
    "optimal_transport",
    "tree_monte_carlo",
    "path_transport",
)


@pytest.mark.parametrize("name", ACCEPT_ALL)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_draft_equals_target_everything_is_accepted(name: str, shape: tuple[int, int, int, int]) -> None:
    size, K, L1, L2 = shape
    for seed in range(4):
        instance = FAMILIES["equal"].instance(size, L1 + L2, np.random.default_rng(seed), 20)
        assert efficiency(name, instance, K, L1, L2) == L1 + L2 + 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_draft_equals_target_naive_sampling_still_misses(shape: tuple[int, int, int, int]) -> None:
    size, K, L1, L2 = shape
    instance = FAMILIES["equal"].instance(size, L1 + L2, np.random.default_rng(0), 20)
    assert efficiency("nss", instance, K, L1, L2) < L1 + L2 + 1


def test_gbv_does_not_dominate_block_where_both_rows_are_uniform() -> None:
    coin = MarkovProcess(RATIONAL.vector([["1/2", "1/2"]]))
    found = {
        name: check(make(name), coin, coin, Delayed(2, 0, 1), engine="enumerate").block_efficiency
        for name in ("gbv", "block")
    }
    assert found == {"gbv": Fraction(7, 4), "block": 2}


def test_mixed_order_runs_from_block_to_gbv() -> None:
    for instance in conformance_instances((3, 2, 0, 2), 4):
        assert law(make("mixed_order", a=Fraction(0)), instance, 2, 0, 2) == law("block", instance, 2, 0, 2)
        assert law(make("mixed_order", a=Fraction(1)), instance, 2, 0, 2) == law("gbv", instance, 2, 0, 2)


@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 3), (4, 2)])
def test_tree_monte_carlo_equals_block_on_every_path(size: int, depth: int) -> None:
    """`sum (q - w p)+ = s + 1 - w`, so the products of its scales are the products of block's `1 - h`."""
    for instance in instances(size, depth, count=4):
        for tree, _ in outcomes(partial(Delayed(1, 0, depth).draw, instance.draft), RATIONAL):
            ours, theirs = (
                verdicts(make(name), tree, instance.target, instance.draft, RATIONAL)
                for name in ("tree_monte_carlo", "block")
            )
            assert ours == theirs


@pytest.mark.parametrize("size", [2, 3])
def test_block_by_weights_equals_block_on_paths_of_one_token(size: int) -> None:
    for instance in instances(size, 1):
        assert law("block_by_weights", instance, 1, 0, 1) == law("block", instance, 1, 0, 1)


@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 2)])
def test_relaxed_at_full_strictness_equals_naive(size: int, depth: int) -> None:
    for instance in instances(size, depth):
        assert law(make("relaxed", w=Fraction(1)), instance, 1, 0, depth) == law("naive", instance, 1, 0, depth)


def test_relaxed_without_strictness_returns_the_draft() -> None:
    for instance in instances(3, 2):
        found = law(make("relaxed", w=Fraction(0)), instance, 1, 0, 2)
        p, q = instance.target, instance.draft
        paths = [(x, y, q.row(())[x] * q.row((x,))[y]) for x in range(3) for y in range(3)]
        assert found[2] == [(mass * p.row((x, y))).tolist() for x, y, mass in paths]
        assert not any(sum(map(sum, table)) for table in found[:2])


def test_naive_from_target_accepts_like_naive() -> None:
    for instance in instances(3, 2):
        ours, theirs = (law(name, instance, 1, 0, 2) for name in ("naive_from_target", "naive"))
        assert [list(map(sum, table)) for table in ours] == [list(map(sum, table)) for table in theirs]


@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])  # it takes its own pairs only
def test_one_path_is_one_path_however_it_is_split(name: str) -> None:
    for instance in instances(2, 3, count=3):
        laws = [law(name, instance, 1, L1, 3 - L1) for L1 in range(4)]
        assert laws == [laws[0]] * 4


@pytest.mark.parametrize("name", list(STANDALONE))
def test_without_drafts_the_block_is_one_token_from_the_target(name: str) -> None:
    for instance in instances(3, 0, count=4):
        assert law(name, instance, 1, 0, 0) == [[instance.target.row(()).tolist()]]
        assert efficiency(name, instance, 1, 0, 0) == 1


@pytest.mark.parametrize("shape", [(2, 1, 0, 3), (3, 1, 0, 2), (2, 2, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2)], ids=str)
def test_traversal_by_insertion_order_is_lossless_for_at_most_two_paths(shape: tuple[int, int, int, int]) -> None:
    for instance in (*conformance_instances(shape, 25), *corner_instances(shape)):
        found = check(
            make("traversal_insertion_order"), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate"
        )
        assert found.max_deviation == 0


@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (2, 3, 1, 2)], ids=str)
def test_traversal_by_insertion_order_is_refuted_at_three_paths(shape: tuple[int, int, int, int]) -> None:
    deviations = [
        check(
            make("traversal_insertion_order"), i.target, i.draft, Delayed(*shape[1:]), engine="enumerate"
        ).max_deviation
        for i in conformance_instances(shape, 4)
    ]
    assert max(deviations) > 0


def test_lists_are_compared_number_by_number() -> None:
    """`law` must tell two laws apart that differ in one mass."""
    first, second = list(conformance_instances((2, 1, 0, 1), 2))
    assert law("naive", first, 1, 0, 1) != law("naive", second, 1, 0, 1)
    assert [as_python(x) for x in law("naive", first, 1, 0, 0)[0][0]] == [
        as_python(x) for x in first.target.row(()).tolist()
    ]
