"""The worst set of nodes, by flow and by programme, against all sets."""

from itertools import chain, combinations

import numpy as np
import pytest

from draftproof.lp_analysis.hitting import ListedTrees, probability
from draftproof.lp_analysis.reference.closures import closure_by_flow, closure_by_program, subtree
from draftproof.simulator.drafts import Topology
from draftproof.simulator.instances.families import FAMILIES


@pytest.mark.parametrize("seed", range(6))
def test_flow_and_programme_find_the_worst_of_all_sets(seed):
    generator = np.random.default_rng(seed)
    draft = FAMILIES["dirichlet"].instance(2, 2, generator).draft
    listed = ListedTrees.of(draft, Topology((2, 1, 0, 0)))
    contexts = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    accepted = dict(zip(contexts, generator.normal(0.1, 0.4, len(contexts)), strict=True))

    def excess(nodes):
        return sum(accepted[c] for c in nodes) - float(probability(listed, nodes))

    worst = max(map(excess, chain.from_iterable(combinations(contexts, n) for n in range(len(contexts) + 1))))
    assert excess(closure_by_program(listed.trees, accepted)) == pytest.approx(worst, abs=1e-12)
    assert excess(closure_by_flow(listed.trees, accepted)) == pytest.approx(worst, abs=1e-8)  # whole numbers of 2^-30


def test_a_subtree_has_its_root_and_all_below():
    assert subtree(1, 1, 2, 2) == {(1,), (1, 0), (1, 1)}


@pytest.mark.parametrize(("gain", "chosen"), [(0.5, {(0,)}), (0.125, set()), (-0.5, set())])
def test_a_single_node_is_chosen_if_it_is_worth_its_tree(gain, chosen):
    trees = [(frozenset({(0,)}), 0.25)]
    assert closure_by_flow(trees, {(0,): gain}) == closure_by_program(trees, {(0,): gain}) == chosen
