"""Four roads to one number: the direct program, cuts, column generation and the level programs."""

from itertools import cycle, islice

import numpy as np
import pytest

from draftproof.lp_analysis import direct_bound, optimum
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.columns import Columns, generate
from draftproof.lp_analysis.solvers.minimise import Search
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Adaptive, Delayed, DySpec, Greedy, TopK, Topology, WithoutReplacement
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from tests.lp_analysis.cuts import cut_bound
from tests.quick import quick

#: V, K, L1, L2.
SHAPES = [
    (2, 2, 0, 2), (2, 3, 0, 3), (2, 4, 0, 2), (2, 2, 0, 4), (2, 4, 0, 3), (2, 2, 1, 2), (2, 3, 2, 2), (2, 4, 1, 3),
    (3, 2, 0, 2), (3, 3, 0, 2), (3, 4, 0, 2), (3, 2, 1, 1), (3, 3, 1, 2), (3, 4, 0, 1), (3, 2, 2, 1),
]  # fmt: skip
FAMILY_NAMES = ("perturbed", "dirichlet", "temperature")
#: Every shape once; the other instances are heavy.
QUICK = len(SHAPES)
CASES = [
    pytest.param(seed, shape, marks=[pytest.mark.heavy] * (seed >= QUICK))
    for seed, shape in enumerate(islice(cycle(SHAPES), 100))
]


@pytest.mark.parametrize(("seed", "shape"), CASES, ids=lambda value: str(value).replace(" ", ""))
def test_direct_cuts_and_columns_agree(seed, shape):
    V, K, L1, L2 = shape
    family = FAMILIES[FAMILY_NAMES[seed % 3]]
    instance = family.instance(V, L1 + L2, np.random.default_rng(seed))
    given = instance.target, instance.draft, Delayed(K, L1, L2)
    direct, cuts = direct_bound(*given), cut_bound(*given)
    search = Search()
    generate(Columns(BoundProblem.of(*given).floats), 1e-11, search)
    assert cuts == pytest.approx(direct, abs=1e-9, rel=0)  # the solvers work to 1e-10
    assert search.lower == pytest.approx(direct, abs=1e-9, rel=0)
    assert search.upper == pytest.approx(direct, abs=1e-9, rel=0)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", quick(SHAPES, SHAPES[::2]), ids=str)
@pytest.mark.parametrize("method", ["levels", "columns"])
def test_exact_bounds_enclose_the_direct_program(shape, method):
    V, K, L1, L2 = shape
    instance = FAMILIES["perturbed"].instance(V, L1 + L2, np.random.default_rng(7))
    found = optimum(instance.target, instance.draft, Delayed(K, L1, L2), gap=1e-8, method=method)
    direct = direct_bound(instance.target, instance.draft, Delayed(K, L1, L2))
    assert 0 <= found.gap <= 1e-8
    assert float(found.lower) - 1e-9 <= direct <= float(found.upper) + 1e-9  # direct: solver accuracy


@pytest.mark.one_in(4)
@pytest.mark.parametrize("family", CORNER_CASES)
@pytest.mark.parametrize("shape", [(2, 3, 1, 2), (3, 2, 0, 2), (2, 2, 0, 3)], ids=str)
def test_corner_cases_agree(family, shape):
    V, K, L1, L2 = shape
    instance = FAMILIES[family].instance(V, L1 + L2, np.random.default_rng(3))
    given = instance.target, instance.draft, Delayed(K, L1, L2)
    direct = direct_bound(*given)
    assert cut_bound(*given) == pytest.approx(direct, abs=1e-9, rel=0)
    found = optimum(*given)
    assert float(found.lower) - 1e-9 <= direct <= float(found.upper) + 1e-9
    assert found.gap <= 1e-6


@pytest.mark.parametrize(
    "scheme",
    [
        WithoutReplacement(2, 0, 2),
        WithoutReplacement(2, 1, 1),
        TopK(2, 0, 2),
        Greedy(2, 0, 2),
        Topology((2, 1, 1, 0, 0)),
        *(Adaptive(1, 0, 3), DySpec(3), DySpec(4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_general_schemes_cuts_equal_direct(scheme, seed):
    size = 3 if scheme.depth < 3 else 2
    instance = (
        FAMILIES["perturbed"].instance(size, scheme.depth, np.random.default_rng(seed)).converted(FLOAT64, scheme.depth)
    )
    direct = direct_bound(instance.target, instance.draft, scheme)
    found = cut_bound(instance.target, instance.draft, scheme)
    assert found == pytest.approx(direct, abs=1e-8, rel=0)  # the separation is solved to 1e-9


def test_too_large_programs_say_so():
    instance = FAMILIES["perturbed"].instance(3, 4, np.random.default_rng(0))
    with pytest.raises(TooLarge, match="draft trees"):
        direct_bound(instance.target, instance.draft, Delayed(4, 0, 4))
