"""`draftproof compare VERIFIER POLICY`: policies on the scale of the shapes beside them, and bad input in one line."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.cli.compare.roots import AT_ROOTS, RootTable

TEXT = ("--world", "text:topics,vocab=2,target_order=2", "--arithmetic", "rational", "--jobs", "1")
SHAPES = ("--K", "1..2", "--L1", "0..1", "--L2", "1..2")
COST = ("--cost", "draft=1,branch=.1,target=3", "--no-optimum")
OWN = (
    "from draftproof import Delayed\nfrom draftproof.simulator.policies.policy import Action\n"
    "def deeper(known, actions):\n    return Action(Delayed(1, 0, 4), actions[0].verifier)\n"
    "def by_last(known, actions):\n    return actions[known.context[-1]]\n"
    "def nothing(known, actions):\n    return None\n"
)


def test_policies_of_a_text_are_rows_of_its_shapes_and_static_is_the_best_of_them(draftproof):
    Path("mine.py").write_text(OWN)
    given = ("specinfer", "block", "ensemble", *TEXT, *SHAPES, *COST)
    names = ("static", "ratio", "greedy", "mine.py:by_last")
    found = draftproof("compare", *names, *given, "--json").json
    policies = {(row["policy"], row["verifier"]): row for row in found["policies"]}
    assert list(policies) == [(name, verifier) for name in names for verifier in given[:2]]
    for verifier in given[:2]:
        trees = [row for row in found["rows"] if row["verifier"] == verifier]
        static = policies["static", verifier]
        best = max(trees, key=lambda row: row["tokens_per_time"])
        assert static["actions"] == pytest.approx({best["shape"]: 1.0})
        assert static["block_efficiency"] == best["block_efficiency"]  # a fraction
        assert static["speedup"] == pytest.approx(best["speedup"], rel=1e-15)
        rates = {name: Fraction(policies[name, verifier]["tokens_per_time"]) for name in names}
        assert max(rates.values()) == rates["greedy"]
        assert policies["greedy", verifier]["over_static"] == pytest.approx(
            float(rates["greedy"] / rates["static"] - 1)
        )
        roots = {}
        for root in found["roots"]:
            if root["verifier"] == verifier:
                roots.setdefault(root["root"], []).append(root)
        chosen = [roots[root][(0, 1)[root[-1] != " "]] for root in roots]
        mean = sum(Fraction(root["weight"]) * Fraction(root["block_efficiency"]) for root in chosen)
        assert Fraction(policies["mine.py:by_last", verifier]["block_efficiency"]) == mean
    shown = draftproof("compare", *given, *names).out
    assert "over the roots" in shown
    assert "REFUTED, no row" not in shown


def test_without_times_a_block_is_worth_its_tokens(draftproof):
    found = draftproof("compare", "naive", *TEXT, *SHAPES, "--no-optimum", "greedy", "--json").json
    (row,) = found["policies"]
    assert row["block_efficiency_float"] >= max(shape["block_efficiency_float"] for shape in found["rows"])
    assert row["tokens_per_time"] is None
    assert row["speedup"] is None


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


def test_a_policy_of_ones_own_that_takes_other_actions_is_refused(draftproof):
    Path("mine.py").write_text(OWN)
    for name, says in (("deeper", "which is none of the 7 it is given"), ("nothing", "must be one of the actions")):
        ran = draftproof("compare", "naive", *TEXT, *SHAPES, "--no-optimum", f"mine.py:{name}")
        assert (ran.code, says in ran.err) == (2, True), ran.err
