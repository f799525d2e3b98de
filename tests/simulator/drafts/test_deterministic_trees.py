"""Trees without coins, of OPT-Tree, EAGLE-2, SpecBlock and dynamic depth: exhaustive search, and what they bring."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.experiments.claims.growth import drafted, reach, small_trees
from draftproof.lp_analysis import direct_bound
from draftproof.simulator import TableProcess, check
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import DynamicDepth, Eagle2, OptTree, SpecBlock
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme


def instances(size: int, depth: int, count: int) -> Iterator[Instance]:
    for name in ("dirichlet", "perturbed", "ties"):
        for seed in range(count):
            yield FAMILIES[name].instance(size, depth, np.random.default_rng(seed), 20)


@pytest.mark.parametrize(("size", "nodes"), [(2, 3), (3, 3), (2, 4)])
def test_opt_tree_has_the_largest_sum_of_all_trees_of_its_size(size: int, nodes: int) -> None:
    everything = list(small_trees(size, nodes if size == 2 else 3, nodes))
    for instance in instances(size, nodes, 2):
        found = sum(reach(instance.draft, context) for context in drafted(OptTree(nodes), instance.draft))
        masses = {context: reach(instance.draft, context) for tree in everything for context in tree}
        assert found == max(sum((masses[context] for context in tree), fmpq(0)) for tree in everything)


def test_opt_tree_stops_where_a_layer_gains_too_little() -> None:
    draft = TableProcess([[["3/4", "1/4"]], [["1/2", "1/2"]] * 2, [["1/2", "1/2"]] * 4])
    deep = drafted(OptTree(3), draft)
    assert sorted(deep) == [(0,), (0, 0), (0, 1)]  # 3/4 + 3/8 + 3/8 = 3/2, where the first layer alone has 1
    assert sorted(drafted(OptTree(3, Fraction(1, 2)), draft)) == sorted(deep)  # a gain of exactly 1/2 is the last
    assert sorted(drafted(OptTree(3, Fraction(1)), draft)) == [(0,), (1,)]


@pytest.mark.parametrize(("size", "depth", "nodes"), [(2, 2, 3), (3, 2, 3), (2, 3, 4)])
def test_eagle2_with_a_full_beam_has_the_largest_sum_of_all_trees_of_its_depth(
    size: int, depth: int, nodes: int
) -> None:
    everything = list(small_trees(size, depth, nodes))
    for instance in instances(size, depth, 2):
        found = drafted(Eagle2(size**depth, depth, nodes), instance.draft)
        masses = {context: reach(instance.draft, context) for tree in everything for context in tree}
        best = max(sum((masses[context] for context in tree), fmpq(0)) for tree in everything)
        assert sum((masses[context] for context in found), fmpq(0)) == best


def test_specblock_by_hand() -> None:
    """A row of 3/4 has one child, a flatter one the fewest that cover enough; the best four are the tree."""
    draft = TableProcess([[["3/4", "1/8", "1/8"]], [["1/3", "1/3", "1/3"], *[["1/8", "3/4", "1/8"]] * 2]])
    assert sorted(drafted(SpecBlock(2, 1, 4), draft)) == [(0,), (0, 0), (0, 1), (0, 2)]
    assert sorted(drafted(SpecBlock(2, 1, 2), draft)) == [(0,), (0, 0)]
    wide = sorted(drafted(SpecBlock(2, 1, 4, Fraction(4, 5)), draft))
    assert wide == [(0,), (0, 0), (0, 1), (0, 2)]  # the other children of the root have 1/8 each, and come after 1/4
    assert sorted(drafted(SpecBlock(1, 1, 4, Fraction(4, 5)), draft)) == [(0,), (1,), (2,)]
    assert (SpecBlock(3, 2).depth, SpecBlock(3, 2).passes) == (6, 2)


def test_dynamic_depth_ends_below_its_threshold() -> None:
    draft = TableProcess([[["2/5", "3/5"]], [["9/10", "1/10"], ["1/2", "1/2"]], [["1/2", "1/2"]] * 4])
    # the beam of one node has 3/5, 3/10, 3/20
    for threshold, length in ((Fraction(1), 1), (Fraction(3, 5), 2), (Fraction(1, 4), 3), (Fraction(0), 3)):
        assert max(map(len, drafted(DynamicDepth(1, 3, threshold), draft))) == length
    assert sorted(drafted(DynamicDepth(2, 1), draft)) == [(0,), (1,)]


@pytest.mark.parametrize(
    "scheme",
    [OptTree(4), OptTree(5, Fraction(1, 3)), Eagle2(2, 3, 4), SpecBlock(3, 1, 4), DynamicDepth(2, 3, Fraction(1, 3))],
    ids=str,
)
def test_without_coins_the_block_efficiency_is_one_and_the_targets_mass_of_the_tree(scheme: DraftScheme) -> None:
    """Naive sampling reaches a node with the target's own probability, and no lossless verifier does better."""
    for instance in instances(2, scheme.depth, 2):
        found = check(verifiers.make("nss"), instance.target, instance.draft, scheme)
        mass = sum((reach(instance.target, context) for context in drafted(scheme, instance.draft)), fmpq(0))
        assert found.block_efficiency == as_python(1 + mass)
        bound = direct_bound(instance.target, instance.draft, scheme)
        assert abs(bound - float(found.block_efficiency)) < 1e-9  # the program is solved in float64


@pytest.mark.parametrize("name", ["traversal", "naive", "rejection_without_replacement", "specinfer"])
def test_a_tree_without_coins_verified_as_if_it_were_drawn_is_refuted(name: str) -> None:
    made = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0), 20)
    assert not check(verifiers.make(name), made.target, made.draft, Eagle2(2, 2, 4)).lossless
