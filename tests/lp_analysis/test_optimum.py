"""`optimum`: exact bounds, the cases without a solver, doors and progress."""

from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from draftproof.lp_analysis import certificate, check_certificate, optimum
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator import check
from draftproof.simulator.arithmetic import FLOAT64, as_python
from draftproof.simulator.drafts import Delayed, TopK
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.called import CallableProcess
from draftproof.simulator.instances.exact import exact_tables
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.verifiers import make
from tests.quick import quick


def instance_of(family="perturbed", V=3, depth=2, seed=0):
    return FAMILIES[family].instance(V, depth, np.random.default_rng(seed))


@pytest.mark.parametrize("family", ["perturbed", "dirichlet", *CORNER_CASES])
@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (0, 3), (1, 2), (3, 0)], ids=str)
def test_one_path_is_block_verification_exactly(family, shape):
    instance = instance_of(family, 2, sum(shape))
    found = optimum(instance.target, instance.draft, Delayed(1, *shape))
    law = check(make("block"), instance.target, instance.draft, Delayed(1, *shape))
    assert found.lower == found.upper == law.block_efficiency
    assert (found.gap, found.method) == (0, "exact")


#: Family, V, K, L1, L2, seed, and the gap: all delayed trees of 2 to 256 paths, every family, and large ones.
GAPS = [
    *(
        (("perturbed", "dirichlet")[(K + L1) % 2], V, K, L1, L - L1, 0, 1e-6)
        for V in range(2, 17) for L in range(2, 9) if V**L <= 256 for L1 in range(L) for K in (2, 3, 4)
    ),
    *(
        (family, *shape, seed, 1e-6)
        for family in FAMILIES for seed in range(3)
        for shape in ((2, 3, 1, 3), (3, 2, 0, 5), (4, 2, 2, 2), (5, 3, 0, 3), (6, 4, 1, 2), (4, 3, 3, 1))
    ),
    *(("perturbed", 4, 4, 0, 6, seed, 2e-3) for seed in range(3)),
    *(("perturbed", 4, 3, 0, 5, seed, 1e-6) for seed in range(3)), ("perturbed", 4, 4, 0, 6, 0, 1e-6),
]  # fmt: skip


@pytest.mark.parametrize("case", [("perturbed", 4, 3, 0, 5, 0, 1e-3), *quick(GAPS, ())], ids=str)
def test_the_gap_that_is_asked_for_is_reached(case):
    """With a clock that stands still, nothing but the gap ends the search."""
    family, V, K, L1, L2, seed, gap = case
    instance = instance_of(family, V, L1 + L2, seed)
    scheme = Delayed(K, L1, L2)
    found = optimum(instance.target, instance.draft, scheme, gap=gap, seconds=900, clock=lambda: 0.0)
    assert found.gap <= Fraction(gap)


def test_time_limit_still_gives_valid_bounds():
    instance = instance_of("perturbed", 4, 4)
    ticks = count()  # a clock that moves on each time somebody looks
    found = optimum(instance.target, instance.draft, Delayed(3, 0, 4), gap=1e-9, seconds=5, clock=lambda: next(ticks))
    best = optimum(instance.target, instance.draft, Delayed(3, 0, 4), gap=1e-5)
    assert found.lower <= best.upper
    assert best.lower <= found.upper
    assert (found.timed_out, best.timed_out) == (True, False)


def test_every_way_to_give_the_rows_is_the_same_question():
    """Rows over a power of two are floats without rounding, so that all arithmetics mean the same rows."""
    instance = FAMILIES["perturbed"].instance(3, 2, np.random.default_rng(0), 2**16)
    floats, scheme = instance.converted(FLOAT64, 2), Delayed(2, 0, 2)
    called = [CallableProcess(3, process.row) for process in (floats.target, floats.draft)]
    pairs = [
        (instance.target, instance.draft),
        (instance.target.tables, instance.draft.tables),
        (floats.target, floats.draft),
        (floats.target.tables[:2], instance.draft),
        called,
    ]
    first, *others = [optimum(*pair, scheme) for pair in pairs]
    assert first.gap <= Fraction(1, 10**6)
    assert all((each.lower, each.upper, each.plan) == (first.lower, first.upper, first.plan) for each in others)
    fields = certificate(floats.target, floats.draft, first)
    assert fields == certificate(instance.target, instance.draft, first)
    assert check_certificate(fields, floats) == (first.lower, first.upper)


def test_floats_that_are_no_binary_fractions_are_rounded_to_distributions():
    rows = [np.array([[0.1, 0.2, 0.7]]), np.array([[1 / 3, 1 / 3, 1 / 3]] * 3)]
    tables = exact_tables(rows, 1)
    assert all((table.sum(axis=1) == 1).all() for table in tables)
    assert all(abs(a.astype(float) - b).max() < 2**-50 for a, b in zip(tables, rows, strict=True))
    assert as_python(tables[0][0][0]).denominator <= 2**52


@pytest.mark.parametrize(
    ("scheme", "options", "message"),
    [
        (TopK(2, 0, 2), {"method": "levels"}, "levels are for delayed trees, not for top_k"),
        (Delayed(2, 0, 2), {"draft": 3}, "draft is 3; give a process"),
        (Delayed(2, 0, 2), {"method": "guess"}, "unknown method 'guess'"),
        (Delayed(2, 0, 4), {}, "target has no row for context"),
        (Delayed(2, 0, 2), {"gap": 0}, "gap = 0"),
        (Delayed(2, 0, 2), {"draft": instance_of(V=2).draft}, "target has 3 tokens, draft has 2"),
        (Delayed(2, 0, 2), {"seconds": 1}, "needs a clock"),
    ],
)
def test_bad_input_is_named(scheme, options, message):
    instance = instance_of()
    with pytest.raises(InvalidInput, match=message):
        optimum(**{"target": instance.target.tables, "draft": instance.draft.tables, "scheme": scheme, **options})


@pytest.mark.parametrize(
    ("size", "scheme", "message"),
    [
        (2, Delayed(1, 14, 0), None),
        (17, Delayed(2, 2, 1), None),
        (18, Delayed(2, 2, 1), r"V\^L1 = 18\^2 trunks are more than 300"),
        (18, Delayed(1, 3, 0), None),
        (2, Delayed(2, 0, 15), r"V\^L = 2\^15 paths are more than 20,000"),
        (2, Delayed(1, 16, 0), None),
        (150, Delayed(2, 0, 2), r"V\^L = 150\^2 paths"),
        (2, Delayed(1, 17, 0), r"V\^L = 2\^17 paths are more than 70,000"),
        (10, Delayed(1, 0, 400), r"V\^L = 10\^400 paths are more than 70,000"),
    ],
    ids=str,
)
def test_programs_that_are_too_large_are_not_begun(size, scheme, message):
    if message is None:
        assert_size(size, scheme)
        return
    with pytest.raises(TooLarge, match=message):
        assert_size(size, scheme)
