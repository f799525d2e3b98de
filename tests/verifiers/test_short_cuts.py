"""What verifiers and vectors offer for speed says the same as what it is short for."""

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import vectors
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.vectors import dots, mass_below, sums
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import make

OFFERED = ["nss", "naive_tree", "specinfer", "spectr"]
#: Rounding of sums of fewer than a thousand terms of size at most 1.
ROUNDING = 1e-12


def many(size: int, k: int):
    """The rows of all instances of one step as two arrays of shape `(n, V)`."""
    shape = (size, k, 0, 1)
    instances = [*conformance_instances(shape, 4), *corner_instances(shape)]
    return tuple(np.stack([side.row(()) for side in sides]) for sides in zip(*map(_pair, instances), strict=True))


def _pair(instance):
    return instance.target, instance.draft


@pytest.mark.parametrize("name", OFFERED)
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_the_last_step_is_the_child_law_summed(name, size, k):
    verifier = make(name)
    assert verifier.structure.last_step is not None
    p, q = many(size, k)
    whole = verifier.structure.child_law(p, q, k)
    stops, goes = verifier.structure.last_step(p, q, {k: 1})
    assert stops.tolist() == whole[0].tolist()
    assert goes.tolist() == whole[1:].sum(0).tolist()
    assert all(type(value) is fmpq for value in [*stops.ravel(), *goes.ravel()])
    for exact, rounded in zip(
        (stops, goes), verifier.structure.last_step(FLOAT64.vector(p), FLOAT64.vector(q), {k: 1}), strict=True
    ):
        assert abs(rounded - exact.astype(np.float64)).max() <= ROUNDING
        assert (rounded >= 0).all()


@pytest.mark.parametrize("family", ["dirichlet", "zeros", "ties", "equal"])
@pytest.mark.parametrize("size", [2, 3, 8, 16])
def test_masses_below_by_pairs_equal_those_by_sorting(monkeypatch, family, size):
    p, q = FAMILIES[family].draw(np.random.default_rng(size), 400, size, **FAMILIES[family].parameters)
    assert q.size > size**2, "else both sort"
    by_pairs = mass_below(p, q)
    monkeypatch.setattr(vectors, "IN_PAIRS", 0)
    by_sorting = mass_below(p, q)
    assert abs(by_pairs - by_sorting).max() <= ROUNDING
    by_pairs_of_unequal = abs(by_pairs[:, ::-1] - by_sorting).max()
    assert by_pairs_of_unequal > 0.1, "the comparison would notice another order"


def test_dots_are_sums_of_products_in_any_arithmetic():
    x, y = np.random.default_rng(0).random((2, 5, 3))
    assert abs(dots(x, y) - sums(x * y)).max() <= ROUNDING
    assert dots(x, y).shape == (5, 1)
    exact = RATIONAL.vector(["1/2", "1/3"])
    assert dots(exact, exact).tolist() == [fmpq(13, 36)]
