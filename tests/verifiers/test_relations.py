"""Relations between verifiers, exact, and the stored counterexamples."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from draftproof.simulator import Delayed, TableProcess, Verifier, block_law, check, outcomes
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.verdicts.cases import case_instances, conformance_instances
from draftproof.verifiers import STANDALONE, make

SINGLE = ["naive_tree", "specinfer", "spectr", "khisti", "optimal_transport"]
BLOCKS = ["traversal", "gbv", "gbv_tree", "block_tree", "hsd", "mixed_order", "path_transport", "layer_transport"]
BLOCKS += ["layer_verification"]
ACCEPT_ALL = ["naive", "block", *SINGLE, "traversal", "tree_monte_carlo", "hsd", "block_tree", "path_transport"]
ACCEPT_ALL += ["layer_transport"]


def made(verifier: str | Verifier) -> Verifier:
    return make(verifier) if isinstance(verifier, str) else verifier


def efficiency(verifier: str | Verifier, instance, scheme) -> Fraction:
    return check(made(verifier), instance.target, instance.draft, scheme, engine="enumerate").block_efficiency


def laws(verifier: str | Verifier, instance, scheme) -> list:
    """The whole law as lists: two laws are equal if and only if these are."""
    law = block_law(made(verifier), instance.target, instance.draft, scheme, "rational", "enumerate")
    return [masses.tolist() for masses in law.correction]


@pytest.mark.parametrize(
    ("names", "twin"),
    [(SINGLE, "naive"), ([make("ensemble", w=Fraction(1))], "naive"), (BLOCKS, "block")],
    ids=["naive", "ensemble at full strictness", "block"],
)
def test_with_one_path_the_whole_law_is_that_of(names, twin):
    for size, length in ((2, 3), (3, 2)):
        scheme = Delayed(1, 0, length)
        for instance in case_instances((size, scheme), 8):
            wanted = laws(twin, instance, scheme)
            for name in names:
                assert laws(name, instance, scheme) == wanted, name


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [*ACCEPT_ALL, "nss"])
def test_where_p_equals_q_everything_is_accepted_but_by_naive_sampling(name):
    for size, *shape in SHAPES:
        scheme = Delayed(*shape)
        for seed in range(4):
            instance = FAMILIES["equal"].instance(size, scheme.depth, np.random.default_rng(seed), 20)
            assert (efficiency(name, instance, scheme) == scheme.depth + 1) is (name != "nss")


@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 3), (4, 2)])
def test_tree_monte_carlo_equals_block_on_every_path(size, depth):
    """`sum (q - w p)+ = s + 1 - w`, so the products of its scales are the products of block's `1 - h`."""
    scheme = Delayed(1, 0, depth)
    for instance in case_instances((size, scheme), 4):
        for tree, _ in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
            ours, theirs = (
                verdicts(make(name), tree, instance.target, instance.draft, RATIONAL)
                for name in ("tree_monte_carlo", "block")
            )
            assert ours == theirs


def test_counterexample_gbv_falls_below_block():
    half = TableProcess([[["1/2", "1/2"]], [["1/2", "1/2"]] * 2])
    scheme = Delayed(2, 0, 1)
    assert check(make("gbv"), half, half, scheme, engine="enumerate").block_efficiency == Fraction(7, 4)
    assert check(make("block"), half, half, scheme, engine="enumerate").block_efficiency == 2


def test_counterexample_specinfer_without_replacement():
    target = TableProcess([[["1/3", "2/3"]], [["1/3", "2/3"]] * 2])
    draft = TableProcess([[["2/3", "1/3"]]])
    law = block_law(make("specinfer"), target, draft, WithoutReplacement(2, 0, 1), "rational", "enumerate")
    first = law.reach[1] + law.correction[0][0]
    assert [str(mass) for mass in first] == ["1/4", "3/4"]  # the target wants 1/3, 2/3
    assert law.total_variation(target) == Fraction(1, 12)


@pytest.mark.parametrize("shape", [(3, 2, 0, 2), (3, 2, 1, 1)], ids=str)
def test_mixed_order_runs_from_block_to_gbv(shape):
    scheme = Delayed(*shape[1:])
    for instance in conformance_instances(shape, 4):
        for a, twin in ((1, "gbv"), (0, "block")):
            assert laws(make("mixed_order", a=Fraction(a)), instance, scheme) == laws(twin, instance, scheme)


def test_uncapped_hierarchical_decoding_is_off_by_a_ninth():
    row = {"target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}
    target, draft = (TableProcess([[row[side]] * 2**depth for depth in range(3)]) for side in ("target", "draft"))
    assert check(make("hsd_uncapped"), target, draft, Delayed(1, 0, 2)).total_variation == Fraction(1, 9)


def test_ensemble_without_strictness_returns_the_draft():
    for instance in case_instances((3, Delayed(1, 0, 2)), 8):
        found = laws(make("ensemble", w=Fraction(0)), instance, Delayed(1, 0, 2))
        p, q = instance.target, instance.draft
        paths = [(x, y, q.row(())[x] * q.row((x,))[y]) for x in range(3) for y in range(3)]
        assert found[2] == [(mass * p.row((x, y))).tolist() for x, y, mass in paths]
        assert not any(sum(map(sum, table)) for table in found[:2])


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])  # it takes its own pairs only
def test_one_path_is_one_path_however_it_is_split(name):
    for instance in case_instances((2, Delayed(1, 0, 3)), 3):
        found = [laws(name, instance, Delayed(1, L1, 3 - L1)) for L1 in range(4)]
        assert found == [found[0]] * 4


@pytest.mark.parametrize("name", list(STANDALONE))
def test_without_drafts_the_block_is_one_token_from_the_target(name):
    for instance in case_instances((3, Delayed(1, 0, 0)), 4):
        row = instance.target.row(())
        own = getattr(make(name), "surrogate", lambda p, q: p)(row, None)  # some truncate this row, too
        assert (own.tolist() == row.tolist()) or name in ("truncation", "eta")
        assert laws(name, instance, Delayed(1, 0, 0)) == [[own.tolist()]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(2, 1, 0, 3), (3, 1, 0, 2), (2, 2, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2)], ids=str)
def test_traversal_by_insertion_order_is_lossless_for_at_most_two_paths(shape):
    scheme = Delayed(*shape[1:])
    for instance in case_instances((shape[0], scheme), 25):
        found = check(make("traversal_insertion_order"), instance.target, instance.draft, scheme, engine="enumerate")
        assert found.max_deviation == 0
