"""transformers' `_speculative_sampling` as it is installed."""

from inspect import signature

import pytest

from draftproof.simulator.audit import Evidence, default_cases, diagnose, interface_named, make_audit

utils = pytest.importorskip("transformers.generation.utils")
CASES = {case.name: case for case in default_cases(interface_named("transformers"))}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", CASES)
def test_default_arguments_are_lossless_up_to_rounding(name):
    audit = make_audit(utils._speculative_sampling, "transformers")
    found = audit.judge(CASES[name].instance, CASES[name].scheme)
    assert found.lossless
    # Softmax and ratios in float64: a few dozen roundings of 1e-16.
    assert found.check.max_deviation < 1e-12


@pytest.mark.heavy
@pytest.mark.skipif(
    "assistant_ensemble_weight" not in signature(utils._speculative_sampling).parameters,
    reason="this version of transformers has no ensemble weight",
)
def test_ensemble_weight_is_refuted_with_its_exact_bias():
    audit = make_audit(utils._speculative_sampling, "transformers", keywords={"assistant_ensemble_weight": 0.7})
    case = CASES["short"]
    found = audit.judge(case.instance, case.scheme)
    assert not found.lossless
    # One draft x is accepted with 1 - w + w min(1, p/q) in place of min(1, p/q), and what is missing comes from the
    # residual: the output is w p + (1 - w) q where q exceeds p, so the bias is (1 - w) TV(p, q).
    p, q = (case.instance.target.row(()), case.instance.draft.row(()))
    distance = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert found.check.total_variation == pytest.approx(0.3 * float(distance.p) / float(distance.q), abs=1e-12)
    [first, *_] = diagnose(Evidence(audit, found, [found]))
    assert first.name == "relaxed acceptance"
    assert "w = 0.7" in first.reason
