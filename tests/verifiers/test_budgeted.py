"""`budgeted` and `budgeted_tree`: a bias of at most `eps`, lossless laws without a budget, and near the frontier."""

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from draftproof.lp_analysis import frontier
from draftproof.simulator import Delayed, Instance, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import SpecInferConfig
from draftproof.simulator.drafts.trees import DraftTree, first_path
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.protocol import DraftNode, DraftScheme
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make
from draftproof.verifiers.lossy.budgeted import Entered, spend
from tests.quick import quick

BUDGETS = [Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1)]
PATHS = [(2, Delayed(1, 0, 1)), (3, Delayed(1, 0, 2)), (2, Delayed(1, 0, 3))]
TREES = [(2, Delayed(2, 0, 2)), (3, Delayed(2, 0, 1)), (2, Delayed(2, 1, 1)), (2, Delayed(3, 0, 1))]


def on_paths(count: int) -> list[tuple[Instance, Delayed]]:
    return [(instance, scheme) for V, scheme in PATHS for instance in case_instances((V, scheme), count)]


def law(verifier: Any, instance: Instance, scheme: DraftScheme) -> list[Any]:
    found = block_law(verifier, instance.target, instance.draft, scheme, "rational")
    return [table.tolist() for table in (*found.reach, *found.correction)]


def test_without_a_budget_or_on_one_path_they_have_the_law_of_others() -> None:
    for instance, scheme in on_paths(5):
        assert law(make("budgeted", eps=0), instance, scheme) == law(make("block"), instance, scheme)
        for eps in BUDGETS[1::2]:
            ours, theirs = (law(make(name, eps=eps), instance, scheme) for name in ("budgeted_tree", "budgeted"))
            assert ours == theirs
    for V, scheme in TREES:
        for instance in case_instances((V, scheme), 3):
            ours, theirs = (
                law(verifier, instance, scheme) for verifier in (make("budgeted_tree", eps=0), make("layer_transport"))
            )
            assert ours == theirs


def spent_along(eps: Any, root: DraftNode) -> Any:
    """What the first path spends of `eps`."""
    one = root.target[0] * 0 + 1
    here = Entered(one, one, one * eps)
    for node, child in pairwise(first_path(root)):
        here = spend(here, node.target, node.draft).child(here, node.target, node.draft, child.context[-1])
    return one * eps - here.left


@pytest.mark.one_in(2)
@pytest.mark.parametrize("eps", BUDGETS, ids=str)
def test_its_bias_is_the_mean_of_what_its_drafts_spend(eps: Fraction) -> None:
    verifier, most, tight = make("budgeted", eps=eps), RATIONAL.number(eps), 0
    for instance, scheme in on_paths(25):
        mean: Any = RATIONAL.number(0)
        for path in product(range(instance.vocab_size), repeat=scheme.depth):
            mass: Any = RATIONAL.number(1)
            for depth, token in enumerate(path):
                mass = mass * instance.draft.row(path[:depth])[token]
            if mass > 0:
                spent = spent_along(most, DraftTree.from_paths((), [path]).root(instance.target, instance.draft))
                assert 0 <= spent <= most
                mean = mean + mass * spent
        bias = check(verifier, instance.target, instance.draft, scheme, engine="enumerate").total_variation
        assert bias == as_python(mean)
        assert bias <= eps
        tight += bias == eps
    assert tight > (5 if eps < 1 else 0)


@pytest.mark.parametrize("scheme", [Delayed(2, 0, 2), SpecInferConfig((2, 1))], ids=str)
@pytest.mark.parametrize("count", quick([3], [40]), ids=str)
def test_the_bias_on_trees_is_at_most_eps_exactly(scheme: Any, count: int) -> None:
    tight = 0
    for number, instance in enumerate(case_instances((2, scheme), count)):
        eps = BUDGETS[1 + number % 4]
        bias = check(make("budgeted_tree", eps=eps), instance.target, instance.draft, scheme).total_variation
        assert bias is not None
        assert bias <= eps
        tight += bias == eps
    assert tight


@pytest.mark.parametrize("seeds", quick([range(4)], [range(4, 30)]), ids=str)
def test_it_has_nine_tenths_of_the_gain_of_the_frontier_on_average(seeds: range) -> None:
    shares = []
    for seed, (V, L) in product(seeds, [(3, 2), (2, 3)]):
        scheme = Delayed(1, 0, L)
        instance = FAMILIES[("perturbed", "dirichlet")[seed % 2]].instance(V, L, np.random.default_rng(seed))
        tokens = [
            check(make("budgeted", eps=eps), instance.target, instance.draft, scheme).block_efficiency
            for eps in BUDGETS[:3]
        ]
        assert tokens == sorted(tokens)
        for own, point in zip(tokens[1:], frontier(instance.target, instance.draft, scheme, BUDGETS[1:3]), strict=True):
            assert own <= point.upper
            if point.upper - tokens[0] > Fraction(1, 10**4):
                shares.append(float((own - tokens[0]) / (point.upper - tokens[0])))
    assert len(shares) > len(seeds)
    assert np.mean(shares) > 0.9
