"""Relations of two verifiers and closed forms, for every p and q at a shape."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import fmpq

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.residual import positive_part
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.trees import Gap, leaves
from draftproof.simulator.theorems.proof import relations
from draftproof.simulator.theorems.proof.balance import SUM, acceptance, difference, efficiency, reach
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.judgements import is_zero
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS
from draftproof.simulator.theorems.proof.laws import draftings, parts_of
from draftproof.simulator.theorems.proof.relations import relate
from draftproof.simulator.theorems.proof.rows import Shape, SideRows
from draftproof.simulator.theorems.proof.theorem import Subject
from draftproof.simulator.vectors import minimum
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make
from tests.quick import quick

ONE_PATH = Delayed(1, 0, 2)


def related(kind, one, other, scheme, size=2):
    shape = Shape(size, scheme)
    subjects = (Subject.of(make(name)) for name in (one, other))
    return relate(kind, *subjects, shape, Explorer(Oracle(shape.ring)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("kind", "one", "other", "scheme"),
    [
        (EQUALS, "specinfer", "naive", ONE_PATH),
        (EQUALS, "tree_monte_carlo", "block", ONE_PATH),
        (EQUALS, "traversal", "block", ONE_PATH),
        (DOMINATES, "naive_tree", "naive", Delayed(2, 0, 1)),
        (EQUALS, "gbv", "block", ONE_PATH),
        (DOMINATES, "block", "naive", ONE_PATH),
    ],
)
def test_relations_hold_for_every_p_and_q(kind, one, other, scheme):
    relation = related(kind, one, other, scheme)
    assert relation.proved
    assert relation.same_law is (None if kind == DOMINATES else True)


def test_gbv_falls_below_block_at_the_simplest_instance():
    relation = related(DOMINATES, "gbv", "block", Delayed(2, 0, 1))
    assert not relation.proved
    assert relation.counterexample is not None
    assert relation.counterexample.values == (Fraction(7, 4), Fraction(2))
    assert relation.counterexample.instance.target.row(()).tolist() == [fmpq(1, 2)] * 2


def test_traversal_falls_below_specinfer_at_three_tokens():
    """At two tokens it is proved never to."""
    relation = related(DOMINATES, "traversal", "specinfer", Delayed(2, 0, 1), 3)
    assert relation.counterexample is not None
    assert relation.counterexample.values == (Fraction(89, 49), Fraction(271, 147))
    rows = relation.counterexample.instance
    assert rows.target.row(()).tolist() == [fmpq(1, 3)] * 3
    assert rows.draft.row(()).tolist() == [fmpq(1, 7), fmpq(4, 7), fmpq(2, 7)]
    for paths, values in ((2, (Fraction(89, 49), Fraction(271, 147))), (3, (Fraction(636, 343), Fraction(640, 343)))):
        found = [check(make(n), rows.target, rows.draft, Delayed(paths, 0, 1)) for n in ("traversal", "specinfer")]
        assert tuple(each.block_efficiency for each in found) == values
        assert all(each.lossless for each in found)


def test_a_relation_that_fails_is_not_proved_without_trying_points(monkeypatch):
    monkeypatch.setattr(relations, "trial_points", lambda *_: iter(()))
    assert not related(DOMINATES, "naive", "block", ONE_PATH).proved
    assert not related(EQUALS, "naive", "block", ONE_PATH).proved


def is_everywhere(name, scheme, function, closed, size=2, free=()):
    """Whether a function of a verifier's law is a closed form of the rows, and of free numbers, for every p and q."""
    subject = subject_of(make(name), free, size, scheme)
    shape = Shape(size, scheme, parameters=subject.parameters)
    explorer = Explorer(Oracle(shape.ring))
    (part,) = parts_of(shape, subject.formal, draftings(shape, explorer), explorer)

    def formula(run):
        values = [run.variable(shape.ring.names.index(each)) for each in subject.parameters]
        return {SUM: closed(SideRows(shape, run, "p"), SideRows(shape, run, "q"), *values).as_ratio}

    wanted = explorer.tree(formula, shape.domain, shape.point)
    apart = difference(function(shape, part, explorer.oracle), wanted, shape, part, explorer.oracle)
    claimed = [(region, leaf) for region, leaf in leaves(apart, shape.domain) if not isinstance(leaf, Gap)]
    assert claimed
    assert not explorer.unknown
    return all(not leaf.values or is_zero(leaf.values[SUM], region, explorer.oracle) for region, leaf in claimed)


def reach_of(context):
    return lambda shape, part, oracle: reach(shape, part, context, oracle)


@pytest.mark.parametrize("size", quick([2, 3], (2,)))
@pytest.mark.parametrize("name", ["naive", "block"])
def test_one_step_of_one_path_accepts_the_overlap(name, size):
    def overlap(p, q):
        return minimum(p.row(()), q.row(())).sum()

    assert is_everywhere(name, Delayed(1, 0, 1), acceptance, overlap, size)
    assert is_everywhere(name, Delayed(1, 0, 1), efficiency, lambda p, q: 1 + overlap(p, q), size)
    assert not is_everywhere(name, Delayed(1, 0, 1), efficiency, lambda p, q: 1 + overlap(p, q) ** 2, size)


def reach_of_block(p, q, context, power):
    """`D(c y) = min(D(c) p(y|c), Q(c y))` with `Q` the mass of the draft: no law on one path reaches more."""
    reached = drafted = 1
    for depth, token in enumerate(context):
        drafted = drafted * q.row(context[:depth])[token]
        reached = np.minimum(reached * p.row(context[:depth])[token], drafted)
    return reached**power


@pytest.mark.heavy
def test_the_reach_of_block_is_the_largest_of_one_path():
    for context in Shape(2, ONE_PATH).contexts[1:]:
        for power in (1, 2):
            closed = partial(reach_of_block, context=context, power=power)
            assert is_everywhere("block", ONE_PATH, reach_of(context), closed) is (power == 1)


def accepted_by_spectr(target, draft, part):
    """`1 - (1 - beta)^2`, and what the correction adds where it equals one of the two drafts that were rejected."""
    p, q, rho = target.row(()), draft.row(()), 1 + part
    scaled = minimum(p / rho, q)
    beta = scaled.sum()
    accepted = 1 - (1 - beta) ** 2
    if 1 - beta > 0:
        excess = p - scaled * (2 - beta)  # never negative for an allowed rho; its sum is (1 - beta)^2
        accepted = accepted + (excess * (1 - (1 - (q - scaled) / (1 - beta)) ** 2)).sum()
    return accepted


@pytest.mark.parametrize("size", quick([2, 3], (2,)))
def test_published_acceptance_of_spectr_given_rho(size):
    assert is_everywhere("spectr", Delayed(2, 0, 1), acceptance, accepted_by_spectr, size, ("solver",))


def branching_of_khisti(target, draft, weight):
    """Two drafts, of which 0 wins with this weight: the winner is accepted, or the loser is the correction."""
    p, q, w = target.row(()), draft.row(()), (weight, 1 - weight)
    law = np.array([q[i] * (q[i] + 2 * w[i] * q[1 - i]) for i in range(2)], dtype=object)
    left = positive_part(p - law)
    total = minimum(p, law)[0]
    if left.sum() > 0:
        rejected = positive_part(law - p) / law
        total = total + left[0] / left.sum() * 2 * w[1] * q[0] * q[1] * rejected[1]
    return total


def test_published_branching_law_of_khisti_for_all_weights():
    assert is_everywhere("khisti", Delayed(2, 0, 1), reach_of((0,)), branching_of_khisti, 2, ("solver",))


class LeavesOpen:
    """An executor that leaves every difference open, the last one without an answer."""

    def judged(self, kind, laws, wanted):
        open_result = {"cells": 1, "judgements": [], "open": 1, "account": {"asked": 0}}
        return [(number, open_result) for number in reversed(range(len(wanted) - 1))]


@pytest.mark.parametrize(
    ("one", "other", "same"), [("tree_monte_carlo", "block", True), ("naive", "naive_from_target", False)]
)
def test_what_an_executor_leaves_open_is_judged_here(one, other, same):
    shape = Shape(2, Delayed(1, 0, 1))
    explorer = Explorer(Oracle(shape.ring))
    subjects = [Subject.of(make(name)) for name in (one, other)]
    laws, executor = relations.both_laws(*subjects, shape, explorer), LeavesOpen()
    relation = relations.Relation(EQUALS, *subjects, shape)
    relations.judge_cells(relation, laws, relations.EFFICIENCY, explorer.oracle, executor)
    assert relation.judgements
    assert not relation.open_cells  # each accepts as the other does
    assert relations.same_law(laws, shape, explorer.oracle, executor) is same
