"""`draftproof prove --vocab any --formula`: block efficiency for every vocabulary size, in words.

In a case the value is a function of the sums of `p` and `q` over classes of tokens. Over a class with `p < r q` the sum
of `min(p, r q)` is the sum of `p`, over one with `p >= r q` it is `r` times that of `q`. Where a value is `a + b` times
this sum over a row, it is written so, and it is tested whether other cases have the same value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.theorems.algebra.polynomials import ANY, NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.any_vocabulary.cases import Case, TokenClass, signs_of_sums
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, expected_length
from draftproof.simulator.theorems.any_vocabulary.tokens import Context
from draftproof.simulator.theorems.certificate.formulas import relation

#: Most values, and cases of one value, that are printed.
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
        """The same in a case; None if it leaves open which of `p` and `ratio q` is smaller, or has no such sums."""
        if self.times is None or self.ratio is None:
            return self.constant if _is_of_first(self.constant, len(case.scopes)) else None
        total = sum_of_minimum(case, self.row, self.ratio)
        return None if total is None else self.constant + self.times * total

    def names_classes(self, step: Step) -> bool:
        """Whether it depends on sums of classes."""
        return self.times is None and not _is_of_first(self.constant, 2 * len(step.context))


def sum_of_minimum(case: Case, row: Context, ratio: Ratio) -> Ratio | None:
    """The sum of `min(p, ratio q)` over a row in a case; None where that is open."""
    total = Ratio(case.ring, case.ring.zero)
    for number in case.rows.get(row, ()):
        known = case.classes[number]
        allowed = next((each.mask for each in known.thresholds.values() if case.equal(each.ratio, ratio)), ANY)
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
        return _is_of_first(found[1], named), -len(found[0].classes)

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
                        if all(_is_of_first(each, named) for each in parts):
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


def _is_of_first(ratio: Ratio, count: int) -> bool:
    """Whether a function depends on the first `count` variables only."""
    return all(degree <= 0 for degree in _degrees(ratio)[count:])


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
        shown = [line for each in self.values[:SHOWN] for line in self._lines(each)]
        left = max(0, len(self.values) - SHOWN)
        return [f"E[tau+1] = {start}", *shown, *([f"  and {left} other values, see --json"] * bool(left))]

    def _lines(self, value: Value) -> list[str]:
        where = self._where(value)
        if len(where) == 1:
            return [f"  {self._value(value)}, if {where[0]}"]
        shown = [f"    {'or' * bool(place) or 'if'} {each}" for place, each in enumerate(where[:SHOWN])]
        left = len(where) - len(shown)
        return [f"  {self._value(value)}", *shown, *([f"    or in {left} other cases, see --json"] * bool(left))]

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

    def _where(self, value: Value) -> list[str]:
        """For which `y` it is the value; unless that tells all values apart, the conditions of each of its cases."""
        mask = self._mask(value)
        if not (
            value.names_classes(self.step) or any(self._mask(each) & mask for each in self.values if each is not value)
        ):
            return [] if mask == ANY else [f"p(y) {relation(mask)} q(y)"]
        return [*dict.fromkeys(self._condition(case) for case in value.cases)]

    def _mask(self, value: Value) -> int:
        if not self.first:
            return ANY
        token, one = self.step.context[0], Ratio(value.constant.ring, value.constant.ring.one)
        mask = 0
        for case in value.cases:
            mask |= case.classes[case.names[token].of_class].allowed(one)
        return mask

    def _condition(self, case: Case) -> str:
        """What a case says of `y`, of the classes of tokens and of their sums."""
        of_first = {named.of_class for named in case.names.values()} if self.first else ()
        about = [self._relations(case.classes[number], "(y)") for number in of_first]
        for known in case.classes.values():
            relations, after = self._relations(known), " after y" if known.row else ""
            if relations and known.target.constant is not None:
                about.append(f"all tokens{after} have {relations}")
            elif relations:
                sums = f"{self._text(known.target)} of p and {self._text(known.draft)} of q"
                about.append(f"tokens{after} with {relations} have the sums {sums}")
        return "; ".join(each for each in [*about, *self._signs(case)] if each)

    def _relations(self, known: TokenClass, of: str = "") -> str:
        return " and ".join(
            f"p{of} {relation(each.mask)} {_times(self._text(each.ratio), f'q{of}')}"
            for each in known.thresholds.values()
        )

    def _signs(self, case: Case) -> list[str]:
        """What a case says of sums and tokens, but for what follows from its classes and names."""
        implied = replace(case, region=Region(case.ring, {}))
        one = Ratio(case.ring, case.ring.one)
        for token in case.names:
            for variable in case.variables(token):
                implied = implied.assuming(variable, POSITIVE).assuming(one - variable, POSITIVE)
        for number, known in case.classes.items():
            total, rest = (known.target, known.draft), case.rest(number)
            named = [case.variables(token) for token in case.named_in(number)]
            for each, mask in ((total, POSITIVE), (rest, POSITIVE | ZERO)):
                for side in each:
                    implied = implied.assuming(side, mask)
            for threshold in known.thresholds.values():
                of_sums = signs_of_sums(threshold.mask)
                masked = [(total, of_sums), (rest, of_sums | ZERO), *((each, threshold.mask) for each in named)]
                for (p, q), mask in masked:
                    implied = implied.assuming(p - threshold.ratio * q, mask)
        return [
            f"{self._renamed(case.ring.name(atom))} {relation(mask)} 0"
            for atom, mask in case.region
            if not case.oracle.is_empty(implied.region.without_signs(atom, mask), atom)
        ]

    def _text(self, ratio: Ratio | None) -> str:
        if ratio is None:
            return "1"
        return self._renamed(re.sub(r"\(([pq]\d+)\)", r"\1", ratio.key))

    def _renamed(self, key: str) -> str:
        """Names of variables as they are printed: sums in capitals, p and q of the first token with it."""

        def renamed(found: re.Match[str]) -> str:
            side, number = found[1], found[2]
            return f"{side}(y)" if self.first and number == "0" else f"{side.upper()}{number}"

        return re.sub(r"([pq])(\d+)", renamed, key.replace("*", " "))


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
