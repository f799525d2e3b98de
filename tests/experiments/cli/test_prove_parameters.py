"""Free parameters of lossy verifiers: for which values they are lossy."""

from fractions import Fraction

import pytest
from flint import fmpq

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.theorems.proof.numbers import Run
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, balance_at, prove
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make

STEP = Delayed(1, 0, 1)


def test_ensemble_is_lossy_for_every_strictness_below_one():
    subject = subject_of(make("ensemble"), ("w",), 2, STEP)
    shape = Shape(2, STEP, parameters=("w",))
    ring = shape.ring
    rows = {"p_0": fmpq(1, 3), "q_0": fmpq(1, 2), "w": fmpq(1, 2)}
    run = Run(shape.domain, tuple(rows.get(name, fmpq(1, 2)) for name in ring.names))
    with run.following():
        balance = balance_at(subject, shape, run, (), 0)
    w = ring.variable("w")
    factors = [part for part, _ in balance.num.factor()[1]]
    assert w - 1 in factors  # on this cell, 0 < w < 1, it is zero at w = 1 or where rows alone say so
    others = [part for part in factors if part != w - 1]
    assert others
    assert all(part.degrees()[ring.names.index("w")] == 0 for part in others)
    assert prove(Subject.of(make("ensemble", w=Fraction(1))), Shape(2, STEP)).proved
    assert not prove(Subject.of(make("ensemble", w=Fraction(0))), Shape(2, STEP)).proved


def instance(first):
    """Draft `(1/2, 1/2)`, target `(first, 1 - first)` everywhere."""
    row = [fmpq(first.numerator, first.denominator), fmpq((1 - first).numerator, (1 - first).denominator)]
    target = TableProcess([[row], [row, row]], "target")
    return Instance(target, TableProcess([[[fmpq(1, 2)] * 2]], "draft"), STEP)


@pytest.mark.parametrize(
    ("epsilon", "delta", "lossless"),
    [("9/100", "3/10", False), ("99/100", "5", False), ("2", "99/100", False), ("1", "2", True), ("5", "7", True)],
)
def test_typical_is_lossless_only_where_nothing_passes(epsilon, delta, lossless):
    """No `p(x)` is above 1, and `V exp(-H) >= 1`: from `epsilon = 1`, `delta = V` on every draft is rejected."""
    verifier = make("typical", epsilon=Fraction(epsilon), delta=Fraction(delta))
    cases = [instance(Fraction(n, 1000)) for n in (1, 5, 100, 333, 500, 501, 750, 995, 999)]
    assert all(check(verifier, c.target, c.draft, STEP).lossless for c in cases) is lossless


@pytest.mark.parametrize(
    ("epsilon", "delta", "proved"), [("1", "2", True), ("99/100", "2", False), ("1", "1/2", False)]
)
def test_typical_for_all_thresholds_that_are_no_smaller(epsilon, delta, proved):
    verifier = make("typical", epsilon=Fraction(epsilon), delta=Fraction(delta))
    subject = subject_of(verifier, ("solver",), 2, STEP)
    assert subject.parameters == ("e", "d", "h")
    proof = prove(subject, Shape(2, STEP, parameters=subject.parameters))
    assert proof.proved is proved
    assert (proof.refutation is None) is proved
