"""Bounds on the weights of accepted nodes, held against the program by cuts, with certificates."""

import json
from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis import certificate, check_certificate, dumps, optimum
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import FAMILIES
from tests.lp_analysis.cuts import cut_bound


def instance_of(V, depth, seed):
    return FAMILIES["dirichlet"].instance(V, depth, np.random.default_rng(seed))


def random_weights(V, depth, seed, least):
    rng = np.random.default_rng(seed)
    return [[Fraction(int(n), 8) for n in rng.integers(least, 12, V**d)] for d in range(depth + 1)]


SHAPES = [(3, Delayed(2, 0, 2)), (2, Delayed(3, 1, 2)), (3, Delayed(1, 0, 3)), (4, Delayed(2, 0, 1))]


@pytest.mark.parametrize("least", [0, -8])
@pytest.mark.parametrize(("V", "scheme"), [*SHAPES, (3, Stratified(2, 0, 2))], ids=str)
def test_weighted_bounds_are_those_of_the_program_by_cuts(V, scheme, least):
    instance = instance_of(V, scheme.depth, 5)
    weights = random_weights(V, scheme.depth, V, least)
    found = optimum(instance.target, instance.draft, scheme, weights=weights)
    direct = cut_bound(instance.target, instance.draft, scheme, weights)
    assert 0 <= found.gap <= 1e-6
    assert float(found.lower) - 1e-9 <= direct <= float(found.upper) + 1e-9  # HiGHS works to 1e-10
    assert (found.limits is None) is (min(min(level) for level in weights) >= 0)


@pytest.mark.parametrize("least", [0, -8])
@pytest.mark.parametrize(("V", "scheme"), SHAPES, ids=str)
def test_certificates_hold_weights_and_what_is_reached_less(V, scheme, least):
    instance = instance_of(V, scheme.depth, 6)
    found = optimum(instance.target, instance.draft, scheme, weights=random_weights(V, scheme.depth, 1, least))
    fields = json.loads(dumps(certificate(instance.target, instance.draft, found)))
    assert check_certificate(fields) == (found.lower, found.upper)
    more = [[str(Fraction(value) + 1) for value in level] for level in fields["weights"]]
    with pytest.raises(InvalidInput, match="lower: the certificate states"):
        check_certificate(fields | {"weights": more})


def test_weights_of_one_are_block_efficiency_and_others_are_refused():
    instance, scheme = instance_of(3, 2, 0), Delayed(2, 0, 2)
    plain = optimum(instance.target, instance.draft, scheme)
    ones = optimum(instance.target, instance.draft, scheme, weights=[[1], [1] * 3, [1] * 9])
    assert (ones.lower, ones.upper) == (plain.lower, plain.upper)
    with pytest.raises(InvalidInput, match="one number for every node, by depth 0 to 2"):
        optimum(instance.target, instance.draft, scheme, weights=[[1], [1] * 3])
    with pytest.raises(InvalidInput, match="levels need weights of at least 0"):
        optimum(instance.target, instance.draft, scheme, method="levels", weights=[[1], [-1] * 3, [1] * 9])
