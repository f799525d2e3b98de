"""`budgeted_tree`: its bias is at most `eps`, it is `layer_transport` without a budget and `budgeted` on one path."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Delayed, Instance, block_law, check
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import SpecInferConfig
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import make
from tests.quick import quick

PATHS = [(2, Delayed(1, 0, 2)), (3, Delayed(1, 0, 2)), (2, Delayed(1, 0, 3))]
TREES = [(2, Delayed(2, 0, 2)), (3, Delayed(2, 0, 1)), (2, Delayed(2, 1, 1)), (2, Delayed(3, 0, 1))]
BUDGETS = [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1)]


def same(one: Any, other: Any, instance: Instance, scheme: Any) -> bool:
    laws = [block_law(spec, instance.target, instance.draft, scheme, "rational") for spec in (one, other)]
    return all(
        left.tolist() == right.tolist()
        for part in ("reach", "correction")
        for left, right in zip(*(getattr(law, part) for law in laws), strict=True)
    )


def test_on_one_path_it_has_the_law_of_budgeted() -> None:
    for V, scheme in PATHS:
        for instance in case_instances((V, scheme), 2):
            for eps in BUDGETS:
                assert same(make("budgeted_tree", eps=eps), make("budgeted", eps=eps), instance, scheme)


def test_without_a_budget_it_has_the_law_of_layer_transport() -> None:
    for V, scheme in TREES:
        for instance in case_instances((V, scheme), 3):
            assert same(make("budgeted_tree", eps=0), make("layer_transport"), instance, scheme)


@pytest.mark.parametrize("scheme", [Delayed(2, 0, 2), SpecInferConfig((2, 1))], ids=str)
@pytest.mark.parametrize("count", quick([3], [40]), ids=str)
def test_its_bias_is_at_most_eps_exactly(scheme: Any, count: int) -> None:
    tight = 0
    for number, instance in enumerate(case_instances((2, scheme), count)):
        eps = BUDGETS[number % 4]
        bias = check(make("budgeted_tree", eps=eps), instance.target, instance.draft, scheme).total_variation
        assert bias is not None
        assert bias <= eps
        tight += bias == eps
    assert tight


@pytest.mark.parametrize("seeds", quick([range(2)], [range(2, 16)]), ids=str)
def test_it_accepts_more_than_layer_transport_on_average(seeds: range) -> None:
    gains = []
    for seed, (V, scheme) in product(seeds, TREES[:3]):
        instance = FAMILIES["dirichlet"].instance(V, scheme.depth, np.random.default_rng(seed), arithmetic=FLOAT64)
        own, base = (
            check(verifier, instance.target, instance.draft, scheme, "float64").block_efficiency
            for verifier in (make("budgeted_tree", eps="1/20"), make("layer_transport"))
        )
        gains.append(float(own) - float(base))
    assert np.mean(gains) > 0.02
