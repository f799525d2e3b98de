"""Relations between verifiers, exact, and the stored counterexamples."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.simulator import Delayed, TableProcess, Verifier, block_law, check
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.instances.families import FAMILIES
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


@pytest.mark.parametrize("name", list(STANDALONE))
def test_without_drafts_the_block_is_one_token_from_the_target(name):
    for instance in case_instances((3, Delayed(1, 0, 0)), 4):
        row = instance.target.row(())
        own = getattr(make(name), "surrogate", lambda p, q: p)(row, None)  # some truncate this row, too
        assert (own.tolist() == row.tolist()) or name in ("truncation", "eta")
        assert laws(name, instance, Delayed(1, 0, 0)) == [[own.tolist()]]
