"""`PathPlan`: its checks, its law against enumeration, its plain data."""

from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations, product
from math import prod

import numpy as np
import pytest

from draftproof.lp_analysis.orders import as_plan
from draftproof.simulator.arithmetic import FLOAT64, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.plan import PathPlan

HALF = Fraction(1, 2)


def random_plan(V, K, L1, L2, seed=0, count=3):
    rng = np.random.default_rng(seed)
    parts = [tuple(tuple(map(int, rng.permutation(V**L2))) for _ in range(V**L1)) for _ in range(count)]
    weights = [Fraction(int(n), 7 * count) for n in rng.integers(1, 7, count)]
    weights[-1] += 1 - sum(weights)
    return PathPlan(V, K, L1, L2, tuple(weights), tuple(parts))


@pytest.mark.parametrize("shape", [(2, 2, 0, 2), (2, 2, 1, 1), (3, 2, 0, 1), (2, 3, 0, 1), (2, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("family", ["perturbed", "zeros"])
def test_selection_equals_enumeration_of_the_drafts(shape, family):
    V, K, L1, L2 = shape
    plan = random_plan(*shape)
    draft = FAMILIES[family].instance(V, L1 + L2, np.random.default_rng(1)).draft
    wanted = dict.fromkeys(product(range(V), repeat=L1 + L2), Fraction(0))

    def mass(start, tokens):
        steps = [(*start, *tokens[:i]) for i in range(len(tokens))]
        return prod((as_python(draft.row(c)[y]) for c, y in zip(steps, tokens, strict=True)), start=Fraction(1))

    for trunk in product(range(V), repeat=L1):
        for branches in product(product(range(V), repeat=L2), repeat=K):
            chance = mass((), trunk) * prod(mass(trunk, branch) for branch in branches)
            for i, weight in enumerate(plan.weights):
                wanted[(*trunk, *plan.best(i, trunk, branches))] += chance * weight
    law = plan.selection(draft.tables)
    assert [as_python(value) for value in law[-1]] == list(wanted.values())
    assert law[0][0] == 1
    assert all((above == below.reshape(-1, V).sum(axis=1)).all() for above, below in pairwise(law))


def test_selection_in_float64_follows_the_exact_one():
    plan = random_plan(3, 3, 1, 2)
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(1))
    exact = plan.selection(instance.draft.tables)
    floats = plan.selection(instance.converted(FLOAT64, 3).draft.tables)
    assert all(np.allclose(a.astype(float), b, atol=1e-14) for a, b in zip(exact, floats, strict=True))


ONE = Fraction(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (partial(PathPlan, 2, 2, 0, 1, weights, orders), message)
            for weights, orders, message in (
                ((HALF,), (((0, 1),),), "sum to 1/2"),
                ((HALF, HALF), (((0, 1),),), "2 weights for 1 orders"),
                ((), (), "at least one"),
                ((Fraction(3, 2), -HALF), (((0, 1),), ((1, 0),)), "at least 0"),
                ((1.0,), (((0, 1),),), "must be a Fraction"),
                ((ONE,), (((0, 0),),), "no permutation"),
                ((ONE,), (((0, 1), (0, 1)),), "has 2 parts"),
            )
        ),
        (partial(PathPlan, 0, 2, 0, 1, (ONE,), (((0,),),)), "vocab_size"),
        (partial(PathPlan, 2, 2, 1, 0, (ONE,), (((0,), (0,)),)), "L2 = 0"),
        (partial(PathPlan, 10, 2, 0, 9, (ONE,), (((0,),),)), "paths"),
        (partial(random_plan(2, 2, 0, 2).selection, [np.full((1, 2), 0.5)]), "needs draft rows to depth 1"),
    ],
)
def test_what_is_no_plan_is_refused(make, message):
    with pytest.raises((InvalidInput, TooLarge), match=message):
        make()


def test_mixtures_of_trunks_are_coupled_without_changing_them():
    orders = [np.array(order) for order in permutations(range(3))]
    mixtures = [([0.25, 0.75], orders[:2]), ([0.5, 0.25, 0.25], orders[2:5]), ([1.0], orders[5:])]
    scaled = [([weight * 4 for weight in weights], own) for weights, own in mixtures]  # they need not sum to 1
    assert as_plan(3, Delayed(2, 1, 1), scaled) == as_plan(3, Delayed(2, 1, 1), mixtures)
    plan = as_plan(3, Delayed(2, 1, 1), mixtures)
    assert plan.weights == (Fraction(1, 4),) * 4  # the shares of the trunks end at 1/4, 1/2, 3/4 and 1
    for trunk, (weights, own) in enumerate(mixtures):
        for weight, order in zip(weights, own, strict=True):
            held = sum(w for w, parts in zip(plan.weights, plan.orders, strict=True) if parts[trunk] == tuple(order))
            assert held == Fraction(weight)
