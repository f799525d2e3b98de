"""What decides an audit is a function of its findings."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from draftproof.simulator.audit import default_cases, make_audit
from draftproof.simulator.audit.followed import Audited
from draftproof.simulator.audit.verdict import Record, Request, check_states, conclude, decide, judge, run_audit, survey
from draftproof.simulator.errors import InvalidVerifier, NoFunction


@pytest.fixture
def finding(planted):
    """`finding(file, name)`: on the first default instance."""

    def find(file, name):
        audit = make_audit(planted(file, name), "chain")
        [case] = default_cases(audit.audited.interface, None, ("context",))
        return audit.judge(case.instance, case.scheme)

    return find


def test_what_is_known_against_a_function_refutes_it(finding, planted):
    good, bad = finding("traps", "right"), finding("traps", "accepts_all")
    assert decide([good], complete=True).lossless
    assert not decide([], complete=True).lossless
    assert decide([good, bad], complete=True).refuted is bad
    assert not decide([good, bad], complete=True).lossless
    assert not decide([good], complete=False).lossless
    assert not decide([good], failures=[object()], complete=True).lossless
    assert not decide([good], corners=[object()], complete=True).lossless
    dependent = replace(good, dependence=0.1)
    assert decide([good, dependent], complete=True).refuted is dependent
    assert decide([dependent, bad], complete=True).refuted is bad


def test_more_tokens_than_the_optimum_refute_what_is_balanced(finding):
    good = finding("traps", "right")
    tokens = Fraction(good.check.block_efficiency)
    assert decide([good], optima=[[tokens]], complete=True).lossless
    assert decide([good], optima=[[None]], complete=True).lossless
    found = decide([good], optima=[[tokens - Fraction(1, 10**5)]], complete=True)
    assert (found.lossless, found.alarm, found.refuted) == (False, True, None)
    batch = replace(good, efficiencies=(Fraction(1), Fraction(3)))
    assert decide([batch], optima=[[Fraction(1), Fraction(3)]], complete=True).lossless
    assert decide([batch], optima=[[Fraction(1), Fraction(2)]], complete=True).alarm


def test_a_bias_is_lossless_up_to_the_tolerance_and_so_are_the_tokens_that_it_may_bring(finding):
    bad = finding("traps", "accepts_all")
    tokens, depth = Fraction(bad.check.block_efficiency), bad.scheme.depth
    exactly, less = replace(bad, tolerance=bad.bias), replace(bad, tolerance=bad.bias * 0.999)
    exactly = replace(exactly, check=replace(bad.check, tolerance=bad.bias))
    found = decide([exactly], optima=[[tokens - depth**2 * Fraction(bad.bias)]], complete=True)
    assert (found.lossless, found.bias) == (True, bad.bias)
    assert decide([exactly], optima=[[tokens - depth**2 * Fraction(bad.bias) - Fraction(1, 1000)]], complete=True).alarm
    assert decide([less], complete=True).refuted is less


def record(planted, name, cases=("context", "one_hot")) -> Record:
    audit = make_audit(planted("traps", name), "chain")
    return Record(Request(name, audit, default_cases(audit.audited.interface, None, cases)))


def checked(found):
    return check_states(found, [case for case, _ in survey(found)])


def test_state_between_calls_is_an_error_before_anything_is_judged(planted):
    for name in ("stale", "counts"):
        with pytest.raises(InvalidVerifier, match="without state"):
            checked(record(planted, name))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("file", "name", "interface", "cases"),
    [("loops", "right", "loop", ["context_free"]), ("traps", "right", "chain", ["short", "context"])],
)
def test_estimated_calls_are_within_a_factor_of_three_of_the_calls(planted, monkeypatch, file, name, interface, cases):
    audit = make_audit(planted(file, name), interface)
    found = Record(Request(name, audit, default_cases(audit.audited.interface, None, cases)))
    surveyed, calls = survey(found), []
    verify_all = Audited.verify_all
    monkeypatch.setattr(Audited, "verify_all", lambda *given: calls.append(0) or verify_all(*given))
    parts: list[float] = []
    judge(found, check_states(found, [case for case, _ in surveyed]), None, parts.append)
    expected = sum(size.runs + size.checks for _, size in surveyed)
    assert len(calls) / 3 <= expected <= 3 * len(calls)
    assert sum(parts) == pytest.approx(sum(size.trees for _, size in surveyed))  # parts are sums of floats
    assert (len(parts) > len(found.judged)) is (file == "loops" or len(cases) > 1)


def test_the_optimum_that_is_passed_in_decides(planted):
    request = record(planted, "right").request
    assert run_audit(Record(request), lambda case: None).verdict.lossless
    assert run_audit(Record(request), lambda case: Fraction(1)).verdict.alarm


def test_a_record_is_lossless_only_once_it_is_concluded(planted):
    found = record(planted, "right")
    judge(found, checked(found))
    assert not found.verdict.lossless
    assert conclude(found).lossless


@pytest.fixture(name="out_of_reach")
def _out_of_reach(monkeypatch):
    """The state of the function is out of reach, as that of compiled code."""
    monkeypatch.setattr(Audited, "_assert_steady", lambda *given: None)


@pytest.mark.usefixtures("out_of_reach")
@pytest.mark.parametrize("changes_after", [2, 3, 4])
def test_state_shows_on_the_only_tree(changes_after):
    """Its law is compared with that of the search for state; a deterministic function has one run."""
    calls = []

    def verify(p, q):
        calls.append(0)
        return [int(len(calls) > changes_after * 2)]  # each run is repeated on real numbers

    audit = make_audit(verify, "step")
    found = Record(Request("verify", audit, default_cases(audit.audited.interface, None, ["context"])))
    with pytest.raises(InvalidVerifier, match=r"two laws|something else (when it is|than the same call)"):
        judge(found, check_states(found, found.request.cases))


@pytest.mark.usefixtures("out_of_reach")
def test_state_that_shows_after_the_runs_that_are_compared_shows_in_the_law(monkeypatch):
    monkeypatch.setattr("draftproof.simulator.audit.judge.MOST_AUDITED_RUNS", 2)

    def found(right_calls):
        calls = []

        def verify(p, q):
            calls.append(0)
            first = random.random() < 0.5
            u = random.random() if first else 1 - random.random()
            return [int((u >= p(())[0]) == (len(calls) <= right_calls))]

        audit = make_audit(verify, "step")
        seen = Record(Request("verify", audit, default_cases(audit.audited.interface, None, ["context"])))
        cases = check_states(seen, seen.request.cases)
        compared = len(calls)
        try:
            judge(seen, cases)
        except InvalidVerifier:
            return False, compared, len(calls)
        return conclude(seen).lossless, compared, len(calls)

    lossless, compared, calls = found(1_000)
    assert lossless
    assert calls - compared >= 4
    assert not any(found(right_calls)[0] for right_calls in range(compared, calls))
    assert found(calls)[0]


def test_a_refutation_that_a_second_run_does_not_show_is_state(planted):
    right, wrong = planted("traps", "right"), planted("traps", "accepts_all")
    phase = [wrong]

    def verify(tokens, q, p):
        return phase[0](tokens, q, p)

    audit = make_audit(verify, "chain")
    found = Record(Request("verify", audit, default_cases(audit.audited.interface, None, ["context"])))
    judge(found, checked(found))
    phase[0] = right
    with pytest.raises(NoFunction, match="lossless there in a second run"):
        conclude(found)
    assert not found.verdict.lossless


def test_an_audit_computes_on_one_thread_of_torch():
    torch = pytest.importorskip("torch")
    threads, before = [], torch.get_num_threads()

    def verify(tokens, q, p):
        threads.append(torch.get_num_threads())
        return 0, 0

    torch.set_num_threads(2)
    try:
        audit = make_audit(verify, "chain")
        run_audit(Record(Request("verify", audit, default_cases(audit.audited.interface, None, ["disjoint"]))))
        assert set(threads) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
