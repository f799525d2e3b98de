"""Bugs seen in engines are refuted, and the same functions without them are lossless."""

import pytest

from draftproof.simulator.audit import CATALOGUE, Evidence, default_cases, diagnose, make_audit
from draftproof.simulator.audit.verdict import Record, Request, run_audit
from draftproof.simulator.drafts.branching import TopK
from tests.quick import quick

TREES = {"interface": "paths"}
COOLED = {"processing": "temperature=.5"}
FUNCTIONS = {
    "right_residual": {}, "wrong_softmax": {}, "wrong_greedy_bonus": {}, "right_processed": COOLED,
    "wrong_bonus_unprocessed": COOLED, "wrong_processors_left_out": COOLED, "right_sample_and_compare": {},
    "wrong_sample_again": {}, "right_races": {}, "wrong_races_twice": {}, "right_coin_apart": {},
    "wrong_coin_in_race": {}, "right_greedy_tree": TREES, "wrong_greedy_tree": TREES,
}  # fmt: skip
#: How a bug is named, on three instances; the entry of the joint law alone goes with many.
NAMES = {
    "wrong_softmax": "softmax of the residual", "wrong_sample_again": "sampled again",
    "wrong_greedy_bonus": "greedy bonus", "wrong_bonus_unprocessed": "bonus row not processed",
    "wrong_processors_left_out": "different processing", "wrong_races_twice": "race numbers twice",
    "wrong_coin_in_race": "coin in the race", "wrong_greedy_tree": "deterministic drafts",
}  # fmt: skip


def record_of(function, name, cases):
    options = {"interface": "chain", **FUNCTIONS[name]}
    audit = make_audit(function, library="numpy", name=name, **options)
    scheme = TopK(2, 0, 2) if options["interface"] == "paths" else None
    return run_audit(Record(Request(name, audit, default_cases(audit.audited.interface, scheme, cases))))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bugs_are_refuted_and_their_twins_are_lossless(planted, name):
    record = record_of(planted("engine_bugs", name), name, ["three_tokens"])
    assert record.verdict.lossless is name.startswith("right")
    assert not record.failures


@pytest.mark.heavy
def test_a_coin_that_is_a_number_of_the_race_is_found_with_both_lines(planted):
    record = record_of(planted("engine_bugs", "wrong_coin_in_race"), "wrong_coin_in_race", ["three_tokens"])
    [reused] = record.request.audit.audited.log.reuse
    assert "drawn at engine_bugs.py:97 decides at engine_bugs.py:98 and again engine_bugs.py:75" in reused
    right = record_of(planted("engine_bugs", "right_coin_apart"), "right_coin_apart", ["three_tokens"])
    assert right.request.audit.audited.log.reuse == {}


def test_every_bug_has_a_name():
    assert set(NAMES) == {name for name in FUNCTIONS if name.startswith("wrong")}
    assert set(NAMES.values()) <= {entry.name for entry in CATALOGUE}


@pytest.mark.heavy
@pytest.mark.parametrize("name", quick(NAMES, ("wrong_races_twice",)))
def test_bugs_have_their_names(planted, name):
    record = record_of(planted("engine_bugs", name), name, ["context", "three_tokens", "zeros"])
    hypotheses = diagnose(Evidence(record.request.audit, record.verdict.refuted, record.findings))
    assert hypotheses[0].name == NAMES[name]
