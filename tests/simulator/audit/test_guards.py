"""Guards such as 1e-9: a verdict of their own with its bias, and no cover for other bugs."""

import pytest

from draftproof.simulator.audit import default_cases, interface_named, make_audit
from draftproof.simulator.audit.diagnosis.catalogue import diagnose
from draftproof.simulator.audit.diagnosis.evidence import Evidence
from draftproof.simulator.audit.verdict import Request, run_audit
from draftproof.simulator.symbolic import load
from tests.quick import by_turns

SOURCE = """
import random

EPSILON = 1e-9

def pick(weights):
    level, total = random.random() * sum(weights), 0
    for token, weight in enumerate(weights):
        total += weight
        if level < total:
            return token
    return token

def added(number, guard):
    return number + guard

def verify(tokens, q, p, floor=1e-9):
    RARE
    for i, token in enumerate(tokens):
        if random.random() < min(1, RATIO):
            continue
        return [*tokens[:i], pick(CORRECTION)]
    return [*tokens, pick(p[len(tokens)])]
"""
RESIDUAL = "[max(a - b, 0) for a, b in zip(p[i], q[i])]"
CASES = default_cases(interface_named("chain"), chosen=["three_tokens", "short", "zeros"])


def _record(tmp_path, ratio, correction=RESIDUAL, rare="pass", **options):
    file = tmp_path / "theirs.py"
    file.write_text(SOURCE.replace("RATIO", ratio).replace("CORRECTION", correction).replace("RARE", rare))
    audit = make_audit(load(file, "verify"), "chain", name="verify")
    return run_audit(Request("verify", audit, CASES, **options))


@pytest.mark.parametrize(
    ("ratio", "place"),
    by_turns(
        [
            ("p[i][token] / (q[i][token] + 1e-9)", "1e-09 at theirs.py:20"),
            ("p[i][token] / (q[i][token] + EPSILON)", "1e-09, the global EPSILON"),
            ("p[i][token] / (q[i][token] + floor)", "1e-09, default 0 of verify"),
            ("p[i][token] / added(q[i][token], 1e-9)", "1e-09 at theirs.py:20"),
        ]
    ),
)
def test_a_guard_has_a_verdict_of_its_own_with_its_bias(tmp_path, ratio, place):
    record = _record(tmp_path, ratio)
    assert record.verdict.lossless
    assert place in record.rounding.cause
    # p < q = 3/16 at most: p q / (q + 1e-9) loses less than 1e-9 p / q.
    assert 1e-12 < record.rounding.bias <= 1e-9
    assert not _record(tmp_path, ratio, strict=True).verdict.lossless
    assert not _record(tmp_path, ratio, tolerance=1e-11).verdict.lossless


def test_a_guard_hides_no_correction_from_p(tmp_path):
    record = _record(tmp_path, "p[i][token] / (q[i][token] + 1e-9)", "p[i]")
    assert record.rounding is None
    evidence = Evidence(record.request.audit, record.verdict.refuted, record.findings)
    assert diagnose(evidence)[0].name == "correction from p"


@pytest.mark.parametrize(
    ("ratio", "rare"),
    by_turns(
        [
            ("p[i][token] / (q[i][token] + 1e-3)", "pass"),
            ("1e-4 + p[i][token] / q[i][token]", "pass"),
            ("p[i][token] / q[i][token]", "if random.random() < 1e-7: return [0]"),
            ("p[i][token] / q[i][token]", "if 1e-7 > random.random(): return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() < EPSILON: return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() < floor: return [0]"),
            ("p[i][token] / q[i][token]", "if EPSILON > random.random(): return [0]"),
            ("p[i][token] / q[i][token]", "rate = 1e-7; rate = rate\n    if random.random() < rate: return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() + 1e-7 > 1: return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() > 1 - EPSILON: return [0]"),
            ("p[i][token] / q[i][token]", "u = random.random() + 1e-7\n    if u > 1: return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() < 2 * EPSILON: return [0]"),
            ("p[i][token] / q[i][token]", "if random.choices([1, 0], [1e-7, 1])[0]: return [0]"),
            ("p[i][token] / q[i][token]", "if (lambda rate: random.random() < rate)(1e-7): return [0]"),
            ("p[i][token] / q[i][token]", "rate = 0 * p[0][0] + 1e-7\n    if random.random() < rate: return [0]"),
            ("p[i][token] / q[i][token]", "if random.random() < (p[0][0] - p[0][0]) + 1e-7: return [0]"),
            (
                "p[i][token] / q[i][token]",
                "rate = p[0][0] * 1e-30\n    rate += 1e-7\n    if random.random() < rate: return [0]",
            ),
            ("p[i][token] / q[i][token]", "if random.random() < min(1, 0 * q[0][0] + 1e-7): return [0]"),
            ("p[i][token] / (q[i][token] + 1e-9) * 0.999", "pass"),
        ],
        4,
    ),
)
def test_a_large_constant_and_a_rare_event_are_no_guards(tmp_path, ratio, rare):
    record = _record(tmp_path, ratio, rare=rare)
    assert not record.verdict.lossless
    assert record.rounding is None


def test_a_guard_that_does_nothing_changes_no_verdict(tmp_path):
    record = _record(tmp_path, "p[i][token] / max(q[i][token], 1e-9)")
    assert record.verdict.lossless
    assert record.rounding is None
