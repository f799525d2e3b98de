"""`draftproof compare --by depth`: exact figures by depth, held against laws and sums of their own; side by side."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from draftproof.experiments.grid.depths import mean_distances
from draftproof.experiments.inputs.text import TOPICS, read_counted
from draftproof.experiments.inputs.worlds import TextWorld
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.ngram import TextPair
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import REGISTRY

TEXT = ("--world", "text:topics,vocab=3,roots=2")
EXACT = ("--arithmetic", "rational", "--jobs", 1)
DEPTHS = ("--by", "depth", "--L1", 0, "--no-optimum", "--json")


def by_depth(ran, verifier="specinfer", sampling=None):
    assert ran.code == 0, ran.err
    rows = [row for row in ran.json["by_depth"] if row["verifier"] == verifier and sampling in (None, row["sampling"])]
    assert [row["depth"] for row in rows] == list(range(1, len(rows) + 1))
    return rows


def problem():
    return TextWorld(TOPICS, TextPair(read_counted(TOPICS), 3, 3, 1, 2**16), count=2)


@pytest.mark.parametrize(("name", "branches"), [("specinfer", 2), ("traversal", 2), ("specinfer", 3)])
def test_every_number_is_exactly_what_the_laws_of_the_roots_say(draftproof, name, branches):
    rows = by_depth(draftproof("compare", name, *TEXT, *EXACT, *DEPTHS, "--K", branches, "--L2", 2), name)
    roots = problem().cases(2, RATIONAL)

    def law(k, trunk):
        checks = [(r.weight, check(REGISTRY[name], r.target, r.draft, Delayed(k, trunk, 2 - trunk))) for r in roots]
        masses = [sum(w * c.metrics.depth_distribution[d] for w, c in checks) for d in range(3)]
        return sum(w * c.block_efficiency for w, c in checks), [sum(masses[d:]) for d in range(3)]

    fewer, more = (law(k, 0)[1] for k in (branches - 1, branches))
    for row in rows:
        depth = row["depth"]
        assert [Fraction(row[key]) for key in ("reached_fewer", "reached")] == [fewer[depth], more[depth]]
        assert Fraction(row["accepted_fewer"]) == fewer[depth] / fewer[depth - 1]
        assert Fraction(row["accepted"]) == more[depth] / more[depth - 1]
        gain = law(branches, depth - 1)[0] - law(branches - 1, depth - 1)[0]
        assert (Fraction(row["gain"]), Fraction(row["gain_per_token"])) == (gain, gain / (3 - depth))
        assert row["lossless"] is True
        assert gain > 0


def test_the_mean_distance_is_the_sum_over_all_contexts_beyond_the_order_of_the_text_too():
    for root in problem().cases(5, RATIONAL):
        expected = []
        for depth in range(5):
            total = Fraction(0)
            for context in product(range(3), repeat=depth):
                mass = Fraction(1)
                for place, token in enumerate(context):
                    mass *= Fraction(str(root.draft.row(context[:place])[token]))
                gap = sum(abs(root.target.row(context) - root.draft.row(context)))
                total += mass * Fraction(str(gap))
            expected.append(total)
        assert mean_distances([root], 5) == expected
        assert mean_distances([root.converted(RATIONAL, 5)], 5) == expected
        rows = root.rows(5)
        assert mean_distances([type(root)("tables", rows.target, rows.draft)], 5) == expected


@pytest.mark.parametrize("told", ["draft", "repetition_penalty=2", "top_k=1"])
def test_contexts_are_accepted_by_the_rows_that_verifiers_are_told(draftproof, told):
    sampled = ("--draft-sampling", "temperature=.5", "--told", told)
    rows = by_depth(draftproof("compare", "naive", *TEXT, *EXACT, *sampled, *DEPTHS, "--L2", 2), "naive")
    accepted = distance = 0
    for case in Samplings.of_options(None, *sampled[1::2]).cases(problem().cases(2, RATIONAL), 2, None):
        for token, drawn in enumerate(map(as_python, case.draft.row(()))):
            p, q = (as_python(side.row(())[token]) for side in (case.target, case.draft.told))
            mass = case.weight * drawn * (min(1, p / q) if q else 1)
            accepted += mass
            distance += mass * as_python(sum(abs(case.target.row((token,)) - case.draft.row((token,)))))
    assert Fraction(rows[0]["reached_fewer"]) == accepted
    assert Fraction(rows[1]["distance_accepted"]) == distance / accepted
    floats = by_depth(draftproof("compare", "naive", *TEXT, *sampled, *DEPTHS, "--L2", 2, "--jobs", 1), "naive")
    assert floats[1]["distance_accepted_float"] == pytest.approx(float(distance / accepted))


def test_every_tree_has_its_lines(draftproof):
    alone = draftproof("compare", "traversal", *TEXT, *EXACT, *DEPTHS, "--L2", 2).json["by_depth"]
    shapes = ("--K", "1..2", "--L1", "0..1", "--L2", "1..2", "--no-optimum", "--by", "depth")
    ran = draftproof("compare", "traversal", *TEXT, *EXACT, *shapes, "--json")
    rows = {}
    for row in ran.json["by_depth"]:
        rows.setdefault(tuple(row[name] for name in ("K", "L1", "L2")), []).append(row)
    named = ("depth", "distance", "distance_accepted", "accepted", "reached", "gain", "gain_per_token", "lossless")
    for theirs, ours in zip(alone, rows[2, 0, 2], strict=True):
        assert {name: ours[name] for name in named} == {name: theirs[name] for name in named}
    laws = {tuple(row[name] for name in ("K", "L1", "L2")): row for row in ran.json["rows"]}
    assert rows.keys() == laws.keys()
    for shape, lines in rows.items():
        masses = [Fraction(mass) for mass in laws[shape]["depth_distribution"]]
        assert [Fraction(line["reached"]) for line in lines] == [sum(masses[d:]) for d in range(1, len(masses))]
        assert all((line["gain"] is None) == (shape[0] == 1) for line in lines)
    assert [line["accepted_fewer"] for line in rows[2, 1, 1]] == [line["accepted"] for line in rows[1, 0, 2]]


def test_other_schemes_have_their_acceptance_by_depth_and_no_gain(draftproof):
    tree = ("--scheme", "topology:tree=2-1-0-0", "--by", "depth", *EXACT)
    ran = draftproof("compare", "traversal", "naive_from_target", *tree, "--json")
    for law in ran.json["rows"]:
        lines = [line for line in ran.json["by_depth"] if line["verifier"] == law["verifier"]]
        reached = [Fraction(line["reached"]) for line in lines]
        assert 1 + sum(reached) == Fraction(law["block_efficiency"])
        assert Fraction(lines[1]["accepted"]) == reached[1] / reached[0]
        assert {line["gain"] for line in lines} == {None}
    assert "by depth; scheme topology(2,1,0,0)" in draftproof("compare", "traversal", *tree).out


@pytest.mark.heavy
def test_what_is_never_reached_has_no_share_and_a_lossy_verifier_is_marked(draftproof):
    contexts = [c for depth in range(3) for c in product("01", repeat=depth)]
    target = {",".join(context): ["1", "0"] for context in contexts}
    draft = {",".join(context): ["0", "1"] for context in contexts if len(context) < 2}
    apart = {"vocab_size": 2, "depth": 2, "target": target, "draft": draft}
    Path("apart.json").write_text(json.dumps(apart), encoding="utf-8")
    ran = draftproof("compare", "naive", "--world", "apart.json", *EXACT, *DEPTHS)
    first, second = by_depth(ran, "naive")
    assert (first["accepted"], first["reached"], first["distance"]) == ("0", "0", "2")
    assert (second["accepted"], second["accepted_float"]) == (None, None)
    ran = draftproof("compare", "naive_from_target", *EXACT, *DEPTHS[:-1], "--L2", 1)
    assert "REFUTED" in ran.out
    assert "controls, which are wrong on purpose: naive_from_target" in ran.out
