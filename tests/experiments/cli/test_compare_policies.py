"""`draftproof compare --policy`: policies on the scale of the shapes beside them, and bad input in one line."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.models.policies.roots import AT_ROOTS, RootTable

TEXT = ("--text", "topics", "--vocab", "2", "--target-order", "2", "--arithmetic", "rational", "--jobs", "1")
SHAPES = ("--K", "1..2", "--L1", "0..1", "--L2", "1..2")
COST = ("--cost", "draft=1,branch=.1,target=3", "--no-optimum")


def test_policies_are_worth_what_the_other_command_says_and_static_is_the_best_shape(draftproof):
    given = ("specinfer", "block", "ensemble", *TEXT, *SHAPES, *COST)
    wanted = [part for name in ("static", "greedy", "best") for part in ("--policy", name)]
    found = draftproof("compare", *given, *wanted, "--json", "-").json
    policies = {(row["policy"], row["verifier"]): row for row in found["policies"]}
    assert list(policies) == [(name, verifier) for name in ("static", "greedy", "best") for verifier in given[:2]]
    for verifier in given[:2]:
        shapes = [row for row in found["rows"] if row["verifier"] == verifier]
        static = policies["static", verifier]
        best = max(shapes, key=lambda row: row["tokens_per_time"])
        assert static["actions"] == {best["shape"]: 1.0}
        assert static["steady_state"] == best["steady_state"]  # fractions, from two engines
        assert static["speedup"] == pytest.approx(best["speedup"], rel=1e-15)
        rates = [Fraction(policies[name, verifier]["tokens_per_time"]) for name in ("static", "greedy", "best")]
        assert rates[0] <= rates[2]
        assert max(rates) == rates[2]
        assert policies["best", verifier]["over_static"] == pytest.approx(float(rates[2] / rates[0] - 1))
    other = draftproof("policies", *given[:2], *TEXT[:-2], *SHAPES, *COST[:2], *wanted, "--json", "-").json["rows"]
    assert {(row["policy"], row["verifier"]): row["tokens_per_time"] for row in other} == {
        key: row["tokens_per_time"] for key, row in policies.items()
    }
    shown = draftproof("compare", *given, *wanted).out
    assert "over the long run" in shown
    assert "REFUTED" not in shown


def test_without_times_a_block_is_worth_its_tokens(draftproof):
    found = draftproof("compare", "naive", *TEXT, *SHAPES, "--no-optimum", "--policy", "best", "--json", "-").json
    (row,) = found["policies"]
    assert row["steady_state_float"] >= max(shape["steady_state_float"] for shape in found["rows"])
    assert row["tokens_per_time"] is None
    assert "speedup" not in row


def test_choices_at_roots_in_fractions():
    """Three roots, two actions: the static one, the one of the most tokens per time, and the best together differ."""
    given = RootTable(
        [Fraction(1, 3)] * 3,
        [[Fraction(1), Fraction(1), Fraction(1)], [Fraction(1), Fraction(19, 10), Fraction(4)]],
        [Fraction(1), Fraction(2)],
    )
    found = {name: choose(given) for name, choose in AT_ROOTS.items()}
    assert found == {"static": [1, 1, 1], "ratio": [0, 0, 1], "greedy": [0, 0, 1]}
    every = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert given.rate(found["greedy"]) == max(map(given.rate, every)) == Fraction(3, 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--policy", "best"), "--policy needs sequences of blocks"),
        (("--instance", "x.json", "--policy", "best"), "x.json"),
        ((*TEXT, "--policy", "bets"), "unknown policy 'bets'; on texts: static"),
        ((*TEXT, "--policy", "selector"), "belongs to a pair of models; add --pair FOLDER"),
        ((*TEXT, "--policy", "tree"), "policy tree is fitted in floats"),
        ((*TEXT, "--policy", "best", "--scheme", "top_k", "--K", "2"), "chooses among delayed trees, not"),
        ((*TEXT, "--policy", "none.py:mine"), "no file none.py; give your policy as FILE.py:NAME"),
        (("ensemble", *TEXT, "--policy", "best"), "ensemble is not declared lossless on delayed trees"),
    ],
)
def test_bad_input_is_one_line(draftproof, given, says):
    ran = draftproof("compare", *given)
    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


def test_a_policy_of_ones_own_that_takes_other_actions_is_refused(draftproof, tmp_path):
    Path(tmp_path / "mine.py").write_text(
        "from draftproof import Delayed\nfrom draftproof.simulator.policies.policy import Action\n"
        "def deeper(known, actions):\n    return Action(Delayed(1, 0, 4), actions[0].verifier)\n"
        "def by_last(known, actions):\n    return actions[known.context[-1]]\n"
    )
    given = ("compare", "naive", *TEXT, *SHAPES, "--no-optimum")
    ran = draftproof(*given, "--policy", "mine.py:deeper")
    assert ran.code == 2
    assert "which is none of its" in ran.err
    (row,) = draftproof(*given, "--policy", "mine.py:by_last", "--json", "-").json["policies"]
    assert row["used"] == 2
    assert row["regret"] > 0
