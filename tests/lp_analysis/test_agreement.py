"""Independent roads to one number: the program over trees, cuts, column generation and the level programs."""

import json
from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis import certificate, check_certificate, direct_bound, dumps, optimum
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.families import CORNER_CASES
from tests.lp_analysis.cases import DELAYED, FAMILY_NAMES, OTHERS, instance_of, pair
from tests.lp_analysis.cuts import cut_bound

#: Solvers work to 1e-10 in each row, the separation of cuts to 1e-9.
SOLVED = 1e-8
WORLDS = [(seed, FAMILY_NAMES[seed % len(FAMILY_NAMES)], *case) for seed, case in enumerate([*DELAYED, *OTHERS])]
MORE = [(seed + 40, *world[1:]) for seed, world in enumerate(WORLDS[:15] * 4)]
CORNERS = [(3, family, V, Delayed(*shape)) for family in CORNER_CASES for V, *shape in ((2, 3, 1, 2), (3, 2, 0, 2))]


@pytest.mark.parametrize(
    ("seed", "family", "V", "scheme"),
    [*WORLDS, *(pytest.param(*world, marks=pytest.mark.heavy) for world in [*MORE, *CORNERS])],
    ids=str,
)
def test_all_roads_lead_to_one_optimum(seed, family, V, scheme):
    pytest.importorskip("cvxpy")
    given = *pair(instance_of(V, scheme.depth, family, seed)), scheme
    direct = direct_bound(*given)
    assert cut_bound(*given) == pytest.approx(direct, abs=SOLVED, rel=0)
    for method in ("levels", "columns") if isinstance(scheme, Delayed) else ("auto",):
        found = optimum(*given, gap=1e-7, method=method)
        assert 0 <= found.gap <= 1e-7
        assert float(found.lower) - SOLVED <= direct <= float(found.upper) + SOLVED
        assert found.method in ("exact", method if isinstance(scheme, Delayed) else "columns")


def random_weights(V, depth, seed, least):
    rng = np.random.default_rng(seed)
    return [[Fraction(int(n), 8) for n in rng.integers(least, 17, V**d)] for d in range(depth + 1)]


@pytest.mark.parametrize("least", [0, -8])
@pytest.mark.parametrize(
    ("V", "scheme"), [DELAYED[5], DELAYED[9], (2, Delayed(1, 0, 3)), OTHERS[0], OTHERS[9]], ids=str
)
def test_bounds_of_weighted_nodes_are_those_by_cuts_and_have_a_certificate(V, scheme, least):
    given = *pair(instance_of(V, scheme.depth, seed=5)), scheme
    weights = random_weights(V, scheme.depth, V, least)
    found = optimum(*given, weights=weights)
    assert 0 <= found.gap <= 1e-6
    assert float(found.lower) - SOLVED <= cut_bound(*given, weights) <= float(found.upper) + SOLVED
    assert (found.limits is None) is (min(min(level) for level in weights) >= 0)
    fields = json.loads(dumps(certificate(*given[:2], found)))
    assert check_certificate(fields) == (found.lower, found.upper)
    more = [[str(Fraction(value) + 1) for value in level] for level in fields["weights"]]
    with pytest.raises(InvalidInput, match="lower: the certificate states"):
        check_certificate(fields | {"weights": more})


def test_weights_of_one_are_block_efficiency_and_others_are_refused():
    given = *pair(instance_of(3)), Delayed(2, 0, 2)
    plain, ones = optimum(*given), optimum(*given, weights=[[1], [1] * 3, [1] * 9])
    assert (ones.lower, ones.upper) == (plain.lower, plain.upper)
    with pytest.raises(InvalidInput, match="one number for every node, by depth 0 to 2"):
        optimum(*given, weights=[[1], [1] * 3])
    with pytest.raises(InvalidInput, match="levels need weights of at least 0"):
        optimum(*given, method="levels", weights=[[1], [-1] * 3, [1] * 9])
