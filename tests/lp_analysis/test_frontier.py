"""The frontier of lossy verification: against the optimum, the program over trees, and every lossy verifier."""

import json
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.lp_analysis import (
    FrontierInterrupted,
    check_frontier,
    direct_bound,
    frontier,
    frontier_certificate,
    optimum,
)
from draftproof.lp_analysis.bias_prices import bias_bound
from draftproof.lp_analysis.frontier_points import shortfall
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator import check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified, TopK, WithoutReplacement
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES
from tests.lp_analysis.cases import changed, numbers, pair
from tests.quick import quick

#: Gap that is asked of both programs. HiGHS works at 1e-10, and both sides are exact.
GAP = 1e-6
SHAPES = [
    (3, Delayed(1, 0, 2)),
    (2, Delayed(1, 0, 3)),
    (3, Delayed(2, 0, 1)),
    (2, Delayed(2, 0, 2)),
    (2, Delayed(2, 1, 1)),
    (2, Delayed(3, 0, 2)),
    (2, Stratified(2, 0, 2)),
    (3, WithoutReplacement(2, 0, 2)),
    (2, TopK(2, 0, 2)),
    (2, Delayed(2, 1, 2)),
]
#: Lossy verifiers, and a lossless one; those of one path stand first.
LOSSY = (
    *("ensemble:w=7/10", "ensemble:w=19/20", "lenience:l=1/2", "truncation", "truncation:top_p=1/2", "eta"),
    *(
        "cactus:d=1/20",
        "fuzzy",
        "mentored",
        "cascade",
        "typical",
        "threshold",
        "toward:inner=block,target=ensemble:w=19/20",
        "budgeted:eps=1/20",
        "block",
    ),
)
#: Of those of one path all go along the first one of a tree, too.
ON_TREES = (
    *LOSSY,
    *("budgeted_tree:eps=1/20", "toward:inner=layer_transport,target=ensemble:w=19/20", "toward:target=cactus"),
    *("toward:inner=traversal,target=lenience:l=1/2", "layer_transport"),
)


def instance_of(V, scheme, seed):
    family = ("perturbed", "dirichlet")[seed % 2]
    return FAMILIES[family].instance(V, scheme.depth, np.random.default_rng(seed), denominator=64)


def traced(V, scheme, seed, bias):
    return frontier(*pair(instance_of(V, scheme, seed)), scheme, bias, gap=GAP)


def problem_of(V, scheme, seed):
    return BoundProblem.of(*pair(instance_of(V, scheme, seed)), scheme)


@pytest.mark.parametrize("seed", quick(range(120), range(len(SHAPES))))
def test_no_bias_is_the_optimum_and_the_program_over_trees_has_the_same_values(seed):
    pytest.importorskip("cvxpy")
    V, scheme = SHAPES[seed % len(SHAPES)]
    best = optimum(*pair(instance_of(V, scheme, seed)), scheme, gap=GAP)
    points = traced(V, scheme, seed, [0, "0.01", "0.2"])
    assert max(points[0].lower, best.lower) <= min(points[0].upper, best.upper)
    proof = points[0].verified_by
    assert shortfall(proof.reach, proof.corrections, problem_of(V, scheme, seed).target) == 0
    for found in points:
        direct = direct_bound(*pair(instance_of(V, scheme, seed)), scheme, float(found.bias))
        assert float(found.lower) - 1e-8 <= direct <= float(found.upper) + 1e-8  # accuracy of HiGHS
        assert found.upper - found.lower <= GAP


def test_a_price_is_no_more_than_shortfalls_ask_for():
    scheme = Delayed(2, 0, 2)
    instance = FAMILIES["point_masses"].instance(9, 2, np.random.default_rng(1), denominator=64)
    (found,) = frontier(*pair(instance), scheme, [0], gap=GAP)
    z = found.verified_by.shortfalls
    assert (z.min(), Fraction(as_python(z.max()))) == (0, found.price)
    assert found.price < Fraction(11, 10)  # the slope is 1


@pytest.mark.parametrize("shape", [0, 3, 7])
def test_the_curve_is_below_each_of_its_tangents(shape):
    V, scheme = SHAPES[shape]
    points = traced(V, scheme, 0, ["0", "0.01", "0.05", "0.5", "1"])
    for found, other in product(points, points):  # prices hold at every bias
        z, price = found.verified_by.shortfalls, RATIONAL.number(found.price)
        bound = as_python(bias_bound(z, price, RATIONAL.number(other.bias), problem_of(V, scheme, 0)))
        assert other.lower <= bound
        assert found is not other or bound == found.upper
    assert points[-1].lower >= max(point.lower for point in points) - GAP


@pytest.mark.parametrize("first", quick(range(0, 1000, 4), [0]))
def test_no_verifier_is_above(first):
    ahead = 0
    for seed, case in enumerate([SHAPES[0], (3, Delayed(1, 0, 1)), SHAPES[3], (2, Delayed(1, 0, 2))], start=first):
        V, scheme = case
        instance = instance_of(V, scheme, seed)
        points = {}
        for spec in LOSSY if scheme.K == 1 else ON_TREES:
            verdict = check(find_verifier(spec).verifier, *pair(instance), scheme)
            points[spec] = Fraction(verdict.total_variation), Fraction(verdict.block_efficiency)
        curve = frontier(*pair(instance), scheme, [bias for bias, _ in points.values()], gap=GAP)
        for (bias, tokens), found in zip(points.values(), curve, strict=True):
            assert (found.bias, tokens <= found.upper) == (bias, True)
            ahead += bias > 0
    assert ahead


@pytest.mark.parametrize(
    ("scheme", "bias", "options", "message"),
    [
        *((Delayed(1, 0, 1), wrong, {}, r"numbers in 0\.\.1") for wrong in (-0.01, 1.5, "x", float("nan"))),
        (Delayed(1, 0, 0), 0, {}, "drafts nothing"),
        (Stratified(2, 0, 11), 0, {}, "paths are more than 1,100"),
        (Delayed(1, 0, 1), 0, {"seconds": 1}, "seconds need a clock"),
    ],
)
def test_what_is_no_bias_or_too_large_is_refused(scheme, bias, options, message):
    with pytest.raises((InvalidInput, TooLarge), match=message):
        frontier(*pair(instance_of(2, scheme, 0)), scheme, [bias], **options)


LARGE = [(3, Delayed(3, 0, 4)), (4, Delayed(1, 0, 5)), (4, Delayed(2, 0, 4)), (4, Delayed(3, 1, 3))]


@pytest.mark.parametrize("given", quick(LARGE, LARGE[:2]), ids=str)
def test_large_trees_have_a_frontier(given):
    V, scheme = given
    instance = FAMILIES["perturbed"].instance(V, scheme.depth, np.random.default_rng(1), denominator=64)
    points = frontier(*pair(instance), scheme, [0, "0.02"], gap=GAP)
    assert all(point.upper - point.lower <= GAP for point in points)
    best = optimum(*pair(instance), scheme)
    assert points[0].lower <= best.upper
    assert best.lower <= points[0].upper
    assert points[0].upper < points[1].lower


def given_of_two_branches():
    scheme = Delayed(2, 0, 3)
    return *pair(FAMILIES["perturbed"].instance(4, 3, np.random.default_rng(0), denominator=64)), scheme, [0, "0.05"]


def test_an_interrupt_keeps_the_point_with_the_gap_that_it_had():
    calls = []

    def stopped():
        calls.append(None)
        if len(calls) == 9:  # three to seven are before the first step
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(FrontierInterrupted) as caught:
        frontier(*given_of_two_branches(), gap=1e-9, clock=stopped, seconds=9)
    (found,) = caught.value.points
    best = frontier(*given_of_two_branches(), gap=GAP)[0]
    assert (found.lower <= best.upper, best.lower <= found.upper) == (True, True)
    assert found.upper - found.lower > GAP


def test_points_without_time_have_the_bounds_of_those_before():
    scheme = Delayed(2, 0, 4)
    given = *pair(instance_of(3, scheme, 0)), scheme
    seen = []
    timing = {"seconds": 5, "clock": lambda: 9.0 * len(seen), "report": seen.append}  # the first point converges
    first, less, more = frontier(*given, ["0.02", "0.01", "0.05"], gap=GAP, **timing)
    (best,) = traced(3, scheme, 0, ["0.05"])
    assert first.upper - first.lower <= GAP
    assert GAP < more.upper - more.lower < 0.2
    assert (more.lower <= best.upper, best.lower <= more.upper) == (True, True)
    assert more.lower >= first.lower - GAP
    for found in (less, more):
        assert found.upper <= first.upper + (found.bias - first.bias) * first.price + GAP


@pytest.mark.parametrize("shape", quick([3, 0, 4, 6, 7, 8], [3]))
def test_certificates_of_points_are_accepted_and_any_changed_number_proves_the_same_or_is_refused(shape):
    V, scheme = SHAPES[shape]
    instance = instance_of(V, scheme, 1)
    points = traced(V, scheme, 1, ["0", "0.05"])
    fields = frontier_certificate(*pair(instance), scheme, points)
    proved = [(point.bias, point.lower, point.upper) for point in points]
    assert check_frontier(json.loads(json.dumps(fields)), instance) == proved
    same = 0
    places = list(numbers(fields))
    for path in places:
        with suppress(InvalidInput):
            found = check_frontier(changed(fields, path, Fraction(1, 977)), instance)
            if path[-1] == "bias":  # a price of 0 proves the same at a larger bias
                assert [bounds for _, *bounds in found] == [bounds for _, *bounds in proved]
            else:
                assert found == proved
                assert path[2] in ("shortfalls", "plan", "K", "price")  # the last at no bias
            same += 1
    assert same < len(places) / 2
    for key in ("lower", "upper"):
        with pytest.raises(InvalidInput, match=f"{key}: the certificate states"):
            check_frontier({**fields, "points": [{**fields["points"][1], key: "2"}]})
    with pytest.raises(InvalidInput, match=r"bias: the certificate states 0, its verifier has"):
        check_frontier({**fields, "points": [{**fields["points"][1], "bias": "0"}]})
    dear = ["9", *fields["points"][1]["shortfalls"][1:]]
    with pytest.raises(InvalidInput, match="shortfalls: one is above the price of bias"):
        check_frontier({**fields, "points": [{**fields["points"][1], "shortfalls": dear}]})
    with pytest.raises(InvalidInput, match="digest of this instance"):
        check_frontier(fields, instance_of(V, scheme, 3))
