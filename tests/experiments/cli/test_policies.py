"""`draftproof policies`: what it prints, what programs read, policies of one's own, bad input in one line."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.models.policies.baselines import BASELINES

SMALL = ("--vocab", "2", "--denominator", "20", "--arithmetic", "rational", "--cost", "draft=1,target=4")
OWN = """
from dataclasses import dataclass
from fractions import Fraction

from draftproof import UserScheme
from draftproof.simulator.policies.policy import Action


@dataclass(frozen=True)
class Redrafted:
    first: object
    second: object
    depth = 2

    def draw(self, draft, coin):
        tree = self.first.draw(draft, coin)
        tokens = tree.children.get((), ())
        return self.second.draw(draft, coin) if tokens and draft.row(())[tokens[0]] < Fraction(1, 2) else tree


def by_context(known, actions):
    return actions[known.context[-1]]

def peeking(known, actions):
    return Action(UserScheme(Redrafted(actions[2].scheme, actions[1].scheme)), actions[2].verifier)

def nothing(known, actions):
    return None
"""


def test_rates_are_fractions_and_the_best_is_on_top(draftproof):
    ran = draftproof("policies", "specinfer", "traversal", *SMALL, "--seed", "3", "--json", "-")
    assert ran.code == 0
    rows = ran.json["rows"]
    exact = [name for name, baseline in BASELINES.items() if not baseline.learner]
    assert [row["policy"] for row in rows] == exact * 2
    for row in rows:
        best = next(each for each in rows if each["verifier"] == row["verifier"] and each["policy"] == "best")
        assert Fraction(row["tokens_per_time"]) <= Fraction(best["tokens_per_time"])
        assert Fraction(row["tokens_per_time"]) == Fraction(row["block_efficiency"]) / Fraction(row["time"])
        assert sum(row["actions"].values()) == pytest.approx(1)
        assert len(row["actions"]) == row["used"]
    assert "17 shapes, 2 states of 1 tokens" in ran.err


def test_choosing_among_verifiers_too_is_never_worse(draftproof):
    given = ("--K", "1..2", "--L1", "0", "--L2", "0..1", "--policy", "best")
    rows = draftproof("policies", "specinfer", "block", *SMALL, *given, "--together", "--json", "-").json["rows"]
    rates = {row["verifier"]: Fraction(row["tokens_per_time"]) for row in rows}
    assert list(rates) == ["specinfer", "block", "any of them"]
    assert rates["any of them"] >= max(rates["specinfer"], rates["block"])


def test_stratified_branches_are_actions_of_verifiers_that_are_lossless_on_them(draftproof):
    given = (
        *SMALL,
        "--vocab",
        "3",
        "--seed",
        "1",
        "--K",
        "2",
        "--L1",
        "0",
        "--L2",
        "1",
        "--policy",
        "static",
        "--json",
        "p.json",
    )
    stratified = ("--scheme", "stratified:K=2,L1=0,L2=1")
    alone = draftproof("policies", "traversal", "spectr", *given)
    rows = json.loads(Path("p.json").read_text())["rows"]
    ran = draftproof("policies", "traversal", "spectr", *given, *stratified)
    assert (alone.code, ran.code) == (0, 0)
    more = json.loads(Path("p.json").read_text())["rows"]
    assert [list(row["actions"]) for row in more] == [
        ["traversal on stratified(K=2, L1=0, L2=1, order=descending)"], ["spectr on delayed(K=2, L1=0, L2=1)"]
    ]  # fmt: skip
    assert Fraction(more[0]["tokens_per_time"]) > Fraction(rows[0]["tokens_per_time"])
    assert more[1]["tokens_per_time"] == rows[1]["tokens_per_time"]
    assert "stratified 2, 0, 1 100%" in ran.out
    assert "not of top_k" in draftproof("policies", "traversal", *given, "--scheme", "top_k").err


def test_a_policy_of_ones_own_is_valued_and_one_that_peeks_is_refuted(draftproof, tmp_path):
    Path(tmp_path / "mine.py").write_text(OWN)
    given = ("specinfer", *SMALL, "--K", "1", "--L1", "0", "--L2", "0..2", "--json", "-")
    row = draftproof("policies", *given, "--policy", "mine.py:by_context", "--check", "2").json["rows"][0]
    assert (row["policy"], row["lossless"], row["blocks_checked"]) == ("mine.py:by_context", True, 2)
    assert row["regret"] >= 0
    assert set(row["actions"]) <= {f"specinfer on delayed(K=1, L1=0, L2={n})" for n in (0, 1)}
    refuted = draftproof("policies", *given[:-2], "--policy", "mine.py:peeking", "--check", "1")
    assert refuted.code == 1
    assert "REFUTED" in refuted.out
    assert "must have mass" in refuted.out
    outside = draftproof("policies", *given, "--policy", "mine.py:peeking")
    assert outside.code == 2
    assert "none of its 3" in outside.err
    assert "it must be one of the actions" in draftproof("policies", *given, "--policy", "mine.py:nothing").err


def test_the_best_action_of_each_block_can_be_worse_than_one_action_for_ever(draftproof):
    q = {"": ["1/2", "1/2"], "0": ["1/2", "1/2"], "1": [1, 0]}
    p = {"": [0, 1], "0": [0, 1], "1": [1, 0], "0,0": [0, 1], "0,1": [1, 0], "1,0": [0, 1], "1,1": [1, 0]}
    Path("world.json").write_text(json.dumps({"vocab_size": 2, "depth": 2, "target": p, "draft": q}), encoding="utf-8")
    shapes = ("--K", "1", "--L1", "0", "--cost", "draft=1,target=4")
    rows = draftproof(
        "policies", "naive", "--instance", "world.json", *shapes, "--arithmetic", "rational", "--json", "-"
    ).json["rows"]
    rates = {row["policy"]: row["tokens_per_time"] for row in rows}
    assert rates == {"static": "2/5", "ratio": "7/18", "greedy": "7/18", "best": "2/5"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--policy", "bets"), "unknown policy 'bets'; known: static"),
        (("--policy", "tree", "--arithmetic", "rational"), "policy tree is fitted in floats"),
        (("typical",), "typical does not claim to be lossless on delayed"),
        (("--K", "2", "--L2", "2", "--max-nodes", "1"), "no shape of so few tokens"),
        (("--K", "2", "--L2", "0"), "no shape of so few tokens"),
        (("--cost", "draft=1"), "needs draft= and target="),
        (("--text", "topics", "--vocab", "27"), "GiB, more than 4"),
        (("--policy", "nowhere.py:mine"), "no file nowhere.py; give your policy as FILE.py:NAME"),
    ],
)
def test_bad_input_is_one_line(draftproof, given, says):
    ran = draftproof("policies", *given)
    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("family", ["disjoint", "point_masses"])
def test_worlds_whose_blocks_never_start_in_some_states_are_fitted_too(draftproof, family):
    """Where no block starts a learner has nothing to weigh by."""
    ran = draftproof("policies", "block", "--family", family, "--K", 1, "--L1", 0, "--L2", "0..1", "--json", "-")
    assert ran.code == 0
    assert all(row["held_out_regret"] is None or row["held_out_regret"] >= -1e-9 for row in ran.json["rows"])
