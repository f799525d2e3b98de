"""Baselines: what each may look at, what it is worth against the others, and learners that have not seen a state."""

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.policies import markov_pair_of, shapes
from draftproof.experiments.inputs.sources import FamilyProblem, FileProblem, TextProblem
from draftproof.experiments.inputs.text import topics_table
from draftproof.experiments.models.policies.baselines import BASELINES, choices
from draftproof.experiments.models.policies.fitted import (
    fitted_choice,
    held_out_choice,
    quantiles,
    state_scalars,
    steps_of_entropy,
)
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.policies.markov_pair import Tables
from draftproof.simulator.policies.optimal import outlook, policy_iteration
from draftproof.simulator.policies.policy import Action, entropy, floats
from draftproof.simulator.policies.value import value

#: An instance file of a chain: rows depend on the last token.
CHAIN = {
    "vocab_size": 2,
    "depth": 2,
    "target": {"": [0, 1], "0": [0, 1], "1": [1, 0], "0,0": [0, 1], "0,1": [1, 0], "1,0": [0, 1], "1,1": [1, 0]},
    "draft": {"": ["1/2", "1/2"], "0": ["1/2", "1/2"], "1": [1, 0]},
}

LEARNERS = [name for name, baseline in BASELINES.items() if baseline.learner]


@cache
def tables() -> Tables:
    """A small text, in floats: 9 histories, 27 states."""
    pair = TextPair(topics_table(), 3, 2, 1)
    world = markov_pair_of(TextProblem("topics", pair), FLOAT64)
    actions = [
        Action(each, verifiers.make("specinfer")) for each in shapes({"K": [1, 2], "L1": [0], "L2": [0, 1, 3]}, 9)
    ]
    model = time_model("draft=1,target=4,node=.1")
    return world.tables(actions, lambda action: model.time(action.scheme.as_dict()))


@pytest.mark.parametrize("name", list(BASELINES))
def test_no_baseline_is_above_the_best_and_what_fits_is_not_below_the_static_one(name):
    if BASELINES[name].learner:
        pytest.importorskip("sklearn")
    choice, unseen = choices(BASELINES[name], tables())
    static = value(tables(), choices(BASELINES["static"], tables())[0]).rate
    best = policy_iteration(tables()).gain
    for found in (choice, unseen):
        if found is not None:
            assert value(tables(), found).rate <= best + 1e-12  # rounding
    assert (unseen is None) is (BASELINES[name].learner is None)
    if name not in ("ratio", "greedy"):  # those promise nothing of the kind
        assert value(tables(), choice).rate >= static - 1e-12
    if name == "best":
        assert value(tables(), choice).rate == pytest.approx(best, rel=1e-12)


@pytest.mark.heavy
def test_boosting_comes_near_the_best_where_it_has_seen_all():
    pytest.importorskip("sklearn")
    rates = {
        name: value(tables(), choices(BASELINES[name], tables())[0]).rate for name in ("static", "boosting", "best")
    }
    assert rates["static"] < rates["boosting"] <= rates["best"] + 1e-12


def test_a_state_is_chosen_for_by_a_learner_that_has_not_seen_its_core():
    X = np.arange(tables().pair.states, dtype=float)[:, None]
    histories = tables().pair.histories
    seen, told = [], []

    def learner(numbers, worth, weights):
        seen.append({int(x) % histories for x in numbers[:, 0]})

        def tell(asked):
            told.append({int(x) % histories for x in asked[:, 0]})
            return np.zeros((len(asked), worth.shape[1]))

        return tell

    held_out_choice(tables(), X, learner)
    assert len(seen) == len(told) > 0
    for known, asked in zip(seen, told, strict=True):
        assert not known & asked
        assert len(known | asked) == histories
    assert set.union(*told) == set(range(histories))


def test_fitting_to_the_state_itself_is_policy_iteration():
    """A learner that looks the worth of every state up ends where policy iteration does."""
    X = np.arange(tables().pair.states, dtype=float)[:, None]
    choice = fitted_choice(tables(), X, lambda numbers, worth, weights: lambda asked: worth[asked[:, 0].astype(int)])
    assert value(tables(), choice).rate == pytest.approx(policy_iteration(tables()).gain, rel=1e-12)


def test_what_a_step_is_worth_is_zero_for_the_best_and_never_more():
    best = policy_iteration(tables())
    step = outlook(tables(), best.choice)
    here = step.worth[best.choice, np.arange(tables().pair.states)]
    assert (step.worth.max(0) <= here + 1e-9).all()
    assert step.starts.sum() == pytest.approx(1)


def test_ranges_of_entropy_are_equally_likely():
    numbers, weights = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0, 1.0])
    assert quantiles(numbers, weights, 2).tolist() == [3.0]
    assert quantiles(numbers, weights, 4).tolist() == [2.0, 3.0, 4.0]
    learnt = steps_of_entropy(2)(numbers[:, None], np.array([[0, 1], [1, 0], [1, 0], [0, 1.0]]), weights)
    assert learnt(np.array([[0.5], [9.0]])).argmax(1).tolist() == [0, 1]
    X = state_scalars(tables().pair)
    assert X.shape == (27, 7)
    assert X[5, 0] == entropy(floats(tables().pair.known(5).draft_root))


def test_worlds_of_texts_files_and_families(tmp_path):
    family = markov_pair_of(FamilyProblem("dirichlet", 3, 0, 20), RATIONAL)
    assert (family.order, family.window, family.histories) == (1, 2, 3)
    made = FamilyProblem("dirichlet", 3, 0, 20).roots(2, RATIONAL)[0]
    assert (family.target.states == made.target.tables[1]).all()
    assert (family.draft.states == made.draft.tables[1]).all()
    (tmp_path / "chain.json").write_text(json.dumps(CHAIN), encoding="utf-8")
    chain = markov_pair_of(FileProblem("chain.json", Instance.load(tmp_path / "chain.json")), RATIONAL)
    assert chain.order == 1
    assert chain.target.states.tolist() == [[0, 1], [1, 0]]
    assert chain.draft.states.tolist() == [[RATIONAL.number("1/2")] * 2, [1, 0]]
    large = TextPair(topics_table(), 12, 2, 1)
    assert markov_pair_of(TextProblem("topics", large), FLOAT64).window == 2  # 1,728 states would tell one token more
    assert tables().pair.window == 3


def family_chain():
    return markov_pair_of(FamilyProblem("dirichlet", 3, 1, 2**16), RATIONAL).target


def test_shapes_have_every_path_once():
    found = shapes({"K": [1, 2], "L1": [0, 1], "L2": [0, 1, 2]}, None)
    assert sorted(each.depth for each in found if each.K == 1) == [0, 1, 2, 3]
    assert [each for each in found if each.K == 2] == [Delayed(2, a, b) for a in (0, 1) for b in (1, 2)]
    assert all(each.nodes <= 2 for each in shapes({"K": [1, 2], "L1": [0, 1], "L2": [0, 1, 2]}, 2))


def test_times_as_they_are_written():
    model = time_model("draft=.1,branch=.2,target=1,node=.3").exact()
    assert model.time(Delayed(2, 1, 2).as_dict()) == Fraction(2, 10) + Fraction(3, 10) + 1 + 5 * Fraction(3, 10)
    assert isinstance(model.time(Delayed(1, 0, 0).as_dict()), Fraction)


def test_a_problem_without_states_is_refused():
    class Elsewhere:
        flag = "--pair"

        def __str__(self):
            return "a pair"

    with pytest.raises(InvalidInput, match="a pair has no recurring states; use --text or --family"):
        markov_pair_of(Elsewhere(), FLOAT64)
