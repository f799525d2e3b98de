"""The bound against the zoo: no lossless verifier exceeds it, the planned one attains it, a lossy one can exceed it."""

from fractions import Fraction

import pytest

import verifiers
from lp_analysis import optimum
from simulator.conformance import SHAPES, conformance_instances, corner_instances
from simulator.lossless import block_law
from simulator.schemes import Delayed

LOSSLESS = [name for name in verifiers.STANDALONE if "delayed" in verifiers.REGISTRY[name].card.lossless_for]
GAP = Fraction(1, 10**6)


def assert_nothing_exceeds(shape, instances):
    scheme = Delayed(*shape[1:])
    for instance in instances:
        target, draft = instance.target, instance.draft
        found = optimum(target.tables, draft.tables, scheme.K, scheme.L1, scheme.L2, float(GAP))
        assert 0 <= found.gap <= GAP
        for name in LOSSLESS:
            law = block_law(verifiers.make(name), target, draft, scheme, "rational")
            assert law.block_efficiency <= found.upper, (name, instance.about)
        planned = verifiers.make("optimum", plan=found.plan, draft_tables=draft.tables)
        law = block_law(planned, target, draft, scheme, "rational")
        assert law.max_deviation(target) == 0
        assert law.block_efficiency == found.lower


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_lossless_verifier_exceeds_the_upper_bound(shape):
    assert_nothing_exceeds(shape, [*conformance_instances(shape, 3), *corner_instances(shape)])


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_lossless_verifier_exceeds_the_upper_bound_on_the_conformance_set(shape):
    assert_nothing_exceeds(shape, conformance_instances(shape, 200))


def test_a_lossy_verifier_exceeds_it():
    shape = SHAPES[0]
    instance = next(conformance_instances(shape, 1))
    scheme = Delayed(*shape[1:])
    found = optimum(instance.target.tables, instance.draft.tables, scheme.K, scheme.L1, scheme.L2)
    law = block_law(verifiers.make("relaxed", w=0), instance.target, instance.draft, scheme, "rational")
    assert law.block_efficiency == scheme.depth + 1 > found.upper
