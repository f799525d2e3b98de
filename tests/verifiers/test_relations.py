"""Relations between verifiers, exact, each on a stated number of instances, and the stored counterexamples."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.simulator import Delayed, TableProcess, UnsupportedTree, Verdict, block_law, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import WithoutReplacement
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.verdicts.cases import CASES, case_instances, conformance_instances
from draftproof.simulator.verdicts.compatibility import compatibility
from draftproof.verifiers import make
from draftproof.verifiers._greedy_order import greedy_masses

INSTANCES = [(case[1], instance) for case in CASES["delayed"] for instance in case_instances(case, 8)]
SINGLE = ["naive_tree", "specinfer", "spectr", "khisti", "optimal_transport"]
BLOCKS = [
    "traversal",
    "gbv",
    "gbv_tree",
    "block_tree",
    "hsd",
    "mixed_order",
    "path_transport",
    "layer_transport",
    "layer_verification",
]
ACCEPT_ALL = [
    "naive",
    "block",
    *SINGLE,
    "traversal",
    "tree_monte_carlo",
    "hsd",
    "block_tree",
    "path_transport",
    "layer_transport",
]


def efficiency(name: str, instance, scheme) -> Fraction:
    return check(make(name), instance.target, instance.draft, scheme, engine="enumerate").block_efficiency


def laws(name: str, instance, scheme) -> list:
    law = block_law(make(name), instance.target, instance.draft, scheme, "rational", "enumerate")
    return [masses.tolist() for masses in law.correction]


def test_the_number_of_instances_is_the_one_that_is_quoted():
    assert len(INSTANCES) == 78


@pytest.mark.parametrize(("names", "twin"), [(SINGLE, "naive"), (BLOCKS, "block")], ids=["naive", "block"])
def test_with_one_path_the_whole_law_is_that_of(names, twin):
    for size, length in ((2, 3), (3, 2)):
        scheme = Delayed(1, 0, length)
        for instance in case_instances((size, scheme), 8):
            wanted = laws(twin, instance, scheme)
            for name in names:
                assert laws(name, instance, scheme) == wanted, name


@pytest.mark.parametrize("name", ACCEPT_ALL)
def test_where_p_equals_q_everything_is_accepted(name):
    for size, K, L1, L2 in ((2, 3, 0, 2), (3, 2, 1, 1), (3, 2, 0, 2)):
        for seed in range(4):
            instance = FAMILIES["equal"].instance(size, L1 + L2, np.random.default_rng(seed), 20)
            assert efficiency(name, instance, Delayed(K, L1, L2)) == L1 + L2 + 1


def test_tree_monte_carlo_equals_block_in_block_efficiency():
    assert all(efficiency("tree_monte_carlo", i, s) == efficiency("block", i, s) for s, i in INSTANCES)


def test_block_never_falls_below_naive_and_is_strictly_above_somewhere():
    pairs = [(efficiency("block", i, s), efficiency("naive", i, s)) for s, i in INSTANCES]
    assert all(ours >= theirs for ours, theirs in pairs)
    assert any(ours > theirs for ours, theirs in pairs)


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


def test_mixed_order_is_gbv_at_one_and_block_at_zero():
    scheme, gbv, block = Delayed(2, 1, 1), make("gbv"), make("block")
    for instance in conformance_instances((3, 2, 1, 1), 6):
        for a, twin in ((1, gbv), (0, block)):
            ours = check(
                make("mixed_order", a=Fraction(a)), instance.target, instance.draft, scheme, engine="enumerate"
            )
            assert (
                ours.block_efficiency
                == check(twin, instance.target, instance.draft, scheme, engine="enumerate").block_efficiency
            )


def test_mixing_rows_instead_of_paths_would_be_another_law():
    scheme = Delayed(2, 0, 2)
    instance = next(conformance_instances((3, 2, 0, 2), 1))
    differs = False
    for tree, _ in outcomes(lambda coin: scheme.draw(instance.draft, coin), RATIONAL):
        path = first_path(tree.root(instance.target, instance.draft))
        _, (total, second) = greedy_masses(path, 2)
        token = path[1].context[-1]
        q = path[0].draft[token]
        mixed = (second.row() + q * path[1].draft) / (total + q)
        differs |= bool(total > 0) and mixed.tolist() != ((second.row() / total + path[1].draft) / 2).tolist()
    assert differs


def test_matrix_shows_a_verifier_that_refuses_a_tree():
    class Picky:
        card = make("nss").card

        def verify(self, root, coin):
            if len(root.children) > 1:
                raise UnsupportedTree("one path only")
            return Verdict((), coin.choose(root.target))

    assert compatibility(Picky(), "top_k", 1).status == "not defined"


def test_capped_hierarchical_decoding_has_the_whole_law_of_block():
    for scheme, instance in INSTANCES:
        assert laws("hsd", instance, scheme) == laws("block", instance, scheme)


def test_uncapped_hierarchical_decoding_is_off_by_a_ninth():
    row = {"target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}
    target, draft = (TableProcess([[row[side]] * 2**depth for depth in range(3)]) for side in ("target", "draft"))
    assert check(make("hsd_uncapped"), target, draft, Delayed(1, 0, 2)).total_variation == Fraction(1, 9)
