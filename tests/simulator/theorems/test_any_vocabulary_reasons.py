"""Reasons by multiplication: they add up exactly, and none is found for what does not follow."""

from dataclasses import replace
from functools import reduce

import pytest

from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.reasons import Reasons
from draftproof.simulator.theorems.any_vocabulary.theorem import start


def case_with(*conditions):
    """A case of two named tokens and further conditions, functions of `p0, q0, p1, q1` with their signs."""
    case, _, _ = start(1)
    p, q, r, s = case.ring.variables[:4]
    for condition, mask in conditions:
        case = case.assuming(Ratio(case.ring, condition(p, q, r, s)), mask)
    return case, (p, q, r, s)


def total(case, terms):
    """The sum of products, as a function."""
    result = Ratio(case.ring, case.ring.zero)
    for value, factors in terms:
        result = result + reduce(lambda one, factor: one * Ratio(case.ring, factor), factors, value)
    return result


def assert_adds_up(case, reasons):
    for fact in reasons.facts:
        assert total(case, fact.terms).key == Ratio(case.ring, fact.polynomial).key


NOT_LESS, NOT_MORE = POSITIVE | ZERO, NEGATIVE | ZERO


def test_two_inequalities_make_an_equation():
    case, (p, q, r, s) = case_with((lambda p, q, r, s: p - q, NOT_LESS), (lambda p, q, r, s: p * r - q * r, NOT_MORE))
    reasons = Reasons(case)
    terms = reasons.zero((p - q) * s)
    assert [fact.sign for fact in reasons.facts] == [">=", "="]  # of the second one follows that it is 0, too
    assert total(case, terms).key == Ratio(case.ring, (p - q) * s).key
    assert_adds_up(case, reasons)
    assert Reasons(case).zero(p - r) is None


def test_one_inequality_makes_none():
    case, (p, q, *_) = case_with((lambda p, q, r, s: p - q, NOT_LESS))
    assert Reasons(case).zero(p - q) is None
    assert not Reasons(case).signed(p - q, strict=True)
    assert Reasons(case).signed(p - q, strict=False)
    assert not Reasons(case).signed(q - p, strict=False)


@pytest.mark.parametrize("mask", [POSITIVE, NOT_LESS])
def test_what_contradicts_itself_is_impossible_and_what_does_not_is_not(mask):
    case, _ = case_with(
        (lambda p, q, r, s: p - q, mask), (lambda p, q, r, s: q - r, NOT_LESS), (lambda p, q, r, s: r - p, NOT_LESS)
    )
    reasons = Reasons(case)
    assert reasons.impossible() is (mask == POSITIVE)
    assert any(fact.polynomial.is_zero() and fact.sign == ">" for fact in reasons.facts) is (mask == POSITIVE)
    assert_adds_up(case, reasons)


def test_an_equation_replaces_a_variable_whose_coefficient_is_positive():
    case, (p, q, r, s) = case_with((lambda p, q, r, s: p * r - q * s, ZERO))
    reasons = Reasons(case)
    terms = reasons.zero((p * r - q * s) * (p + s))
    assert total(case, terms).key == Ratio(case.ring, (p * r - q * s) * (p + s)).key
    assert not reasons.facts
    open_case = replace(case, region=case.region.with_signs(case.ring.atom(p), NOT_LESS))
    assert Reasons(open_case).zero(p - q) is None


def test_a_sign_that_follows_with_further_variables():
    """`p - r >= q`, so `p > r`; nothing says so without `q`."""
    case, (p, q, r, s) = case_with((lambda p, q, r, s: p - q - r, NOT_LESS))
    reasons = Reasons(case)
    assert reasons.signed(p - r, strict=True)
    assert [fact.sign for fact in reasons.facts] == [">"]
    assert reasons.signed((p - r) * s + q * r, strict=True)
    assert_adds_up(case, reasons)
    assert not Reasons(case).signed(r - p, strict=False)
    assert not Reasons(case).signed(p - r - s, strict=False)


def test_a_sign_that_an_equation_would_hide():
    """The condition on `p r - q s + p - q` says it of `p - q`, but is another one with `p r = q s`."""
    case, (p, q, r, s) = case_with(
        (lambda p, q, r, s: p * r - q * s, ZERO), (lambda p, q, r, s: p * r - q * s + p - q, POSITIVE)
    )
    reasons = Reasons(case)
    assert reasons.signed(p * r - q * s + p, strict=True)
    assert_adds_up(case, reasons)


def test_a_sign_that_follows_after_a_multiplication():
    """`a (q - r) > p r` for `a = p q - r > 0`, so `q > r`."""
    case, (_, q, r, _) = case_with(
        (lambda p, q, r, s: p * q - r, POSITIVE), (lambda p, q, r, s: (p * q - r) * (q - r) - p * r, POSITIVE)
    )
    reasons = Reasons(case)
    assert reasons.signed(q - r, strict=True)
    assert [fact.sign for fact in reasons.facts] == [">"]
    assert_adds_up(case, reasons)
    assert not Reasons(case).signed(r - q, strict=False)


def test_an_equation_that_gives_no_variable_is_used_all_the_same():
    """The sign of its slope is not known."""

    def equation(p, q, r, s):
        return (p - q) * s - r * q

    case, (p, q, r, _) = case_with(
        (equation, ZERO), (lambda p, q, r, s: p - r, NOT_LESS), (lambda *of: of[0] - of[2] + equation(*of), NOT_MORE)
    )
    reasons = Reasons(case)
    terms = reasons.zero((p - r) * q)
    assert terms is not None
    assert total(case, terms).key == Ratio(case.ring, (p - r) * q).key
    assert_adds_up(case, reasons)
    assert Reasons(case).zero(p - q) is None


def test_what_is_found_in_one_ring_is_not_used_in_another():
    """Their atoms have other numbers."""
    (one, of_one), (other, of_other) = (
        case_with(*conditions)
        for conditions in (
            [(lambda p, q, r, s: p - q, POSITIVE)],
            [(lambda p, q, r, s: p + q - 1, POSITIVE), (lambda p, q, r, s: p - q, NOT_LESS)],
        )
    )
    found = {}
    assert Reasons(one, found).signed(2 * of_one[0] - 2 * of_one[1], strict=False)
    reasons = Reasons(other, found)
    assert reasons.signed(2 * of_other[0] - 2 * of_other[1], strict=False)
    assert_adds_up(other, reasons)


def test_functions_that_differ_by_a_number_are_not_equal_unless_there_is_nothing_in_the_case():
    case, _ = case_with()
    one, zero = (Ratio(case.ring, constant) for constant in (case.ring.one, case.ring.zero))
    assert not case.equal(one, zero)
    nothing, (p, q, *_) = case_with((lambda p, q, r, s: p - q, POSITIVE), (lambda p, q, r, s: p - q, NEGATIVE))
    assert nothing.has_sign(p - 2 * q, POSITIVE)
    assert nothing.has_sign(p - 2 * q, NEGATIVE)
