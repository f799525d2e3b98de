"""`draftproof prove --vocab any --formula`: block efficiency for every vocabulary size, in words.

In a case the value is a function of the sums of `p` and `q` over classes of tokens. Over a class with `p < r q` the sum
of `min(p, r q)` is the sum of `p`, over one with `p >= r q` it is `r` times that of `q`. Where a value is `a + b` times
this sum over a row, it is written so, and it is tested whether other cases have the same value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.theorems.algebra.polynomials import ANY, NEGATIVE, POSITIVE
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, expected_length
from draftproof.simulator.theorems.any_vocabulary.tokens import Context
from draftproof.simulator.theorems.certificate.formulas import relation

#: Cases that are printed one by one, at most.
SHOWN = 8


@dataclass
class Value:
    """`constant + times` the sum of `min(p, ratio q)` over the row; `ratio` is None where there is no such sum."""

    constant: Ratio
    times: Ratio | None = None
    ratio: Ratio | None = None
    row: Context = ()
    cases: list[Case] = field(default_factory=list)

    def at(self, case: Case) -> Ratio | None:
        """The same in a case; None if it leaves open which of `p` and `ratio q` is smaller."""
        if self.times is None or self.ratio is None:
            return self.constant
        total = sum_of_minimum(case, self.row, self.ratio)
        return None if total is None else self.constant + self.times * total


def sum_of_minimum(case: Case, row: Context, ratio: Ratio) -> Ratio | None:
    """The sum of `min(p, ratio q)` over a row in a case; None where that is open."""
    total = Ratio(case.ring, case.ring.zero)
    for number in case.rows.get(row, ()):
        known = case.classes[number]
        allowed = known.allowed(ratio)
        if allowed & NEGATIVE and allowed & POSITIVE:
            return None
        total = total + (known.target if allowed & NEGATIVE else ratio * known.draft)
    return total


def in_words(step: Step) -> list[Value]:
    """The values of all cases, equal ones together; first the cases with most classes whose sums the value has."""
    values: list[Value] = []
    named = 2 * len(step.context)
    found = [(case, case.reduced(draft.value)) for case, draft in step.cases]

    def order(found: tuple[Case, Ratio]) -> tuple[bool, int]:
        return not any(degree > 0 for degree in _degrees(found[1])[named:]), -len(found[0].classes)

    for case, value in sorted(found, key=order):
        for known in values:
            other = known.at(case)
            if other is not None and case.equal(other, value):
                known.cases.append(case)
                break
        else:
            new = _with_minimum(case, value, named) or Value(value)
            new.cases.append(case)
            values.append(new)
    return values


def _with_minimum(case: Case, value: Ratio, named: int) -> Value | None:
    """`value` as `a + b` times a sum of minima, where `a` and `b` depend on the first `named` variables only."""
    for row, numbers in case.rows.items():
        for number in numbers:
            for threshold in case.classes[number].thresholds.values():
                total = sum_of_minimum(case, row, threshold.ratio)
                if total is not None and total.constant is None:
                    times = _slope(value, total)
                    if times is not None:
                        found = Value(value - times * total, times, threshold.ratio, row)
                        parts = (found.constant, times, threshold.ratio)
                        if all(degree <= 0 for each in parts for degree in _degrees(each)[named:]):
                            return found
    return None


def _slope(value: Ratio, total: Ratio) -> Ratio | None:
    """How a value changes with the sum, by one of the variables of classes in it."""
    degrees = _degrees(total)
    position = max(place for place, degree in enumerate(degrees) if degree > 0)
    below = value.den.degrees()[position] > 0 or total.den.degrees()[position] > 0
    if below:
        return None
    one, other = (Ratio.quotient(each.ring, each.num.derivative(position), each.den) for each in (value, total))
    return None if one.is_zero else one / other


def _degrees(ratio: Ratio) -> list[int]:
    return [max(pair) for pair in zip(ratio.num.degrees(), ratio.den.degrees(), strict=True)]


@dataclass
class Formula:
    """Block efficiency. first: it is the sum, over the first drafted token `y`, of `q(y)` times the values."""

    step: Step
    first: bool
    values: list[Value]

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        listed = [
            {"value": self._value(each), "cases": len(each.cases), "where": self._where(each)} for each in self.values
        ]
        return {"sum_over_first_token": self.first, "values": listed}

    def lines(self) -> list[str]:
        """The same in words."""
        if len(self.values) == 1 and not self.first:
            return [f"E[tau+1] = {self._value(self.values[0])}"]
        start = "the sum over the first drafted token y of" if self.first else "by cases"
        shown = [f"  {self._value(each)}{self._where(each)}" for each in self.values[:SHOWN]]
        left = len(self.values) - len(shown)
        return [f"E[tau+1] = {start}", *shown, *([f"  and {left} other values, see --json"] * bool(left))]

    def _value(self, value: Value) -> str:
        weight = self.step.variables[1] if self.first else Ratio(value.constant.ring, value.constant.ring.one)
        constant, text = value.constant * weight, ""
        if value.times is not None and value.ratio is not None:
            times = value.times * weight
            p, q = ("p(z|y)", "q(z|y)") if value.row else ("p", "q") if not self.first else ("p(z)", "q(z)")
            inside = _is_positive_product(times)
            left, right = (
                self._text(each) for each in ((times, times * value.ratio) if inside else (None, value.ratio))
            )
            text = f"sum over {'z' if self.first else 'tokens'} of min({_times(left, p)}, {_times(right, q)})"
            text = text if inside else f"({self._text(times)}) * {text}"
        if text and constant.is_zero:
            return text
        return " + ".join(each for each in (self._text(constant), text) if each)

    def _where(self, value: Value) -> str:
        """For which `y` and, where that does not tell values apart, for which classes of tokens."""
        masks = [self._mask(each) for each in self.values]
        mask = self._mask(value)
        text = f", if p(y) {relation(mask)} q(y)" if mask != ANY else ""
        shared = sum(bool(each & mask) for each in masks) > 1
        if not shared and value.times is not None:
            return text
        sums = [self._about(value.cases[0], number) for number in value.cases[0].classes]
        sums = [each for each in sums if each]
        return f"{text}{', with ' * bool(sums)}{'; '.join(sums)}"

    def _mask(self, value: Value) -> int:
        if not self.first:
            return ANY
        token, one = self.step.context[0], Ratio(value.constant.ring, value.constant.ring.one)
        mask = 0
        for case in value.cases:
            mask |= case.classes[case.names[token].of_class].allowed(one)
        return mask

    def _about(self, case: Case, number: int) -> str:
        known = case.classes[number]
        thresholds = [
            f"p {relation(each.mask)} {_times(self._text(each.ratio), 'q')}" for each in known.thresholds.values()
        ]
        if not thresholds or known.target.constant is not None:
            return ""
        after = " after y" if known.row else ""
        sums = f"{self._text(known.target)}, {self._text(known.draft)}"
        return f"{sums} of p, q over the tokens{after} with {' and '.join(thresholds)}"

    def _text(self, ratio: Ratio | None) -> str:
        if ratio is None:
            return "1"

        def renamed(found: re.Match[str]) -> str:
            side, number = found[1], found[2]
            return f"{side}(y)" if self.first and number == "0" else f"{side.upper()}{number}"

        return re.sub(r"([pq])(\d+)", renamed, re.sub(r"\(([pq]\d+)\)", r"\1", ratio.key).replace("*", " "))


def _times(factor: str, what: str) -> str:
    if factor == "1":
        return what
    return f"({factor}) {what}" if " + " in factor or " - " in factor or "/" in factor else f"{factor} {what}"


def _is_positive_product(ratio: Ratio) -> bool:
    """Whether it is a number > 0 times powers of variables."""
    one_term = all(len(ratio.ring.terms(each)) == 1 for each in (ratio.num, ratio.den))
    return one_term and ratio.num.leading_coefficient() > 0


def formula_of(verifier: Verifier, scheme: DraftScheme) -> Formula | None:
    """Block efficiency, if it is a function of sums over one row, or of these and the first drafted token."""
    for first in (False, True):
        step = expected_length(verifier, scheme, first)
        if not step.reason:
            return Formula(step, first, in_words(step))
    return None
