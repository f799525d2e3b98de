"""Functions that take their coins as plain numbers only."""

import pytest
from flint import fmpq

from draftproof.simulator import InvalidInput, InvalidVerifier, TooLarge
from draftproof.simulator.audit import bisection as module
from draftproof.simulator.audit import default_cases, interface_named, make_audit
from draftproof.simulator.audit.bisection import Bisection
from tests.quick import quick

CASES = default_cases(interface_named("coins"), None, ["three_tokens", "zeros", "one_hot", "short", "ragged"])


def test_thresholds_are_found_to_the_last_bit():
    third = 2**53 // 3 + 1  # the first coin that is at least 1/3
    law = Bisection(lambda point: point[0] >= third, 1, 53).law()
    assert law == {False: fmpq(third, 2**53), True: 1 - fmpq(third, 2**53)}


def test_boxes_of_two_coins_have_the_volumes_computed_by_hand():
    quarter = 2**22  # of 24 bits

    def block(point):  # the second coin matters only where the first one rejects, and has another threshold there
        return "a" if point[0] < quarter else "b" if point[1] < 3 * quarter else "c"

    law = Bisection(block, 2, 24).law()
    assert law == {"a": fmpq(1, 4), "b": fmpq(9, 16), "c": fmpq(3, 16)}


@pytest.mark.parametrize(
    "case", quick(CASES, lambda case: case.name in ("one_hot", "short")), ids=lambda case: case.name
)
def test_symbols_and_bisection_agree(planted, case):
    bisected = make_audit(planted("plain_coins", "right"), "coins", coins="bisect")
    symbols = make_audit(planted("coin_reuse", "right"), "coins")
    found, wanted = (audit.judge(case.instance, case.scheme) for audit in (bisected, symbols))
    assert found.lossless
    for ours, theirs in zip(found.law.correction, wanted.law.correction, strict=True):
        assert abs(ours - theirs).max() < 1e-12  # thresholds in floats, rounded to multiples of 2^-53


def test_wrong_one_is_refuted(planted):
    audit = make_audit(planted("plain_coins", "wrong"), "coins", coins="bisect")
    found = audit.judge(CASES[-2].instance, CASES[-2].scheme)
    assert not found.lossless
    assert found.first is not None


def test_function_refuses_symbols(planted):
    audit = make_audit(planted("plain_coins", "right"), "coins")
    with pytest.raises(InvalidVerifier, match=r"plain_coins\.py"):
        audit.judge(CASES[0].instance, CASES[0].scheme)


def test_thresholds_that_move_with_other_coins_are_noticed(planted, monkeypatch):
    monkeypatch.setattr(module, "MOST_CALLS", 5_000)
    audit = make_audit(planted("plain_coins", "race"), "coins", coins="bisect")
    case = next(each for each in default_cases(audit.audited.interface) if each.name == "context")
    with pytest.raises((InvalidVerifier, TooLarge), match="bisection"):
        audit.judge(case.instance, case.scheme)


def test_too_many_calls_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_CALLS", 100)
    with pytest.raises(TooLarge, match="100 calls"):
        Bisection(lambda point: point[0] >= point[1], 2, 53).law()


def test_bisection_is_for_coins_as_arguments():
    with pytest.raises(InvalidInput, match="use the interface coins"):
        make_audit(lambda *rows: None, "chain", coins="bisect")
    noisy = make_audit(lambda noise: None, "coins", coins="bisect")
    with pytest.raises(InvalidInput, match="no thresholds"):
        noisy.judge(CASES[0].instance, CASES[0].scheme)
