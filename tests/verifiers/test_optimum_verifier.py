"""`optimum` on hand-made plans: the conformance checks instance by instance, known plans, refusals, a sampling run."""

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Delayed, block_law, check
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, UnsupportedTree
from draftproof.simulator.instances.plan import PathPlan
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.vectors import ascending_ratio
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import REGISTRY, make
from tests.quick import quick


def greedy_order(instance, L1, L2):
    """For each trunk the paths from the one that is lexicographically best by `p/q`."""
    size = instance.vocab_size

    def rank(context, token):
        return ascending_ratio(instance.target.row(context), instance.draft.row(context)).index(token)

    def place(trunk, path):
        return tuple(rank((*trunk, *path[:i]), token) for i, token in enumerate(path))

    paths = list(product(range(size), repeat=L2))
    orders = []
    for trunk in product(range(size), repeat=L1):
        best_first = sorted(paths, key=partial(place, trunk), reverse=True)
        orders.append(tuple(paths.index(path) for path in best_first))
    return tuple(orders)


def fixed_order(size, L1, L2):
    """One order for every trunk."""
    order = tuple(int(path) for path in np.random.default_rng(0).permutation(size**L2))
    return (order,) * size**L1


def order_by_trunk(size, L1, L2):
    """Another order for every trunk."""
    rng = np.random.default_rng(1)
    return tuple(tuple(int(path) for path in rng.permutation(size**L2)) for _ in range(size**L1))


def greedy(instance, K, L1, L2):
    return PathPlan(instance.vocab_size, K, L1, L2, (Fraction(1),), (greedy_order(instance, L1, L2),))


def mixed(instance, K, L1, L2):
    orders = greedy_order(instance, L1, L2), fixed_order(instance.vocab_size, L1, L2)
    return PathPlan(instance.vocab_size, K, L1, L2, (Fraction(2, 3), Fraction(1, 3)), orders)


def by_trunk(instance, K, L1, L2):
    size = instance.vocab_size
    orders = order_by_trunk(size, L1, L2), fixed_order(size, L1, L2), greedy_order(instance, L1, L2)
    return PathPlan(size, K, L1, L2, (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)), orders)


def planned(plan, instance, shape):
    return make("optimum", plan=plan(instance, *shape[1:]), draft_tables=instance.draft.tables)


def instances(shape, count=4):
    yield from conformance_instances(shape, count)
    yield from corner_instances(shape)


PLANS = pytest.mark.parametrize("plan", [greedy, mixed, by_trunk])
ON_SHAPES = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.mark.one_in(3)
@PLANS
@pytest.mark.parametrize("shape", quick(SHAPES, SHAPES[::2]), ids=str)
def test_every_engine_gives_one_lossless_law(plan, shape):
    for instance in instances(shape, 2):
        verifier, given = planned(plan, instance, shape), (instance.target, instance.draft, Delayed(*shape[1:]))
        exact = block_law(verifier, *given, "rational", "enumerate")
        assert exact.total == 1
        assert exact.max_deviation(instance.target) == 0
        structured = block_law(verifier, *given, "rational", "structured")
        floats = [block_law(verifier, *given, "float64", engine) for engine in ("enumerate", "structured")]
        for depth, ours in enumerate(exact.correction):
            assert (ours == structured.correction[depth]).all()
            for other in floats:
                assert abs(ours.astype(float) - other.correction[depth]).max() <= FLOAT64.tolerance


@ON_SHAPES
def test_planned_greedy_order_has_the_whole_law_of_gbv(shape):
    for instance in instances(shape):
        given = instance.target, instance.draft, Delayed(*shape[1:]), "rational"
        ours, theirs = (block_law(each, *given) for each in (planned(greedy, instance, shape), make("gbv")))
        assert all((a == b).all() for a, b in zip(ours.correction, theirs.correction, strict=True))


def on_another_tree(scheme):
    instance = next(conformance_instances((2, 1, 0, 3), 1))
    check(planned(mixed, instance, (2, 2, 1, 2)), instance.target, instance.draft, scheme, engine="enumerate")


def with_another_draft(size=2, arithmetic="rational", engine="enumerate"):
    first = next(conformance_instances((2, 2, 1, 1), 1))
    *_, other = conformance_instances((size, 2, 1, 1), 2)
    check(planned(mixed, first, (2, 2, 1, 1)), other.target, other.draft, Delayed(2, 1, 1), arithmetic, engine)


def below_the_root():
    instance = next(conformance_instances((2, 2, 0, 2), 1))
    tables = [instance.draft.tables[0], instance.draft.tables[1][::-1]]
    verifier = make("optimum", plan=mixed(instance, 2, 0, 2), draft_tables=tables)
    check(verifier, instance.target, instance.draft, Delayed(2, 0, 2), engine="enumerate")


def at_one_node(place):
    """Of two nodes, one of which is not on the path that is selected."""
    instance = next(conformance_instances((2, 2, 0, 2), 1))
    table = instance.draft.tables[1].copy()
    table[place] = table[place][::-1]
    verifier = make("optimum", plan=greedy(instance, 2, 0, 2), draft_tables=[instance.draft.tables[0], table])
    root = DraftTree.from_paths((), ((0, 0), (1, 0))).root(instance.target, instance.draft)
    verifier.verify(root, SamplingCoin(np.random.default_rng(0)))


def made_of(plan=None, tables=lambda draft: draft.tables):
    instance = FAMILIES["perturbed"].instance(2, 2, np.random.default_rng(0), 20)
    REGISTRY["optimum"](mixed(instance, 2, 0, 2) if plan is None else plan, tables(instance.draft))


OTHER_ROWS = "draft rows at depth 0 are not those that the plan was made with"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (partial(on_another_tree, scheme), "the plan is for K = 2, L1 = 1, L2 = 2")
            for scheme in (Delayed(3, 0, 2), Delayed(2, 0, 3), Delayed(2, 1, 1))
        ),
        (with_another_draft, OTHER_ROWS),
        (partial(with_another_draft, engine="structured"), OTHER_ROWS),
        (partial(with_another_draft, arithmetic="float64"), OTHER_ROWS),
        (partial(with_another_draft, size=3), "draft rows at depth 0"),
        (below_the_root, "at depth 1"),
        *((partial(at_one_node, place), "at depth 1") for place in range(2)),
        (partial(make, "optimum"), "made for one instance and needs plan and draft_tables"),
        (partial(made_of, plan=[1]), "plan is a list"),
        (partial(made_of, tables=lambda draft: [table.astype(float) for table in draft.tables]), "must be exact"),
        (partial(made_of, tables=lambda draft: [draft.tables[0]] * 2), "draft table 1 has shape"),
        (partial(made_of, tables=lambda draft: draft.tables[:1]), "needs draft rows to depth 1"),
    ],
)
def test_other_trees_and_rows_and_what_is_no_plan_are_refused(call, message):
    with pytest.raises((InvalidInput, UnsupportedTree), match=message):
        call()
