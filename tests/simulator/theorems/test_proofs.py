"""Theorems: what is proved, what is refuted, and that formulas are what enumeration gives."""

from random import Random

import pytest

from draftproof.simulator.drafts import Adaptive, Delayed, Greedy, TopK, Topology, WithoutReplacement
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.theorems.proof import theorem
from draftproof.simulator.theorems.proof import theorem as proofs
from draftproof.simulator.theorems.proof.laws import law_at
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove
from draftproof.simulator.theorems.proof.watch import NotFollowed
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make
from draftproof.verifiers.naive import Naive

ONE_PATH = Delayed(K=1, L1=0, L2=2)
THEOREMS = [
    ("nss", Delayed(2, 0, 2), False),
    ("naive", ONE_PATH, True),
    ("block", ONE_PATH, True),
    ("block", Delayed(1, 0, 3), False),
    ("tree_monte_carlo", ONE_PATH, False),
    ("naive_tree", Delayed(2, 0, 2), False),
    ("specinfer", Delayed(2, 0, 2), False),
    ("traversal", Delayed(2, 0, 2), False),
    ("traversal", Delayed(2, 1, 1), False),
    ("gbv", Delayed(2, 0, 1), False),
    ("mixed_order", Delayed(2, 0, 1), False),
    ("rejection_without_replacement", WithoutReplacement(2, 0, 2), False),
    ("greedy_multi_draft", Greedy(2, 0, 1), False),
    ("nss", TopK(2, 0, 1), False),
    ("block", Adaptive(1, 0, 2), False),
    ("traversal", Topology((2, 1, 0, 0)), False),
]
HEAVY = [
    ("gbv", 2, Delayed(2, 0, 2)),
    ("gbv", 2, Delayed(2, 1, 1)),
    ("mixed_order", 2, Delayed(2, 0, 2)),
    ("traversal", 2, Delayed(3, 0, 2)),
    ("specinfer", 2, Delayed(3, 0, 2)),
    ("traversal", 3, Delayed(2, 0, 1)),
    ("specinfer", 3, Delayed(2, 0, 1)),
    ("gbv", 3, Delayed(2, 0, 1)),
    ("naive_tree", 3, Delayed(2, 0, 1)),
    ("block", 3, Delayed(1, 0, 2)),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "scheme", "zeros"), THEOREMS, ids=str)
def test_lossless_for_every_p_and_q_at_two_tokens(name, scheme, zeros):
    proof = prove(Subject.of(make(name)), Shape(2, scheme, zeros))
    assert proof.proved
    assert proof.identities % 2 == 1  # 1 + 2 + 4 + .. contexts for every cell of drafting, or several times that
    assert proof.compared == proofs.COMPARED


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "size", "scheme"), HEAVY, ids=str)
def test_lossless_for_every_p_and_q_at_larger_shapes(name, size, scheme):
    assert prove(Subject.of(make(name)), Shape(size, scheme)).proved


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("naive_from_target", Delayed(1, 0, 1)),
        ("block_by_weights", ONE_PATH),
        ("traversal_insertion_order", Delayed(3, 0, 2)),
        ("ensemble", Delayed(1, 0, 1)),
        ("typical", Delayed(1, 0, 1)),
        ("threshold", Delayed(2, 0, 1)),
        ("hsd_uncapped", Delayed(1, 0, 2)),
        ("specinfer", WithoutReplacement(2, 0, 1)),
    ],
)
def test_what_is_lossy_is_refuted_by_an_instance_that_check_refutes(name, scheme):
    proof = prove(Subject.of(make(name)), Shape(2, scheme))
    assert not proof.proved
    found = proof.refutation
    assert found is not None
    verdict = check(make(name), found.instance.target, found.instance.draft, scheme, engine="enumerate")
    assert not verdict.lossless
    assert verdict.violation == found.violation
    assert (found.polynomial is None) == (name == "typical")


@pytest.mark.parametrize("name", ["naive_from_target", "block_by_weights"])
def test_a_balance_that_is_not_zero_is_found_without_trying_points(monkeypatch, name):
    monkeypatch.setattr(proofs, "trial_points", lambda *_: iter(()))
    proof = prove(Subject.of(make(name)), Shape(2, ONE_PATH))
    assert proof.refutation is not None
    assert not proof.proved


class UncappedOnALine(Naive):
    """On a line that no point meets it accepts with `p/q`, also above 1; with negative masses its balance is zero."""

    def verify(self, root, coin):
        if not root.children or 7919 * root.target[0] != 7907 * root.draft[0]:
            return super().verify(root, coin)
        node = root.child(root.children[0])
        accepted = coin.flip(root.target[root.children[0]] / root.draft[root.children[0]])
        return Verdict(node.context, coin.choose(node.target)) if accepted else Verdict((), coin.choose(root.target))


def test_a_probability_above_one_is_refused_where_no_point_meets_it():
    with pytest.raises(InvalidVerifier, match=r"must lie in \[0, 1\]"):
        prove(Subject.of(UncappedOnALine()), Shape(2, Delayed(1, 0, 1)))


class LossyOnATie(Naive):
    """Draws the correction from the draft where the first probabilities agree, and nowhere else."""

    def verify(self, root, coin):
        if root.children and root.target[0] == root.draft[0]:
            return Verdict((), coin.choose([1, 2]))
        return super().verify(root, coin)


def test_a_fault_on_ties_alone_is_found(monkeypatch):
    monkeypatch.setattr(proofs, "trial_points", lambda *_: iter(()))
    proof = prove(Subject.of(LossyOnATie()), Shape(2, Delayed(1, 0, 1)))
    assert not proof.proved
    assert proof.refutation is not None
    assert proof.refutation.instance.target.row(())[0] == proof.refutation.instance.draft.row(())[0]


class LossyAtZero(Naive):
    """Forgets the residual where the target has a zero."""

    def verify(self, root, coin):
        if root.children and root.target[0] == 0:
            return Verdict((), coin.choose([1, 2]))
        return super().verify(root, coin)


@pytest.mark.parametrize(("zeros", "proved"), [(False, True), (True, False)])
def test_a_fault_at_zeros_counts_where_zeros_are_asked_for(zeros, proved):
    assert prove(Subject.of(LossyAtZero()), Shape(2, Delayed(1, 0, 1), zeros)).proved is proved


@pytest.mark.parametrize("name", ["khisti", "spectr", "path_transport"])
def test_solvers_are_refused_with_their_line(name):
    with pytest.raises(NotFollowed, match=r"\.py line \d+ .*; a theorem follows"):
        prove(Subject.of(make(name)), Shape(2, Delayed(2, 0, 1)))


def agree_at(name, scheme, count, seed=5):
    shape = Shape(2, scheme)
    proof = prove(Subject.of(make(name)), shape)
    random = Random(seed)
    for _ in range(count):
        point = random_point(shape, random, random.choice([3, 5, 16, 101]))
        instance = shape.instance(point)
        plain = enumerate_law(make(name), instance.target, instance.draft, scheme)
        formula = law_at(shape, proof.law, point)
        for ours, theirs in zip(formula.correction, plain.correction, strict=True):
            assert (ours == theirs).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "scheme"), [("block", ONE_PATH), ("traversal", Delayed(2, 0, 2)), ("gbv", Delayed(2, 0, 1))]
)
def test_law_by_formula_is_law_by_enumeration_at_random_points(name, scheme):
    agree_at(name, scheme, 40)


def test_the_share_of_open_cells_is_an_estimate_with_a_bound():
    shape = Shape(2, Delayed(1, 0, 1))
    proof = prove(Subject.of(make("naive")), shape)
    assert theorem.open_share(proof) == pytest.approx((0, 1 - 0.05 ** (1 / theorem.SAMPLED)), abs=1e-6)
    tie = shape.ring.atom(shape.ring.variable("p_0") - shape.ring.variable("q_0"))
    proof.open_cells.append(shape.domain.with_signs(tie, 1))
    share, most = theorem.open_share(proof)
    assert 0.4 < share < most < 0.6
