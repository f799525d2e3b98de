"""Faults of the prover itself, one at a time: none may end in a proof."""

import pytest

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.theorems.algebra import oracle, ratios, regions, trees
from draftproof.simulator.theorems.algebra.oracle import Empty
from draftproof.simulator.theorems.algebra.polynomials import ANY
from draftproof.simulator.theorems.algebra.regions import Question
from draftproof.simulator.theorems.proof import judgements, numbers
from draftproof.simulator.theorems.proof import theorem as proof
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.verifiers import make
from draftproof.verifiers.naive import Naive


def proves(name="block", scheme=None):
    try:
        return prove(Subject.of(make(name)), Shape(2, scheme or Delayed(1, 0, 2))).proved
    except (DraftproofError, AssertionError, ArithmeticError, ValueError):
        return False


def wrong_divisor(mutate):
    mutate(ratios, "common_divisor", lambda one, other: one.gcd(other) * one.context().gens()[0])


def divisor_of_one_side(mutate):
    def product(self, other):
        common = self.num.gcd(other.den)
        return ratios.Ratio(self.ring, self.num / common * other.num, self.den * other.den)

    mutate(ratios.Ratio, "__mul__", product)


def dropped_atom(mutate):
    def holds(self, number, mask):
        answer = self.region.ask((number.as_ratio.num, number.as_ratio.den), mask)
        return bool(numbers.sign_of(number.at_sample) & mask) if isinstance(answer, Question) else answer

    mutate(numbers.Run, "holds", holds)


def comparison_the_wrong_way(mutate):
    whole = regions.Region.ask

    def ask(self, factors, mask):
        answer = whole(self, factors, mask)
        return Question(answer.atom, ANY & ~answer.mask) if isinstance(answer, Question) else answer

    mutate(regions.Region, "ask", ask)


def sign_of_a_factor_forgotten(mutate):
    mutate(regions, "mirrored", lambda mask: mask)


def unvisited_cells_covered(mutate):
    mutate(oracle.Oracle, "find", lambda self, region, atom, near: Empty.YES)


def unknown_cells_covered(mutate):
    mutate(oracle.Oracle, "_answer", lambda self, region, atom, near=None: Empty.UNKNOWN)


def ties_always_join(mutate):
    mutate(trees, "_one_function", lambda *_: True)


def everything_is_a_tie(mutate):
    mutate(trees, "_only_ties", lambda *_: True)
    mutate(trees, "agree", lambda *_: True)


FAULTS = [
    wrong_divisor, divisor_of_one_side, dropped_atom, comparison_the_wrong_way, sign_of_a_factor_forgotten,
    unvisited_cells_covered, unknown_cells_covered, everything_is_a_tie,
]  # fmt: skip


def test_without_a_fault_it_is_proved():
    assert proves()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_prover_never_proves(monkeypatch, fault):
    fault(monkeypatch.setattr)
    assert not proves()


class LossyOnATie(Naive):
    """Draws the correction from the draft where the first probabilities agree, and nowhere else."""

    def verify(self, root, coin):
        if root.children and root.target[0] == root.draft[0]:
            return Verdict((), coin.choose([1, 2]))
        return super().verify(root, coin)


def test_joining_ties_that_differ_is_caught_where_a_verifier_jumps(monkeypatch):
    monkeypatch.setattr(proof, "trial_points", lambda *_: iter(()))
    shape = Shape(2, Delayed(1, 0, 1))
    assert not prove(Subject.of(LossyOnATie()), shape).proved
    ties_always_join(monkeypatch.setattr)
    with pytest.raises(DraftproofError):
        prove(Subject.of(LossyOnATie()), shape)


def test_a_refuted_verifier_stays_refuted_where_zero_is_called_zero_too_soon(monkeypatch):
    monkeypatch.setattr(judgements, "is_zero", lambda *_: True)
    assert not proves("naive_from_target")
