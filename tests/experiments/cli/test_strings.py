"""Worlds of two tokenizers: rules and verifiers on them, witnesses, files, and what is refused."""

import json
from fractions import Fraction

import draftproof as dp
from draftproof.experiments.inputs.strings import StringsWorld, checked, find_rule
from draftproof.simulator.strings.pair import StringPair
from draftproof.verifiers.strings import STRING_RULES

RULES = [name for name, rule in STRING_RULES.items() if not rule.control]


def test_rules_have_means_over_histories_and_are_below_their_bounds(draftproof):
    ran = draftproof("check", *RULES, "block", "--world", "strings:drafted=2", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert [row["verifier"] for row in found["rows"]] == [*RULES, "block"]
    [spelled] = found["spellings"]
    for row in found["rows"]:
        assert row["lossless"]
        assert Fraction(row["block_efficiency"]) <= Fraction(row["best"])
        assert not row["sees_text"] or Fraction(row["best"]) <= Fraction(spelled["upper"])
    slrs = next(row for row in found["rows"] if row["verifier"] == "slrs")
    roots = StringsWorld(StringPair.random(0), drafted=2).roots(2)
    assert sum(weight for _, weight in roots) == 1
    alone = sum(weight * checked(find_rule("slrs"), root).tokens for root, weight in roots)
    assert Fraction(slrs["block_efficiency"]) == alone


def test_as_many_tokens_are_verified_as_the_scheme_is_deep(draftproof):
    world = ("--world", "strings:after=a")
    found = draftproof("check", "slrs", *world, "--L2", "1..3", "--json").json
    tokens = [Fraction(row["block_efficiency"]) for row in found["rows"]]
    assert tokens == sorted(set(tokens))
    pair = StringPair.random(0)
    for depth, value in enumerate(tokens, start=1):
        [(root, _)] = StringsWorld(pair, after="a").roots(depth)
        assert checked(find_rule("slrs"), root).tokens == value


def test_verifiers_and_bounds_take_the_ordinary_instances(draftproof):
    world = ("--world", "strings:drafted=2,after=a|b")
    rules = draftproof("check", "slrs", "block", *world, "--json").json["rows"]
    for row, verifier in zip(rules, ("naive", "block"), strict=True):
        found = draftproof("check", verifier, *world, "--json")
        assert (found.code, found.row["block_efficiency"]) == (0, row["block_efficiency"])
    best = draftproof("bound", *world, "--json").row
    assert best["lower"] == best["upper"] == rules[1]["block_efficiency"] == rules[1]["best"]
    one, two = draftproof("check", "specinfer", *world, "--K", "1..2", "--json").json["rows"]
    assert one["lossless"]
    assert two["lossless"]
    assert Fraction(one["block_efficiency"]) < Fraction(two["block_efficiency"])


def test_a_pair_in_python_is_a_world_and_its_file_is_the_same(tmp_path):
    pair = StringPair.random(5, "abc", 5)
    pair.save(tmp_path / "p.json")
    made = [
        dp.check("tli", world).row
        for world in (pair, f"strings:{tmp_path}/p.json", "strings:seeds=5,letters=abc,vocab=5")
    ]
    assert made[0] == made[1] == {**made[2], "source": made[0]["source"]}
    assert max(map(len, (tmp_path / "p.json").read_text().splitlines())) < 120


def test_what_the_tokenizers_cannot_say_is_said(draftproof, tmp_path):
    sides = {"target": ["a", "b", "c"], "draft": ["a", "bb", "ab"]}
    fields = {name: {"tokens": tokens, "rows": {"": ["1/3"] * 3}} for name, tokens in sides.items()}
    (tmp_path / "p.json").write_text(json.dumps(fields))
    ran = draftproof("check", "slem", "--world", "strings:p.json,drafted=2")
    assert ran.code == 0, ran.err
    assert "no draft can be made after b c, which the draft's tokens do not spell" in ran.out
    assert "no draft has the text of c: written as corrections only" in ran.out
