"""`budgeted`: its bias is what it spends and at most `eps`, it is `block` without a budget, and near the frontier."""

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from draftproof.lp_analysis import frontier
from draftproof.simulator import Delayed, Instance, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts.trees import DraftTree, first_path
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.protocol import DraftNode
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make
from draftproof.verifiers.lossy.budgeted import Entered, spend
from tests.quick import quick

BUDGETS = [Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1)]
SHAPES = [(2, Delayed(1, 0, 1)), (3, Delayed(1, 0, 2)), (2, Delayed(1, 0, 3))]


def instances() -> list[tuple[Instance, Delayed]]:
    return [(instance, scheme) for V, scheme in SHAPES for instance in case_instances((V, scheme), 25)]


def law(spec: Any, instance: Instance, scheme: Delayed) -> Any:
    return block_law(spec, instance.target, instance.draft, scheme, "rational", engine="enumerate")


def test_without_a_budget_it_has_the_law_of_block() -> None:
    for instance, scheme in instances():
        one, other = (law(verifier, instance, scheme) for verifier in (make("budgeted", eps=0), make("block")))
        assert [x.tolist() for x in one.reach] == [x.tolist() for x in other.reach]
        assert [x.tolist() for x in one.correction] == [x.tolist() for x in other.correction]


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
    for instance, scheme in instances():
        found: Any = RATIONAL.number(0)
        for path in product(range(instance.vocab_size), repeat=scheme.depth):
            mass: Any = RATIONAL.number(1)
            for depth, token in enumerate(path):
                mass = mass * instance.draft.row(path[:depth])[token]
            if mass > 0:
                root = DraftTree.from_paths((), [path]).root(instance.target, instance.draft)
                spent = spent_along(most, root)
                assert 0 <= spent <= most
                found = found + mass * spent
        bias = check(verifier, instance.target, instance.draft, scheme, engine="enumerate").total_variation
        assert bias == as_python(found)
        assert bias <= eps
        tight += bias == eps
    assert tight > (5 if eps < 1 else 0)


@pytest.mark.heavy
def test_no_node_is_reached_less_often_than_by_block() -> None:
    more = 0
    for instance, scheme in instances():
        least = law(make("block"), instance, scheme).reach
        for eps in BUDGETS[1:]:
            own = law(make("budgeted", eps=eps), instance, scheme).reach
            assert all((one >= other).all() for one, other in zip(own, least, strict=True))
            more += any((one > other).any() for one, other in zip(own, least, strict=True))
    assert more > 100


@pytest.mark.parametrize("seeds", quick([range(4)], [range(4, 30)]), ids=str)
def test_it_has_nine_tenths_of_the_gain_of_the_frontier_on_average(seeds: range) -> None:
    shares = []
    for seed, (V, L) in product(seeds, [(3, 2), (2, 3)]):
        scheme = Delayed(1, 0, L)
        instance = FAMILIES[("perturbed", "dirichlet")[seed % 2]].instance(V, L, np.random.default_rng(seed))
        lossless = check(make("block"), instance.target, instance.draft, scheme).block_efficiency
        budgets = BUDGETS[1:3]
        curve = frontier(instance.target, instance.draft, scheme, budgets)
        tokens = [
            check(make("budgeted", eps=eps), instance.target, instance.draft, scheme).block_efficiency
            for eps in budgets
        ]
        assert all(own <= point.upper for own, point in zip(tokens, curve, strict=True))
        shares += [
            float((own - lossless) / (point.upper - lossless))
            for own, point in zip(tokens, curve, strict=True)
            if point.upper - lossless > Fraction(1, 10**4)
        ]
    assert len(shares) > len(seeds)
    assert np.mean(shares) > 0.9


def test_more_budget_never_brings_fewer_tokens() -> None:
    for instance, scheme in instances()[::3]:
        tokens = [
            check(make("budgeted", eps=eps), instance.target, instance.draft, scheme).block_efficiency
            for eps in BUDGETS
        ]
        assert all(one <= other for one, other in pairwise(tokens))
