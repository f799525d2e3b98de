"""`draftproof strings`: the table, verdicts and exit codes, the files it writes, and what is refused."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof import StringPair, check_strings
from draftproof.experiments.cli.strings import USUAL

SMALL = ("--drafted", 2, "--depth", 2)


def test_rules_have_means_over_histories_and_are_below_their_bounds(draftproof):
    ran = draftproof("strings", *SMALL, "--json", "-")
    assert ran.code == 0, ran.err
    found = ran.json
    assert [row["rule"] for row in found["rows"]] == list(USUAL)
    assert sum(Fraction(one["weight"]) for one in found["histories"]) == 1
    upper = Fraction(found["spellings"]["upper"])
    for row in found["rows"]:
        assert row["lossless"]
        assert Fraction(row["tokens"]) <= Fraction(row["best"])
        assert not row["sees_text"] or Fraction(row["best"]) <= upper
    slrs = next(row for row in found["rows"] if row["rule"] == "slrs")
    alone = [check_strings("slrs", StringPair.random(0), one["tokens"], 2, 2).tokens for one in found["histories"]]
    weights = [Fraction(one["weight"]) for one in found["histories"]]
    assert Fraction(slrs["tokens"]) == sum(w * value for w, value in zip(weights, alone, strict=True))


def test_a_refutation_has_its_witness_in_letters_and_code_1(draftproof):
    ran = draftproof("strings", "slem", "tli_unnormalised", *SMALL)
    assert ran.code == 1
    assert "REFUTED" in ran.out
    assert "tli_unnormalised, 1 token drafted: after a, aab must have mass 49/256; the block gives it 49/578" in ran.out


def test_the_ordinary_instance_has_the_figures_of_the_rules(draftproof):
    ran = draftproof("strings", "slrs", "block", *SMALL, "--after", "a|b", "--ordinary", "o.json", "--json", "-")
    assert ran.code == 0, ran.err
    tokens = {row["rule"]: row["tokens"] for row in ran.json["rows"]}
    for rule, verifier in (("slrs", "naive"), ("block", "block")):
        checked = draftproof("check", verifier, "--world", "o.json", "--json")
        assert checked.code == 0, checked.err
        assert checked.row["block_efficiency"] == tokens[rule]


def test_a_pair_that_is_written_is_read_again(draftproof):
    made = draftproof("strings", "tli", *SMALL, "--seed", 5, "--letters", "abc", "--vocab", 5, "--save", "p.json")
    again = draftproof("strings", "tli", *SMALL, "--instance", "p.json")
    assert (made.code, again.code) == (0, 0)
    assert made.out == again.out + "written: p.json\n"
    assert max(map(len, Path("p.json").read_text().splitlines())) < 120


def test_what_the_tokenizers_cannot_say_is_said(draftproof, tmp_path):
    sides = {"target": ["a", "b", "c"], "draft": ["a", "bb", "ab"]}
    fields = {name: {"tokens": tokens, "rows": {"": ["1/3"] * 3}} for name, tokens in sides.items()}
    (tmp_path / "p.json").write_text(json.dumps(fields))
    ran = draftproof("strings", "slem", *SMALL, "--instance", "p.json")
    assert ran.code == 0, ran.err
    assert "no draft can be made after b c, which the draft's tokens do not spell" in ran.out
    assert "no draft has the text of c: written as corrections only" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("slem2",), "unknown rule 'slem2'; known: union, tli, slem, "),
        (("optimum",), "optimum is planned for one instance; the best verifier of a path is block"),
        (("f.py:Mine",), "f.py:Mine is user-defined: save the ordinary instance"),
        (("--letters", "abcde"), "an alphabet of 5 letters: use 2 to 4, all different"),
        (("--vocab", 9), "9 tokens over 2 letters; give 2 to 8"),
        (("--drafted", 9), "262,144 drafts are more than 50,000; draft fewer tokens"),
        (("--depth", 12), "tables of depth 12 at V = 4"),
        (("--history", 4), "4^4 histories are more than 100"),
        (("--after", "a|c"), "target: 'c' is no token of it; its tokens: a b bb aab"),
        (("--ordinary", "o.json"), "--ordinary writes one instance; give its history with --after"),
        (("--instance", "p.json", "--seed", 2), "--instance p.json is a pair; leave out the options of random ones"),
        (("--instance", "none.json"), "cannot read pair of tokenizers none.json"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(draftproof, arguments, message):
    ran = draftproof("strings", *arguments)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
