"""Races of layer verifiers, every choice of their solvers left free."""

from random import Random

import pytest
from flint import fmpq

from draftproof.experiments.cli.prove import free
from draftproof.experiments.cli.prove.free import RACES, subject_of
from draftproof.simulator.drafts import Delayed, Greedy, WithoutReplacement
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.races import NULL_OPTION, Drafted
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import prove
from draftproof.verifiers import layer_transport, make

PAIR, DEEP = Delayed(2, 0, 1), Delayed(2, 0, 2)


def shape_and_subject(name, size, scheme, free):
    subject = subject_of(make(name), (free,), size, scheme)
    return Shape(size, scheme, parameters=subject.parameters), subject


@pytest.mark.parametrize(
    ("name", "size", "scheme", "free"),
    [
        pytest.param("layer_transport", 2, PAIR, "solver", marks=pytest.mark.heavy),
        pytest.param("layer_transport", 2, PAIR, "weights", marks=pytest.mark.heavy),
        ("layer_without_replacement", 2, WithoutReplacement(2, 0, 1), "solver"),
        ("layer_greedy", 2, Greedy(2, 0, 1), "solver"),
        pytest.param("layer_transport", 2, Delayed(2, 1, 1), "solver", marks=pytest.mark.heavy),
        pytest.param("layer_greedy", 3, Greedy(2, 0, 1), "solver", marks=pytest.mark.heavy),
    ],
    ids=str,
)
def test_layer_verifiers_are_lossless_whatever_their_solvers_choose(name, size, scheme, free):
    shape, subject = shape_and_subject(name, size, scheme, free)
    assert prove(subject, shape).proved


def test_a_law_that_is_not_that_of_the_race_is_refuted(monkeypatch):
    right = layer_transport.law_of

    def of_another(race, draft, branches):
        return right(race, draft, branches)[::-1].copy()

    monkeypatch.setattr(layer_transport, "law_of", of_another)
    shape, subject = shape_and_subject("layer_transport", 2, PAIR, "solver")
    proof = prove(subject, shape)
    assert not proof.proved
    assert proof.refutation is not None


def test_chances_of_what_is_drafted_add_up_to_one_and_are_shared_by_copies():
    chances = {"sa_in_a_a_b": fmpq(1, 3)}
    a, b = (Drafted((pair,), "", chances) for pair in "ab")
    drafted = a + a + b
    assert fmpq(1) * a / drafted == fmpq(1, 6)
    assert fmpq(1) * (a * 2) / drafted + fmpq(1) * b / drafted == 1
    assert fmpq(1) * a / (a + a) == fmpq(1, 2)


@pytest.mark.one_in(2, first=1)
@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [("layer_transport", 2, DEEP), ("layer_without_replacement", 3, WithoutReplacement(2, 0, 1))],
    ids=str,
)
def test_with_the_choices_of_the_solver_it_is_the_verifier_itself(name, size, scheme, monkeypatch):
    """The free numbers that a solver's own race amounts to give the law of the verifier."""
    shape, subject = shape_and_subject(name, size, scheme, "solver")
    for seed in range(3):
        point = random_point(shape, Random(seed), 97)
        instance = shape.instance(point)
        racing, found = RACES[name], {}
        solve = make(name).solver

        def kept(self, pairs, beside, target_mass, draft, key, solve=solve, racing=racing, found=found):
            race = solve(target_mass, draft, key)
            blocks, weights = (race.blocks, race.weights) if racing.blocks else (race * 0, race)
            for place, each in enumerate(pairs):
                for y, pair in enumerate(each):
                    found[beside, pair] = int(blocks[place, y]), int(weights[place, y])
            if racing.blocks:
                found[beside, NULL_OPTION] = int(race.null_block), int(race.null_weight)
            return race

        monkeypatch.setattr(free.FreeRaces, "_race", kept)
        whole = enumerate_law(subject.at(point[-len(shape.parameters) :]), instance.target, instance.draft, scheme)
        monkeypatch.undo()
        values = [chance(found, each) for each in shape.parameters]
        ours = enumerate_law(subject.at(values), instance.target, instance.draft, scheme)
        plain = enumerate_law(make(name), instance.target, instance.draft, scheme)
        for law in (whole, ours):
            assert all((a == b).all() for a, b in zip(law.correction, plain.correction, strict=True))


def chance(found, name):
    """`s00_in_00_10_of_0_1` by the blocks and weights that were found."""
    pair, _, rest = name[1:].partition("_in_")
    drafted, _, beside = rest.partition("_of_")
    raced = [found.get((beside, each), (0, 0)) for each in drafted.split("_")]
    block = min((block for block, weight in raced if weight), default=0)
    total = sum(weight for its, weight in raced if its == block)
    its, weight = found.get((beside, pair), (0, 0))
    return fmpq(weight * drafted.split("_").count(pair) if its == block else 0, max(total, 1))
