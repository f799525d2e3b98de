"""Questions to the solver about products: the signs of the factors say the same as the polynomial."""

from types import SimpleNamespace

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.theorems.algebra import oracle
from draftproof.simulator.theorems.algebra.oracle import Empty, Oracle
from draftproof.simulator.theorems.algebra.polynomials import ANY, NEGATIVE, POSITIVE, ZERO, Ring, rational
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.verifiers import make
from tests.quick import quick

#: What a solver is asked, and does not answer.
ANSWERLESS = {"set": lambda *_: None, "add": lambda *_: None}


def products():
    ring = Ring(["x", "y"])
    x, y = ring.variables
    return [(ring, each) for each in (x**2 * y, x**2, x * y, x**2 * (y - 1) ** 2, x**3 * y)]


@pytest.mark.parametrize("mask", range(1, ANY))
@pytest.mark.parametrize("number", quick(range(5), (1, 4)))
@pytest.mark.parametrize("place", [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)], ids=str)
def test_a_condition_on_a_product_is_that_on_its_sign(number, mask, place):
    ring, product = products()[number]
    atom, point = ring.atom(product), tuple(map(rational, place))
    here = Region(ring, {ring.atom(v - value): ZERO for v, value in zip(ring.variables, point, strict=True)})
    found = Oracle(ring)._solve(frozenset(here.with_signs(atom, mask)))
    assert (found is not Empty.YES) == bool(ring.sign_at(atom, point) & mask)
    assert found is not Empty.UNKNOWN


def test_a_square_hides_no_zero():
    ring, product = products()[0]
    atom = ring.atom(product)
    positive = Region(ring, {ring.atom(v): POSITIVE for v in ring.variables})
    assert Oracle(ring).is_empty(positive.with_signs(atom, ZERO | NEGATIVE), atom)
    below = Region(ring, {ring.atom(ring.variables[1]): NEGATIVE})
    assert not Oracle(ring).is_empty(below.with_signs(atom, ZERO), atom)


class Deaf:
    """A solver that has no answer."""

    def __init__(self, answer, ctx):
        self._answer, self.ctx = answer, ctx

    def set(self, *_):
        pass

    def assert_and_track(self, *_):
        pass

    def check(self):
        return self._answer


class WithDeaf:
    """z3 whose first solver, the one that keeps track, never answers."""

    def __init__(self, z3):
        self._z3, self.tracked = z3, 0

    def SolverFor(self, _, ctx):  # noqa: N802 - as z3 calls it
        self.tracked += 1
        return Deaf(self._z3.unknown, ctx)

    def __getattr__(self, name):
        return getattr(self._z3, name)


def test_a_question_without_answer_is_asked_again_without_keeping_track(monkeypatch):
    deaf = WithDeaf(oracle.solver_module())
    monkeypatch.setattr(oracle, "solver_module", lambda: deaf)
    test_a_square_hides_no_zero()
    for name, proved in (("block", True), ("block_by_weights", False)):
        assert prove(Subject.of(make(name)), Shape(2, Delayed(1, 0, 2))).proved is proved
    assert deaf.tracked


def test_without_any_answer_nothing_is_called_empty(monkeypatch):
    deaf = WithDeaf(oracle.solver_module())
    deaf.Tactic = lambda _, ctx: SimpleNamespace(
        solver=lambda: SimpleNamespace(**ANSWERLESS, ctx=ctx, check=lambda: deaf.unknown)
    )
    monkeypatch.setattr(oracle, "solver_module", lambda: deaf)
    ring, product = products()[0]
    atom = ring.atom(product)
    positive = Region(ring, {ring.atom(v): POSITIVE for v in ring.variables})
    assert not Oracle(ring).is_empty(positive.with_signs(atom, ZERO | NEGATIVE), atom)
    assert not prove(Subject.of(make("block")), Shape(2, Delayed(1, 0, 2))).proved
