"""A theorem for every vocabulary size as plain data: every sum with all its parts, so that others can add them up.

A checker of one file, `check_certificate.py`, adds them up and needs nothing else.

`functions`: every rational function as the text of its numerator and the texts of the factors of its denominator;
everything else names one by its place there. `steps`: for each length of the named context its `token`, with the names
of its `p` and `q`, and its cases. A case has its conditions, `where`, besides those of the case around it, and its
`sum`. A sum has its `value` and one of these:

- `leaf`: the drafted tokens by context, and for each verifier the probability of every verdict on that tree;
- `drafted`: the tokens of the row that have a name and, for each class of the row, all of its other tokens, with their
  `masses`, the sums of `p` and `q`. A token with a name has the `chance` of drafting it and the sum `after` it. A class
  has a name `token` for any one of them with the `variables` `p` and `q`, the `chance` `(a, b)` where one is drafted
  with probability `a p + b q`, the `cases` that follow, and the `linear` coefficients `(a, b)`: in every case the
  chance times the sum is `a p + b q`. What is never drafted has its masses only.

What more is needed about a case stands in `therefore`: a polynomial, how it compares with 0, polynomials `times` and
products `terms`. Times all of `times`, which are positive, the polynomial is the sum of the products. To be 0, each
has a factor that is 0; to be not negative, no other has a negative factor; to be positive, one has positive factors
only. Where there is `None` in place of the products, the solver says so. The value of a step of a theorem about
dominance is shown not to be negative by the product of its numerator and its denominator. `differs`: what the two
sides of the equation of a new token differ by in a case, a function that is 0 there.

A leaf of a theorem about losslessness counts `D(c) p(y|c) - D(c, y) - e(c, y)` for the named context `c` and token `y`;
one about equality the difference of the probabilities of the verdict `(c, y)`; one about dominance that of keeping `c`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.theorems.algebra.nonnegative import Sum, certificate
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Polynomial, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.any_vocabulary.cases import Case, divided
from draftproof.simulator.theorems.any_vocabulary.sums import Draft, New
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token
from draftproof.simulator.theorems.certificate.formulas import condition_text
from draftproof.simulator.theorems.proof.relations import DOMINATES

FORMAT = "draftproof theorem for every vocabulary 1"


class _Writer:
    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._below: set[int] = set()  # factors of the denominators of a case
        self.functions: list[list[Any]] = []

    def function(self, ratio: Ratio) -> int:
        factors = _factors(ratio.ring, ratio.den)
        self._below |= {*factors}
        if ratio.key not in self._places:
            self._places[ratio.key] = len(self.functions)
            self.functions.append([str(ratio.num), [ratio.ring.name(atom) for atom in factors]])
        return self._places[ratio.key]

    def pair(self, ratios: Iterable[Ratio]) -> list[int]:
        return [self.function(ratio) for ratio in ratios]

    def case(
        self, case: Case, draft: Draft, difference: Ratio, around: Case | None = None, signs: bool = False
    ) -> dict[str, Any]:
        """difference: is 0 in this case or, with `signs`, not negative. around: the case that this one is a part of."""
        outside, self._below = self._below, set()
        known = {} if around is None else around.region.masks
        where = [(atom, mask) for atom, mask in case.region if known.get(atom) != mask]
        conditions = [condition_text(str(case.ring.atoms[atom]), mask) for atom, mask in where]
        fields: dict[str, Any] = {"where": conditions, "sum": self.sum(draft, case)}
        if around is not None:
            fields["differs"] = [] if difference.is_zero else [self.function(difference)]
        below, self._below = self._below, outside
        fields["therefore"] = [_positive(case, atom) for atom in sorted(below) if not _is_strict(case, atom)]
        if not difference.is_zero:
            polynomial = difference.num * difference.den if signs else difference.num
            fields["therefore"].append(_zero(case, polynomial, signs))
        return fields

    def sum(self, draft: Draft, case: Case) -> dict[str, Any]:
        fields: dict[str, Any] = {"value": self.function(draft.value)}
        if draft.leaf is not None:
            fields["leaf"] = {
                "drafted": [[_names(context), _names(tokens)] for context, tokens in draft.leaf.drafted.items()],
                "verdicts": [
                    [[_names(accepted), repr(token), self.function(mass)] for (accepted, token), mass in each.items()]
                    for each in draft.leaf.masses
                ],
            }
            return fields
        new = {each.of_class: each for each in draft.new}
        fields["drafted"] = [
            *(self.named(token, draft, case) for token, named in case.names.items() if named.row == draft.row),
            *(self.new(case.rest(number), new.get(number), case) for number in case.rows[draft.row]),
        ]
        return fields

    def named(self, token: Token, draft: Draft, case: Case) -> dict[str, Any]:
        fields: dict[str, Any] = {"token": repr(token), "masses": self.pair(case.masses(token))}
        for drafted, chance, after in draft.named:
            if drafted == token:
                fields |= {"chance": self.function(chance), "after": self.sum(after, case)}
        return fields

    def new(self, rest: Iterable[Ratio], new: New | None, around: Case) -> dict[str, Any]:
        fields: dict[str, Any] = {"masses": self.pair(rest)}
        if new is not None:
            p, q = new.variables
            fields |= {"token": repr(new.token), "variables": [p.key, q.key]}
            fields |= {"chance": self.pair(new.weight), "linear": self.pair(new.linear), "cases": []}
            chance, expected = (a * p + b * q for a, b in (new.weight, new.linear))
            for case, draft in new.cases:
                fields["cases"].append(self.case(case, draft, chance * draft.value - expected, around))
        return fields


@dataclass
class Replaced:
    """A polynomial times all `times` is a sum of the equations of a case, each times its part, and `rest`."""

    times: list[int]
    parts: dict[int, Polynomial]
    rest: Polynomial


def replaced_by_equations(case: Case, polynomial: Polynomial) -> Replaced:
    """Replace the last variable of each equation, where the factors of its slope are not zero."""
    ring, one = case.ring, case.ring.one
    equations = [(ring.atoms[atom], {atom: one}) for atom, mask in case.region if mask == ZERO]
    rest, scale, used = polynomial, one, dict[int, Polynomial]()
    while equations and not rest.is_zero():
        equation, parts = equations.pop()
        position = case.solvable(equation, lambda slope: all(_is_strict(case, atom) for atom in _factors(ring, slope)))
        if position is not None:
            rest, factor, quotient = divided(ring, rest, equation, position)
            scale, used = scale * factor, _added(used, factor, parts, quotient)
            others = []
            for other, of in equations:
                left, factor, quotient = divided(ring, other, equation, position)
                if not left.is_zero():
                    others.append((left, _added(of, factor, parts, -quotient)))
            equations = others
    for atom, mask in case.region:
        if mask == ZERO and not rest.is_zero() and (rest % ring.atoms[atom]).is_zero():
            rest, used = ring.zero, _added(used, one, {atom: one}, rest / ring.atoms[atom])
    lead = scale.leading_coefficient()
    used = {atom: part / lead for atom, part in used.items() if not part.is_zero()}
    return Replaced(_factors(ring, scale), used, rest / lead)


def _added(
    parts: Mapping[int, Polynomial], factor: Polynomial, more: Mapping[int, Polynomial], times: Polynomial
) -> dict[int, Polynomial]:
    total = {atom: part * factor for atom, part in parts.items()}
    for atom, part in more.items():
        total[atom] = total[atom] + part * times if atom in total else part * times
    return total


def _products(case: Case, polynomial: Polynomial) -> list[list[str]] | None:
    """Products of what is not negative in a case that add up to a polynomial; None if none are found."""
    if polynomial.is_zero():
        return []
    atoms = _factors(case.ring, polynomial)
    if case.region.ask((polynomial,), NEGATIVE) is False and all(_is_signed(case, atom) for atom in atoms):
        return [[str(abs(polynomial.leading_coefficient())), *(_oriented(case, atom) for atom in atoms)]]
    terms = certificate(polynomial, case.region)
    return None if terms is None else _written(case, terms)


def _positive(case: Case, atom: int) -> list[Any]:
    """Which sign a polynomial has that is not 0 in a case, as a sum of products of positive ones."""
    polynomial = case.ring.atoms[atom]
    if case.has_sign(polynomial, NEGATIVE):
        polynomial = -polynomial
    others = [(each, mask) for each, mask in case.region if each != atom]
    for masks in (NEGATIVE, POSITIVE), (NEGATIVE, POSITIVE, NEGATIVE | ZERO, ZERO | POSITIVE):
        terms = certificate(polynomial, Region(case.ring, {each: mask for each, mask in others if mask in masks}))
        if any(all(_is_strict(case, each) for each in term.atoms) for term in terms or ()):
            return [str(polynomial), ">", [], _written(case, terms or ())]
    return [str(polynomial), ">", [], None]


def _zero(case: Case, polynomial: Polynomial, signs: bool = False) -> list[Any]:
    """Why a polynomial is 0 in a case or, with `signs`, not negative."""
    found = replaced_by_equations(case, polynomial)
    sign = -1 if sum(case.region.allowed(atom) == NEGATIVE for atom in found.times) % 2 else 1
    products = _products(case, found.rest * sign) if signs or found.rest.is_zero() else None
    relation = ">=" if signs and not found.rest.is_zero() else "="
    terms = None
    if products is not None:
        terms = [[str(part * sign), case.ring.name(atom)] for atom, part in found.parts.items()] + products
    return [str(polynomial), relation, [_oriented(case, atom) for atom in found.times], terms]


def _is_strict(case: Case, atom: int) -> bool:
    return case.region.allowed(atom) in (NEGATIVE, POSITIVE)


def _written(case: Case, terms: Sum) -> list[list[str]]:
    return [[str(term.coefficient), *(_oriented(case, atom) for atom in term.atoms)] for term in terms]


def _is_signed(case: Case, atom: int) -> bool:
    allowed = case.region.allowed(atom)
    return not allowed & NEGATIVE or not allowed & POSITIVE


def _oriented(case: Case, atom: int) -> str:
    polynomial = case.ring.atoms[atom]
    return str(polynomial if case.region.allowed(atom) & POSITIVE else -polynomial)


def _factors(ring: Ring, polynomial: Polynomial) -> list[int]:
    return [atom for atom, exponent in ring.factors(polynomial)[1] for _ in range(exponent)]


def _names(context: Iterable[Any]) -> list[str]:
    return [repr(token) for token in context]


def certificate_of(theorem: Theorem, steps: Iterable[Step], about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of a theorem that was proved. about: which theorem it is."""
    writer, plain = _Writer(), []
    for step in steps:
        cases = []
        for case, draft in step.cases:
            cases.append(writer.case(case, draft, draft.value, signs=theorem.kind == DOMINATES))
        context: Context = step.context
        token = None if step.token is None else [repr(step.token), *(r.key for r in step.variables)]
        plain.append({"context": _names(context), "token": token, "cases": cases})
    return {"format": FORMAT, **about, "kind": theorem.kind, "functions": writer.functions, "steps": plain}
