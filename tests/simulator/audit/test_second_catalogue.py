"""The bugs of the catalogue in other words: the same names for them, in the right place, and no other ones."""

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, make_audit
from tests.quick import quick

CHAIN, ARRAYS, PATHS = {"interface": "chain"}, {"interface": "chain", "library": "numpy"}, {"interface": "paths"}
#: Function: how it is called, what it is, and after how many tokens the first imbalance of all instances is.
BUGS = {
    "correction_by_race": (ARRAYS, "correction from p", 0),
    "greedy_acceptance": (CHAIN, "acceptance without a coin", 0),
    "late_bonus": (CHAIN, "bonus row", 2),
    "next_residual": (CHAIN, "row off by one", 0),
    "parents_draft": (PATHS, "draft row late", 1),
    "last_success": (CHAIN, "multiplied uniforms", 0),
    "latest_longest": (PATHS, "longest of independent paths", 0),
    "top_token": (ARRAYS, "processed target", 0),
    "generous": (CHAIN, "relaxed acceptance", 0),
    "one_coin": (CHAIN, None, 0),
    "unscaled": (ARRAYS, "missing renormalisation", 0),
    "sharper": ({"interface": "step"}, "declared q", 0),
}
CASES = ("context", "three_tokens", "zeros", "disjoint", "context_free")


@pytest.mark.parametrize("name", quick(BUGS, ("top_token",)))  # others are planted in `test_catalogue.py`
def test_a_bug_has_its_name_and_its_place_and_no_other(planted, name):
    options, entry, depth = BUGS[name]
    audit = make_audit(planted("second_catalogue", name), name=name, **options)
    cases = default_cases(audit.audited.interface, None, CASES)
    findings = [audit.judge(case.instance, case.scheme) for case in cases]
    refuted = [finding for finding in findings if not finding.lossless]
    assert min(len(finding.first.context) for finding in refuted) == depth
    named = {each.name for each in diagnose(Evidence(audit, refuted[0], findings))}
    assert named - {"first token exact"} == ({entry} if entry else set())
