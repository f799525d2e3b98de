"""Reasons why a function is zero, or never negative, on one cell, as plain data that is checked without a search.

`"equal"`: it is the zero function. `"zero"`: the equations of the cell make it zero. `"signs"`: it is a product of
atoms with known signs. A mapping: the numerator times `sign` is a sum, which `nonnegative.holds` checks. `"solver"`:
z3 says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from draftproof.simulator.theorems.algebra.nonnegative import Term, certificate, holds
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.plain import read_polynomial
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Question, Region, vanishes

EQUAL, ZERO, SIGNS, SOLVER = "equal", "zero", "signs", "solver"
#: One of the four words, or a sum.
Judgement = str | Mapping[str, Any]
Judging = Callable[[Ratio, Region, Oracle], Judgement | None]


def is_zero(ratio: Ratio, region: Region, oracle: Oracle) -> bool:
    """Whether a function is proved to be zero at every point of a region."""
    if ratio.is_zero or vanishes(ratio.num, region):
        return True
    atom = region.ring.atom(ratio.num)
    return oracle.is_empty(region.with_signs(atom, NEGATIVE | POSITIVE), atom)


def judged_zero(ratio: Ratio, region: Region, oracle: Oracle) -> Judgement | None:
    """Why a function is zero on a region; None where that is not shown."""
    if ratio.is_zero:
        return EQUAL
    return ZERO if is_zero(ratio, region, oracle) else None


def judged_nonnegative(ratio: Ratio, region: Region, oracle: Oracle) -> Judgement | None:
    """Why a function is never negative on a region, None if not shown; `SOLVER` only without another reason."""
    if ratio.is_zero:
        return EQUAL
    if _by_signs(ratio, region):
        return SIGNS
    for sign in (1, -1):
        if region.ask((ratio.den,), POSITIVE if sign > 0 else NEGATIVE) is True:
            combination = certificate(ratio.num * sign, region)
            if combination is not None:
                terms = [
                    [str(term.coefficient), [region.ring.name(atom) for atom in term.atoms]] for term in combination
                ]
                return {"sign": sign, "sum": terms}
    return SOLVER if _by_solver(ratio, region, oracle) else None


def stands(judgement: Judgement, ratio: Ratio, region: Region, oracle: Oracle) -> bool:
    """Whether a judgement is right. Only `SOLVER`, and `ZERO` where substitution does not show it, asks the solver."""
    if judgement == EQUAL:
        return ratio.is_zero
    if judgement == ZERO:
        return is_zero(ratio, region, oracle)
    if judgement == SIGNS:
        return _by_signs(ratio, region)
    if judgement == SOLVER:
        return _by_solver(ratio, region, oracle)
    return isinstance(judgement, Mapping) and _sum_stands(judgement, ratio, region)


def _sum_stands(judgement: Mapping[str, Any], ratio: Ratio, region: Region) -> bool:
    try:
        sign = judgement["sign"]
        terms = [
            Term(Fraction(coefficient), tuple(region.ring.atom(read_polynomial(name, region.ring)) for name in names))
            for coefficient, names in judgement["sum"]
        ]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return False
    if sign not in (1, -1) or region.ask((ratio.den,), POSITIVE if sign > 0 else NEGATIVE) is not True:
        return False
    return holds(terms, ratio.num * sign, region)


def _by_signs(ratio: Ratio, region: Region) -> bool:
    """Whether the signs of atoms alone rule out that it is negative; `ask` may leave that open, with a `Question`."""
    return region.ask((ratio.num, ratio.den), NEGATIVE) is False


def _by_solver(ratio: Ratio, region: Region, oracle: Oracle) -> bool:
    negative = region.ask((ratio.num, ratio.den), NEGATIVE)
    if isinstance(negative, Question):
        return oracle.is_empty(region.with_signs(negative.atom, negative.mask), negative.atom)
    return not negative
