"""A theorem for every vocabulary size as plain data: every sum with all its parts, so that others can add them up.

A checker of one file, `check_certificate.py`, adds them up and needs nothing else.

- `polynomials`: each a list of terms, a coefficient and its variables, as often as they come.
- `functions`: each a list of polynomials, by number: its numerator and the factors of its denominator. Everything else
  names a function by its place there.
- `steps`: one for each length of the named context. `names`: its tokens and, unless the theorem is about dominance, the
  token after it. `cases`: of these tokens.

A token is a number; `p4` and `q4` are the probabilities of the token 4. A case has the `pairs` of variables that come
up in it, numbers of this kind, too: sums of classes of tokens. It has its `sum`. `where`: the conditions of
the case that its sums use, besides those of the case around it and that variables are > 0, as `[">", function]`, with
`>=` and `=`, too; a variable that may be 0 is there with `>=`. Where products of functions follow, it is no
condition: the function is the sum of these products, and each of them has a factor that is 0, or only factors that
are > 0, or not negative. If it says that 0 is > 0, there is nothing in this case, and it has no sum.

A sum is one of these. Equations between functions hold up to a `rest`, products that are 0 in the case.

- `verdicts`: for each verifier the verdicts on the tree that was drafted, accepted tokens, correction token, mass;
  beside them in `later` what follows where more is drafted before there is a verdict: its `masses`, one for each
  verifier, and its `value`, the function that the sum is in all `cases` of it.
- `parts`: the tokens of a row. `node`: the context with such a token. A token that is not `new` has a
  name; its `chance` has one function, its `linear` one, too: the chance times the sum that follows, in its `cases`. A
  `new` one is any other token of a class, with the `masses`, the sums of `p` and `q`, of all of them. One is drafted
  with probability `a p + b q`, `chance` is `(a, b)`; `linear` is `(c, d)`: in every case the chance times the sum is
  `c p + d q`. What is never drafted has its masses only.

In the cases of a step the sum is `rest`: products that are 0 or, for dominance, not negative.

A theorem about losslessness counts `D(c) p(y|c) - D(c, y) - e(c, y)` for the named context `c` and token `y`; one about
equality the difference of the probabilities of the verdict `(c, y)`; one about dominance that of keeping `c`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Polynomial, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.reasons import Fact, Reasons, Term, is_strict, oriented
from draftproof.simulator.theorems.any_vocabulary.sums import Draft, Later, New
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem
from draftproof.simulator.theorems.any_vocabulary.tokens import Token
from draftproof.simulator.theorems.proof.judging import DOMINATES

FORMAT = "draftproof theorem for every vocabulary 5"


class NotWritten(DraftproofError):
    """A proof needs a fact that only the solver says; no certificate has it."""


@dataclass
class _Place:
    """A case that is being written. used: its conditions that are needed, by atom."""

    case: Case
    sums: dict[Any, Any]
    reasons: Reasons = field(init=False)
    used: set[int] = field(default_factory=set)
    below: dict[int, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    wanted: list[Polynomial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reasons = Reasons(self.case, self.sums)

    def positive(self, atom: int) -> tuple[Polynomial, Polynomial]:
        """What stands in a denominator for an atom, and what the numerator is multiplied with: both, for the same."""
        if atom not in self.below:
            self.below[atom] = self._positive(atom)
        return self.below[atom]

    def _positive(self, atom: int) -> tuple[Polynomial, Polynomial]:
        polynomial, one = self.case.ring.atoms[atom], self.case.ring.one
        if is_strict(self.case, atom):
            self.used.add(atom)
            return oriented(self.case, atom), one if self.case.region.allowed(atom) == POSITIVE else -one
        if self.case.region.allowed(atom) == NEGATIVE | POSITIVE:
            self.used.add(atom)
            return polynomial * polynomial, polynomial
        sign = (
            one if self.case.has_sign(polynomial, POSITIVE) else -one
        )  # the search for the other one would take longest
        if self.reasons.signed(polynomial * sign, strict=True):
            self.wanted.append(polynomial)
            return polynomial * sign, sign
        raise NotWritten(f"nothing elementary says that the denominator {polynomial} is not 0")

    def needed(self) -> list[Fact]:
        """The facts without which something would not be shown; what they use is noted."""
        ring, needed = self.case.ring, list[Fact]()
        wanted = {ring.atom(polynomial) for polynomial in self.wanted}
        for fact in reversed(self.reasons.facts):
            if fact.polynomial.is_zero() or ring.atom(fact.polynomial) in wanted:
                needed.append(fact)
                wanted |= {ring.atom(polynomial) for _, factors in fact.terms for polynomial in factors}
        self.used |= {atom for atom in wanted if atom in self.case.region.masks}
        return needed[::-1]


class _Writer:
    def __init__(self) -> None:
        self._polynomials: dict[tuple[Any, ...], int] = {}
        self._functions: dict[tuple[int, ...], int] = {}
        self._place: Any = None
        self._sums: dict[Any, Any] = {}
        self.polynomials: list[list[Any]] = []
        self.functions: list[list[int]] = []

    def polynomial(self, polynomial: Polynomial) -> int:
        terms = _terms(self._place.case.ring, polynomial)
        key = tuple(map(tuple, terms))
        if key not in self._polynomials:
            self._polynomials[key] = len(self.polynomials)
            self.polynomials.append(terms)
        return self._polynomials[key]

    def function(self, ratio: Ratio | Polynomial) -> int:
        """A function, with denominators that are > 0 in the case that is being written."""
        num, below = self._over_positive(ratio) if isinstance(ratio, Ratio) else (ratio, [])
        entry = self.polynomial(num), *sorted(map(self.polynomial, below))
        if entry not in self._functions:
            self._functions[entry] = len(self.functions)
            self.functions.append([*entry])
        return self._functions[entry]

    def _over_positive(self, ratio: Ratio) -> tuple[Polynomial, list[Polynomial]]:
        """The numerator over denominators that are > 0, and these."""
        num, below = ratio.num, list[Polynomial]()
        for atom, exponent in ratio.ring.factors(ratio.den)[1]:
            factor, times = self._place.positive(atom)
            num, below = num * times**exponent, below + [factor] * exponent
        return num, below

    def pair(self, ratios: Iterable[Ratio]) -> list[int]:
        return [self.function(ratio) for ratio in ratios]

    def products(self, terms: Iterable[Term]) -> list[list[int]]:
        """Products of a function and polynomials."""
        return [[self.function(value), *map(self.function, factors)] for value, factors in terms]

    def case(
        self,
        case: Case,
        draft: Draft,
        pairs: Container[int],
        difference: Ratio,
        around: Case | None = None,
        signs: bool = False,
    ) -> dict[str, Any]:
        """A case whose sum differs by `difference` from what is claimed; with `signs` it may be positive, too.

        pairs: of variables that have come up before. around: the case that this one is a part of.
        """
        outside, self._place = self._place, _Place(case, self._sums)
        total = self.sum(draft, case)
        rest = self._rest(difference, signs)
        return self._written(outside, around, pairs) | {"sum": total, "rest": rest}

    def _rest(self, difference: Ratio, signs: bool) -> list[list[int]]:
        place = self._place
        terms = place.reasons.zero(difference.num)
        if terms is not None:
            place.wanted += [polynomial for _, factors in terms for polynomial in factors]
            below = Ratio(difference.ring, difference.ring.one, difference.den)
            return self.products((value * below, factors) for value, factors in terms)
        if signs:
            function = self.function(difference)
            numerator, _ = self._over_positive(difference)
            if place.reasons.signed(numerator, strict=False):
                place.wanted.append(numerator)
                return [[function]]
        raise NotWritten(f"nothing elementary says that {difference.key} is 0{' or positive' * signs}")

    def _written(self, outside: Any, around: Case | None, pairs: Container[int]) -> dict[str, Any]:
        """The conditions and facts of the case that is being written; the place around it is the one again."""
        place, known = self._place, {} if around is None else around.region.masks
        new = [pair for pair in range(len(place.case.scopes) // 2) if pair not in pairs]
        place.used |= {
            atom for atom in map(place.case.ring.atom, _variables(place.case, new)) if _may_be_zero(place.case, atom)
        }
        facts = [[fact.sign, self.function(fact.polynomial), *self.products(fact.terms)] for fact in place.needed()]
        where = []
        for atom in sorted(place.used):
            mask = place.case.region.masks[atom]
            if known.get(atom) == mask:
                outside.used.add(atom)
            elif not (mask == POSITIVE and str(place.case.ring.atoms[atom]) in place.case.ring.names):
                polynomial = place.case.ring.atoms[atom]
                polynomial = polynomial * polynomial if mask == NEGATIVE | POSITIVE else oriented(place.case, atom)
                sign = "=" if mask == ZERO else ">=" if mask & ZERO else ">"
                where.append([sign, self.function(polynomial)])
        self._place = outside
        return {"pairs": new, "where": where + facts}

    def sum(self, draft: Draft, case: Case) -> dict[str, Any]:
        if draft.leaf is not None:
            return {
                "verdicts": [
                    [
                        [*(_number(case, token_of_it) for token_of_it in (*accepted, token)), self.function(mass)]
                        for (accepted, token), mass in masses.items()
                    ]
                    for masses in draft.leaf
                ],
                **({"later": [self.later(later, case) for later in draft.later]} if draft.later else {}),
            }
        new = {part.of_class: part for part in draft.new}
        return {
            "parts": [
                *(self.named(token, draft, case) for token, named in case.names.items() if named.row == draft.row),
                *(self.new(number, new.get(number), draft, case) for number in case.rows[draft.row]),
            ]
        }

    def later(self, later: Later, around: Case) -> dict[str, Any]:
        pairs = range(len(around.scopes) // 2)
        return {
            "masses": self.pair(later.masses),
            "value": self.function(later.value),
            "cases": [self.case(case, draft, pairs, draft.value - later.value, around) for case, draft in later.cases],
        }

    def drafted(
        self, row: Sequence[Token], token: Token | None, masses: tuple[Ratio, Ratio], around: Case
    ) -> dict[str, Any]:
        """What is drafted after a context: a named token or, if None, any of a class."""
        number = len(around.scopes) // 2 if token is None else _number(around, token)
        return {
            "node": [*(_number(around, above) for above in row), number],
            "new": token is None,
            "masses": self.pair(masses),
        }

    def named(self, token: Token, draft: Draft, case: Case) -> dict[str, Any]:
        fields = self.drafted(draft.row, token, case.masses(token), case)
        for drafted, chance, after in draft.named:
            if drafted == token:
                fields |= {"chance": [self.function(chance)], "linear": [self.function(chance * after.value)]}
                fields["cases"] = [{"pairs": [], "where": [], "sum": self.sum(after, case), "rest": []}]
        return fields

    def new(self, of_class: int, new: New | None, draft: Draft, around: Case) -> dict[str, Any]:
        fields = self.drafted(draft.row, None, around.rest(of_class), around)
        if new is not None:
            p, q = new.variables
            pairs = range(len(around.scopes) // 2 + 1)
            fields |= {"chance": self.pair(new.weight), "linear": self.pair(new.linear)}
            chance, expected = (a * p + b * q for a, b in (new.weight, new.linear))
            fields["cases"] = [
                self.case(case, after, pairs, chance * after.value - expected, around) for case, after in new.cases
            ] or [self.none(around, draft.row, of_class)]
        return fields

    def none(self, around: Case, row: Sequence[Token], of_class: int) -> dict[str, Any]:
        """The case of a token in a class that has no others than the named ones."""
        case, _ = around.with_name(tuple(row), of_class, 0)
        outside, self._place = self._place, _Place(case, self._sums)
        if not self._place.reasons.impossible():
            raise NotWritten("nothing elementary says that a class has no tokens without a name")
        return self._written(outside, around, range(len(around.scopes) // 2 + 1))


def _variables(case: Case, pairs: Iterable[int]) -> Iterator[Polynomial]:
    for pair in pairs:
        yield from case.ring.variables[2 * pair : 2 * pair + 2]


def _may_be_zero(case: Case, atom: int) -> bool:
    return case.region.allowed(atom) == POSITIVE | ZERO


def _number(case: Case, token: Token) -> int | str:
    """Half the place of its variables: they are those with this number."""
    return case.names[token].first // 2 if token in case.names else "other"


def _terms(ring: Ring, polynomial: Polynomial) -> list[list[Any]]:
    terms = []
    for exponents, value in ring.terms(polynomial).items():
        names = [name for name, exponent in zip(ring.names, exponents, strict=False) for _ in range(int(exponent))]
        terms.append([int(value.p) if value.q == 1 else str(value), *names])
    return terms


def certificate_of(theorem: Theorem, steps: Iterable[Step], about: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate of a theorem that was proved. about: which theorem it is. Raises `NotWritten`."""
    if not isinstance(theorem.scheme, Delayed | WithoutReplacement):
        raise NotWritten("the checker follows delayed trees and those without replacement")
    writer, plain = _Writer(), []
    for step in steps:
        tokens = [*step.context, *([] if step.token is None else [step.token])]
        signs, names, cases = theorem.kind == DOMINATES, list[Any](), []
        for case, draft in step.cases:
            names = [_number(case, token) for token in tokens]
            cases.append(writer.case(case, draft, names, draft.value, signs=signs))
        plain.append({"names": names, "cases": cases})
    tables = {"polynomials": writer.polynomials, "functions": writer.functions}
    return {"format": FORMAT, **about, "kind": theorem.kind, **tables, "steps": plain}
