"""Every entry of the catalogue: the planted bug is refuted in the right place with the right hypothesis, its twin is
lossless."""

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.audit import (
    CATALOGUE,
    Evidence,
    corners,
    default_cases,
    diagnose,
    diagnose_corners,
    make_audit,
)
from draftproof.simulator.drafts import WithoutReplacement
from tests.quick import quick


@dataclass(frozen=True)
class Planted:
    """A file of planted bugs. depth: of the first imbalance of the first instance that is refuted."""

    file: str
    entry: str
    depth: int
    options: dict[str, Any]
    cases: tuple[str, ...] | None = None
    scheme: Any = None


TEMPERED = {"interface": "chain", "library": "numpy", "processing": "temperature=.5"}
PLANTED = [
    Planted("correction_from_target", "correction from p", 0, {"interface": "chain"}),
    Planted("no_coin", "acceptance without a coin", 0, {"interface": "chain"}),
    Planted("swapped_rows", "p and q swapped", 0, {"interface": "chain"}),
    Planted("bonus_row", "bonus row", 2, {"interface": "chain", "library": "numpy"}),
    Planted("row_off_by_one", "row off by one", 1, {"interface": "chain", "library": "torch"}),
    Planted("uncapped_ratio", "uncapped ratio", 1, {"interface": "chain"}),
    Planted("weights_as_probabilities", "weights as probabilities", 0, {"interface": "chain", "library": "numpy"}),
    Planted("first_token_exact", "correction from p", 1, {"interface": "chain", "library": "numpy"}),
    Planted("order_of_leaves", "order of leaves", 0, {"interface": "tree"}),
    Planted("duplicates_twice", "duplicates counted twice", 0, {"interface": "paths"}),
    Planted("missing_renormalisation", "missing renormalisation", 1, {"interface": "posterior"}),
    Planted("declared_q", "declared q", 0, {"interface": "step", "library": "numpy"}),
    Planted("coin_reuse", "coin reuse", 0, {"interface": "coins"}),
    Planted("seeded_again", "coin reuse", 1, {"interface": "chain"}),
    Planted("paths_for_depth", "bonus token", 1, {"interface": "posterior", "batch": 2}, ("context", "many_paths")),
    Planted("uniforms_multiplied", "multiplied uniforms", 1, {"interface": "chain", "library": "numpy"}),
    Planted("longest_of_paths", "longest of independent paths", 0, {"interface": "paths"}),
    Planted("replacement", "with-replacement rule", 0, {"interface": "paths"}, scheme=WithoutReplacement(2, 0, 2)),
    Planted("draft_row_late", "draft row late", 1, {"interface": "chain", "library": "numpy"}),
    Planted("processing_differs", "different processing", 0, TEMPERED),
]
#: One of every interface and library with an entry of its own; the others take longer.
QUICK = {
    "correction_from_target", "swapped_rows", "bonus_row", "coin_reuse",
}  # fmt: skip
QUICKLY = pytest.mark.parametrize("case", quick(PLANTED, lambda case: case.file in QUICK), ids=lambda case: case.file)


@pytest.fixture(scope="module")
def judged() -> dict[tuple[str, str], Any]:
    """What was judged before: several tests look at the same functions."""
    return {}


@pytest.fixture
def audited(planted, judged):
    def found(case, name):
        if (case.file, name) not in judged:
            judged[case.file, name] = judge(planted, case, name)
        return judged[case.file, name]

    return found


def judge(planted, case, name):
    if case.options.get("library") == "torch":
        pytest.importorskip("torch")
    audit = make_audit(planted(case.file, name), name=name, **case.options)
    cases = default_cases(audit.audited.interface, case.scheme, case.cases, audit.batch > 1)
    return audit, [audit.judge(each.instance, each.scheme) for each in cases]


@pytest.mark.one_in(4)
@QUICKLY
def test_corrected_twin_is_lossless(audited, case):
    audit, findings = audited(case, "right")
    assert all(finding.lossless for finding in findings)
    assert audit.audited.log.reuse == {}


DESCRIPTIONS = {"first token exact"}  # true of any function, whatever else is wrong with it


@pytest.mark.one_in(4)
@QUICKLY
def test_planted_bug_is_refuted_in_the_right_place_with_the_right_hypothesis_and_no_other(audited, case):
    audit, findings = audited(case, "wrong")
    finding = next(each for each in findings if not each.lossless)
    assert finding.first is not None
    assert len(finding.first.context) == case.depth
    # Total variation is no smaller than any imbalance; both are sums of some dozen floats.
    assert finding.check.total_variation + 1e-12 >= finding.first.deviation > 1e-3
    named = [each.name for each in diagnose(Evidence(audit, finding, findings))]
    assert named[0] == case.entry
    assert set(named) - (DESCRIPTIONS - {case.entry}) == {case.entry}


def test_every_entry_has_a_planted_bug():
    elsewhere = {"zero coin", "coin in the race", "relaxed acceptance", "requests depend on each other"}
    elsewhere |= {"without-replacement rule", "processed target", "told q"}
    elsewhere |= {
        "deterministic drafts",
        "softmax of the residual",
        "sampled again",
        "greedy bonus",
        "bonus row not processed",
    }
    elsewhere |= {"race numbers twice", "late rejection", "skipped duplicates", "independent coins of siblings"}
    elsewhere |= {"first token exact"}  # beside the name of `first_token_exact`
    elsewhere |= {"processed bonus", "common minimum", "greedy draft"}  # programs of `tests/data/roads`
    elsewhere |= {"constant seed"}
    assert {each.entry for each in PLANTED} | elsewhere == {entry.name for entry in CATALOGUE}


NEAR = [each for each in PLANTED if each.file in {
    "swapped_rows", "uniforms_multiplied", "longest_of_paths", "replacement", "draft_row_late", "processing_differs"
}]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", quick(NEAR, lambda case: case.file == "swapped_rows"), ids=lambda case: case.file)
def test_a_near_miss_is_refuted_and_not_named(audited, case):
    fewer = case.cases or ("context", "three_tokens", "zeros")
    audit, findings = audited(replace(case, cases=fewer), "near")
    finding = next(each for each in findings if not each.lossless)
    names = [each.name for each in diagnose(Evidence(audit, finding, findings))]
    assert case.entry not in names
    assert names == {"draft_row_late": ["row off by one", "first token exact"]}.get(case.file, names[-1:])
    assert set(names) <= DESCRIPTIONS | {"row off by one"}


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("cold", "different processing", "q at temperature 0.7"),
        ("sharpened", "processed target", "temperature 0.8"),
        ("near", None, ""),
        ("plain", None, ""),
    ],
)
@pytest.mark.heavy
def test_a_temperature_that_nobody_asked_for_is_found(planted, name, entry, words):
    audit = make_audit(planted("processing_differs", name), interface="chain", library="numpy")
    findings = [audit.judge(each.instance, each.scheme) for each in default_cases(audit.audited.interface)]
    refuted = [each for each in findings if not each.lossless]
    assert bool(refuted) is (name != "plain")
    named = diagnose(Evidence(audit, refuted[0], findings)) if refuted else []
    assert [each.name for each in named] == ([entry] if entry else [])
    assert all(words in each.reason for each in named)


@pytest.mark.heavy
def test_the_rule_for_drafts_without_replacement_is_named_on_others(planted):
    audit = make_audit(planted("replacement", "removing"), interface="paths")
    cases = default_cases(audit.audited.interface)
    findings = [audit.judge(each.instance, each.scheme) for each in cases]
    finding = next(each for each in findings if not each.lossless)
    assert [each.name for each in diagnose(Evidence(audit, finding, findings))] == ["without-replacement rule"]


def test_a_single_instance_is_joined_by_a_second_one(audited):
    """A function that corrects from p with two tokens only: one instance of two tokens would show just that."""
    case = next(each for each in PLANTED if each.file == "correction_from_target")
    audit, findings = audited(case, "wrong")
    finding = next(each for each in findings if not each.lossless)
    evidence = Evidence(audit, finding, [finding])
    assert len(evidence.compared) == 2
    assert evidence.compared[0].instance.digest() != evidence.compared[1].instance.digest()
    assert diagnose(evidence)[0].name == case.entry


@pytest.mark.heavy
@pytest.mark.parametrize("file", ["coin_reuse", "seeded_again"])
def test_reuse_of_a_coin_is_listed_with_its_lines(audited, file):
    case = next(each for each in PLANTED if each.file == file)
    audit, _ = audited(case, "wrong")
    assert audit.audited.log.reuse
    assert all(f"{file}.py:" in place for place in audit.audited.log.reuse)


def test_row_off_by_one_shows_only_where_rows_depend_on_the_context(planted):
    pytest.importorskip("torch")
    case = next(each for each in PLANTED if each.file == "row_off_by_one")
    audit = make_audit(planted(case.file, "wrong"), **case.options)
    cases = {each.name: each for each in default_cases(audit.audited.interface)}
    verdicts = {
        name: audit.judge(cases[name].instance, cases[name].scheme).lossless for name in ("context_free", "context")
    }
    assert verdicts == {"context_free": True, "context": False}


def test_weak_inequality_accepts_a_token_of_probability_zero_at_a_zero_coin(planted):
    options = {"interface": "chain", "library": "numpy"}
    found = {}
    for name in ("wrong", "right"):
        audit = make_audit(planted("zero_coin", name), name=name, **options)
        [case] = default_cases(audit.audited.interface, None, ["zeros"])
        assert audit.judge(case.instance, case.scheme).lossless  # real coins do not see it
        found[name] = corners(audit, case.instance, case.scheme)
    assert found["right"] == []
    assert [each.name for each in diagnose_corners(found["wrong"])] == ["zero coin"]
    for corner in found["wrong"]:
        assert corner.token is not None
        assert corner.accepted
        assert any("= 0" in event and "zero_coin.py:" in event for event in corner.events)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "needed"), [("double", 1e-12), ("single", 1e-6), ("half", 1e-2)])
def test_low_precision_within_the_function_is_a_bias(planted, name, needed):
    pytest.importorskip("torch")
    audit = make_audit(planted("low_precision", name), "chain")
    [case] = default_cases(audit.audited.interface, None, ["context"])
    bias = audit.judge(case.instance, case.scheme).bias
    assert needed / 1e4 < bias < needed or bias < needed == 1e-12


@pytest.mark.heavy
def test_a_counterfactual_must_hold_on_a_second_refuted_instance():
    """A function that reuses a coin, and corrects from p beside that: fresh coins mend it on one instance only."""

    def wrong(draft_token_ids, draft_probs, target_probs, bonus_probs, uniforms, final_uniforms):
        for i, token in enumerate(draft_token_ids):
            if uniforms[i] >= target_probs[i, token] / draft_probs[i, token]:
                rest = np.maximum(target_probs[i] - draft_probs[i], 0)
                row = target_probs[i] if len(rest) == 2 else rest
                edges = np.cumsum(row) / row.sum()
                return [[*draft_token_ids[:i], np.searchsorted(edges, uniforms[i], side="right")]]
        edges = np.cumsum(bonus_probs[0])
        return [[*draft_token_ids, np.searchsorted(edges, final_uniforms[0], side="right")]]

    audit = make_audit(wrong, "coins")
    found = {
        case.name: audit.judge(case.instance, case.scheme)
        for case in default_cases(audit.audited.interface, None, ["three_tokens", "context"])
    }
    three, two = found["three_tokens"], found["context"]
    assert not three.lossless
    assert not two.lossless
    alone = {each.name for each in diagnose(Evidence(audit, three, [three]))}
    together = {each.name for each in diagnose(Evidence(audit, three, [three, two]))}
    assert "coin reuse" in alone
    assert "coin reuse" not in together


@pytest.mark.heavy
def test_a_guard_against_division_by_zero_is_no_temperature():
    """Deviations far below what a fit tells apart: a temperature of 1 would fit."""

    def guarded(tokens, q, p):
        for i, token in enumerate(tokens):
            if random.random() >= p[i][token] / (q[i][token] + 1e-10):
                rest = [max(a - b, 0) for a, b in zip(p[i], q[i], strict=True)]
                return i, random.choices(range(len(rest)), weights=rest if sum(rest) > 0 else p[i])[0]
        return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]

    audit = make_audit(guarded, "chain", tolerance=0)
    findings = [audit.judge(each.instance, each.scheme) for each in default_cases(audit.audited.interface)]
    refuted = [each for each in findings if not each.lossless]
    assert 0 < refuted[0].check.max_deviation < 1e-8
    assert {each.name for each in diagnose(Evidence(audit, refuted[0], findings))} <= {"first token exact"}
