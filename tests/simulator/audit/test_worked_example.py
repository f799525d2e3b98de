"""p = (1/3, 2/3), q = (2/3, 1/3), two drafted tokens: numbers that are known by hand, as exact fractions."""

from fractions import Fraction

import pytest

from draftproof.simulator import CallableProcess, Delayed, assert_lossless
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Evidence, diagnose, make_audit
from draftproof.simulator.instances.instance import Instance

PATH = Delayed(1, 0, 2)
TARGET = CallableProcess(2, lambda context: ["1/3", "2/3"])
DRAFT = CallableProcess(2, lambda context: ["2/3", "1/3"])
INSTANCE = Instance.of(TARGET, DRAFT, 2, RATIONAL)


def finding(planted, name):
    audit = make_audit(planted("uncapped_ratio", name), "chain", arithmetic="rational", name=name)
    return audit, audit.judge(INSTANCE, PATH)


@pytest.mark.parametrize(("name", "accepted"), [("token_wise", Fraction(10, 9)), ("right", Fraction(11, 9))])
def test_lossless_ones_have_deviation_exactly_zero_and_the_known_efficiency(planted, name, accepted):
    _, found = finding(planted, name)
    assert (found.check.max_deviation, found.check.total_variation) == (0, 0)
    assert found.check.block_efficiency - 1 == accepted


@pytest.mark.heavy
def test_uncapped_one_is_off_by_a_ninth_though_its_first_token_is_exact(planted):
    audit, found = finding(planted, "wrong")
    assert found.check.block_efficiency - 1 == Fraction(4, 3)
    assert found.check.total_variation == Fraction(1, 9)
    assert found.at_depth(0) is None
    assert found.first is not None
    assert found.first.context == (1,)
    names = [each.name for each in diagnose(Evidence(audit, found, [found]))]
    assert names[0] == "uncapped ratio"
    assert "first token exact" in names


def test_assert_lossless_takes_a_function_and_an_instance(planted):
    assert_lossless(planted("uncapped_ratio", "right"), TARGET, DRAFT, PATH, "rational", interface="chain")
    with pytest.raises(AssertionError, match=r"(?s)wrong is not lossless .*\nhypothesis: .*the product of all ratios"):
        assert_lossless(planted("uncapped_ratio", "wrong"), TARGET, DRAFT, PATH, "rational", interface="chain")
