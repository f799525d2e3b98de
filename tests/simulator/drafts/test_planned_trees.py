"""Sequoia's plan against all trees, its measured acceptance vector, exhausted rows; SpecHub's pairs and its formula."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.experiments.claims.growth import gain, topologies
from draftproof.simulator import InvalidInput, TableProcess, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Sequoia, SpecHub, Topology, WithoutReplacement
from draftproof.simulator.drafts.sequoia import plan
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers.sequoia import acceptance_vector


@pytest.mark.parametrize("acceptance", [[5, 2, 1], [3, 3, 3], [1, 6, 0], [8, 1]], ids=str)
@pytest.mark.parametrize(("nodes", "depth"), [(3, 3), (5, 2), (6, 6), (4, 1)])
def test_the_plan_is_the_best_of_all_trees(acceptance: list[int], nodes: int, depth: int) -> None:
    shares = [Fraction(share, 10) for share in acceptance]
    every = [tree for count in range(nodes + 1) for tree in topologies(count) if Topology(tree).depth <= depth]
    made = plan(shares, nodes, depth)
    assert made in every
    assert gain(made, shares) == max(gain(tree, shares) for tree in every)


def test_the_acceptance_vector_is_what_the_children_are_accepted_with() -> None:
    """At depth 1: the differences of the acceptance rates of one, two and three drafts without replacement."""
    for instance in case_instances((3, WithoutReplacement(3, 0, 1)), 4):
        vector = acceptance_vector(instance.target, instance.draft, 1, 3)
        pair = instance.target, instance.draft
        rates = [
            check(verifiers.make("sequoia"), *pair, Sequoia(k, 1, (k, *(0,) * k))).block_efficiency - 1
            for k in (1, 2, 3)
        ]
        assert [as_python(share) for share in vector] == [rates[0], rates[1] - rates[0], rates[2] - rates[1]]


def test_deeper_vectors_are_means_over_the_targets_contexts() -> None:
    made = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(5), 20)
    below = [
        acceptance_vector(*(TableProcess([[process.row((token,))]]) for process in (made.target, made.draft)), 1, 2)
        for token in (0, 1)
    ]
    root, p = acceptance_vector(made.target, made.draft, 1, 2), made.target.row(())
    mean = [(root[b] + p[0] * below[0][b] + p[1] * below[1][b]) / 2 for b in (0, 1)]
    assert acceptance_vector(made.target, made.draft, 2, 2) == mean


def test_an_exhausted_row_goes_on_uniformly_for_drafter_and_verifier() -> None:
    target = TableProcess([[["1/2", "1/4", "1/4"]], [["1", "0", "0"]] * 3])
    draft = TableProcess([[["1", "0", "0"]]])
    scheme = Sequoia(2, 1, (2, 0, 0))
    trees = {tree.children[()]: mass for tree, mass in outcomes(lambda coin: scheme.draw(draft, coin), RATIONAL)}
    assert trees == {(0, 1): fmpq(1, 2), (0, 2): fmpq(1, 2)}
    ours = check(verifiers.make("sequoia"), target, draft, scheme)
    plain = check(verifiers.make("rejection_without_replacement"), target, draft, scheme)
    assert ours.lossless
    assert plain.lossless
    # token 0 by half; then 1 or 2, each with 1/2 against the 1/2 it was drawn with: accepted always
    assert ours.block_efficiency == 2
    assert plain.block_efficiency == 1 + Fraction(1, 2) + Fraction(1, 4)


def test_without_a_tree_nothing_is_drawn() -> None:
    flat = TableProcess([np.full((1, 2), 1 / 2), np.full((2, 2), 1 / 2)])
    with pytest.raises(InvalidInput, match="has no tree yet: check, compare, bound and audit plan one"):
        check(verifiers.make("nss"), flat, flat, Sequoia(2, 1), "float64")
    with pytest.raises(InvalidInput, match="tree 2-0-0 has 2 nodes and depth 1; at most 1 and 1 were asked"):
        Sequoia(1, 1, (2, 0, 0))
    with pytest.raises(InvalidInput, match="a plan of 500 nodes is beyond the 200"):
        plan([Fraction(1, 2)], 500, 3)


def test_the_pairs_of_spechub_have_the_law_of_the_paper() -> None:
    draft = TableProcess([[["1/5", "1/2", "3/10"]]])
    trees = {tree.children[()]: mass for tree, mass in outcomes(lambda coin: SpecHub(1).draw(draft, coin), RATIONAL)}
    assert trees == {
        (0, 1): fmpq(1, 5),
        (2, 1): fmpq(3, 10),
        (1, 0): fmpq(1, 2) * fmpq(1, 5) / fmpq(1, 2),
        (1, 2): fmpq(1, 2) * fmpq(3, 10) / fmpq(1, 2),
    }


def test_the_acceptance_rate_of_spechub_is_that_of_the_paper() -> None:
    for instance in case_instances((4, SpecHub(1)), 12):
        p, q = instance.target.row(()), instance.draft.row(())
        hub = max(range(4), key=lambda y: (q[y], -y))
        others = sum((min(p[x], q[x] / (1 - q[hub])) for x in range(4) if x != hub and q[x]), fmpq(0))
        found = check(verifiers.make("spechub"), instance.target, instance.draft, SpecHub(1))
        assert found.lossless
        assert found.block_efficiency - 1 == as_python(min(fmpq(1), p[hub] + others))
