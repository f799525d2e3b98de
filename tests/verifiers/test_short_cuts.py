"""What verifiers and vectors offer for speed says the same as what it is short for."""

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import Delayed, vectors
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.structured import LawSink, TableRows
from draftproof.simulator.laws.structured.top_down import last_step_of, top_down
from draftproof.simulator.structures import TopDown
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


@pytest.mark.parametrize("name", OFFERED)
def test_numbers_of_drafts_share_a_last_step(name):
    verifier = make(name)
    p, q = many(3, 3)
    masses = {1: fmpq(1, 5), 3: fmpq(1, 2), 4: fmpq(1, 7)}
    found = verifier.structure.last_step(p, q, masses)
    for which in (0, 1):
        parts = [mass * verifier.structure.last_step(p, q, {k: 1})[which] for k, mass in masses.items()]
        assert found[which].tolist() == sum(parts).tolist()


class WithoutShortCut:
    """The same verifier, offering its child law only."""

    def __init__(self, verifier) -> None:
        self.card, self.verify = verifier.card, verifier.verify
        self.structure = TopDown(child_law=verifier.structure.child_law)


class WrongShortCut(WithoutShortCut):
    """A last step that forgets how the correction is spread."""

    def __init__(self, verifier) -> None:
        super().__init__(verifier)
        honest = last_step_of(self.structure, self.card)

        def forgetful(p, q, masses):
            stops, goes = honest(p, q, masses)
            return p * sums(stops), goes

        self.structure = replace(self.structure, last_step=forgetful)


def law(verifier, instance, scheme, chunk=2**16) -> BlockLaw:
    rows = TableRows.of(instance.target, instance.draft)
    sink = LawSink(rows, scheme.depth)
    top_down(verifier.structure, verifier.card, rows, scheme, sink, chunk)
    return sink.law()


def differ(one, other) -> bool:
    return any((a != b).any() for a, b in zip(one.correction, other.correction, strict=True))


@pytest.mark.parametrize("scheme", [Delayed(3, 0, 1), Delayed(3, 0, 3), Delayed(2, 2, 2), Delayed(1, 3, 0)], ids=str)
@pytest.mark.parametrize("name", OFFERED)
def test_laws_do_not_depend_on_short_cuts_and_chunks(name, scheme):
    """Small chunks also do without the laws of the first depths being computed at once."""
    instance = FAMILIES["zeros"].instance(3, scheme.depth, np.random.default_rng(2), denominator=32)
    verifier = make(name)
    plain = law(WithoutShortCut(verifier), instance, scheme, chunk=1)
    assert plain.total == 1
    for chunk in (1, 6, 15, 40, 2**16):
        assert not differ(law(verifier, instance, scheme, chunk), plain)


def test_a_wrong_short_cut_is_noticed():
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(2), denominator=32)
    verifier = make("specinfer")
    scheme = Delayed(2, 0, 2)
    assert differ(law(WrongShortCut(verifier), instance, scheme), law(verifier, instance, scheme))


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
