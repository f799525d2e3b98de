"""The bound and all verifiers: no lossless one exceeds it, the planned one attains it, a lossy one can exceed it."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.lp_analysis import optimum
from draftproof.simulator.drafts import (
    Adaptive,
    Delayed,
    Greedy,
    Rheo,
    SpecHub,
    Topology,
    WithoutReplacement,
    lossless_for,
)
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.simulator.verdicts.lossless import block_law
from tests.lp_analysis.cuts import cut_bound
from tests.quick import quick

LOSSLESS = [name for name in verifiers.STANDALONE if "delayed" in lossless_for(verifiers.REGISTRY[name].card)]
GAP = Fraction(1, 10**6)


def assert_nothing_exceeds(shape, instances):
    scheme = Delayed(*shape[1:])
    for instance in instances:
        target, draft = instance.target, instance.draft
        found = optimum(target, draft, scheme, gap=float(GAP))
        assert 0 <= found.gap <= GAP
        for name in LOSSLESS:
            law = block_law(verifiers.make(name), target, draft, scheme, "rational")
            assert law.block_efficiency <= found.upper, (name, instance.about)
        planned = verifiers.make("optimum", plan=found.plan, draft_tables=draft.tables)
        law = block_law(planned, target, draft, scheme, "rational")
        assert law.max_deviation(target) == 0
        assert law.block_efficiency == found.lower


@pytest.mark.parametrize("shape", quick(SHAPES, SHAPES[::3]), ids=str)
def test_no_lossless_verifier_exceeds_the_upper_bound(shape):
    assert_nothing_exceeds(shape, [*conformance_instances(shape, 3), *corner_instances(shape)])


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_lossless_verifier_exceeds_the_upper_bound_on_the_conformance_set(shape):
    assert_nothing_exceeds(shape, conformance_instances(shape, 200))


#: Verifiers that are lossless on schemes other than delayed trees only, with such schemes.
ELSEWHERE = [
    ("greedy_multi_draft", WithoutReplacement(2, 0, 2)),
    ("greedy_multi_draft", WithoutReplacement(2, 1, 1)),
    ("greedy_multi_draft", Greedy(2, 0, 2)),
    ("greedy_multi_draft", Greedy(2, 1, 1)),
    ("greedy_multi_draft", Topology((2, 1, 1, 0, 0))),
    ("greedy_multi_draft", Adaptive(1, 1, 2)),
    ("traversal_insertion_order", Adaptive(1, 1, 1)),
    ("traversal_insertion_order", Adaptive(1, 0, 3)),
    ("spechub", SpecHub(2)),
    ("layer_greedy", Greedy(2, 0, 2)),
    ("rheo", Rheo(3, 3, 2)),
    ("layer_without_replacement", WithoutReplacement(2, 0, 2)),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "scheme"), ELSEWHERE, ids=str)
def test_verifiers_of_other_schemes_do_not_exceed_the_bound_of_those(name, scheme):
    assert scheme.name in lossless_for(verifiers.REGISTRY[name].card)
    for seed, family in enumerate(("perturbed", "dirichlet", "zeros", "disjoint")):
        instance = FAMILIES[family].instance(3, scheme.depth, np.random.default_rng(seed), 20)
        law = block_law(verifiers.make(name), instance.target, instance.draft, scheme, "rational")
        assert law.max_deviation(instance.target) == 0
        bound = cut_bound(instance.target, instance.draft, scheme)
        assert law.block_efficiency <= bound + 1e-8  # the separation is solved to 1e-9


def test_the_verifiers_without_delayed_trees_are_those():
    others = {name for name in verifiers.STANDALONE if lossless_for(verifiers.REGISTRY[name].card)} - set(LOSSLESS)
    assert others == {name for name, _ in ELSEWHERE}


def test_a_lossy_verifier_exceeds_it():
    shape = SHAPES[0]
    instance = next(conformance_instances(shape, 1))
    scheme = Delayed(*shape[1:])
    found = optimum(instance.target, instance.draft, scheme)
    law = block_law(verifiers.make("ensemble", w=0), instance.target, instance.draft, scheme, "rational")
    assert law.block_efficiency == scheme.depth + 1 > found.upper
