"""Why something holds in a case, by multiplication: what no solver has to be trusted for.

A sum of products of polynomials that are 0 or >= 0 in a case is >= 0; where such a sum is 0 everywhere, each of its
products is 0, and if one of them were > 0, the case would be impossible. The equations that follow in this way from
inequalities are looked for by linear programs; what they find counts only if it adds up exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations_with_replacement, product
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import to_fmpq
from draftproof.simulator.theorems.algebra.nonnegative import certificate, coefficients, combination
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Polynomial, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.any_vocabulary.cases import Case, divided

#: The largest numbers of factors in the searches, one after the other, and of products in one; of more products only
#: those of no larger degree than a condition.
SEARCHES, PRODUCTS = (1, 1, 2, 2), 1_500
#: The most products that are tried for one sign.
FOR_A_SIGN = 4_000
#: Signs of what is not negative once it has the right sign.
SIGNED = (NEGATIVE, POSITIVE, NEGATIVE | ZERO, ZERO | POSITIVE)


#: A product: a function whose denominator is > 0, and polynomials.
Term: TypeAlias = tuple[Ratio, tuple[Polynomial, ...]]


@dataclass(frozen=True)
class Fact:
    """A polynomial is the sum of `terms`, of which each has a factor that is 0 or only factors >= 0.

    sign: what this says of it, ">" 0 if a term has only factors > 0, "=" 0 if each has a factor that is 0, or ">=" 0.
    """

    polynomial: Polynomial
    terms: tuple[Term, ...]
    sign: str


@dataclass(frozen=True)
class Reduced:
    """`times` multiplied with a polynomial is `rest` plus equations of a case, by number, times their parts."""

    times: tuple[int, ...]
    parts: Mapping[int, Polynomial]
    rest: Polynomial


def reduced(case: Case, polynomial: Polynomial) -> Reduced:
    """Replace the last variable of each equation, where the factors of its slope are not zero."""
    ring, one = case.ring, case.ring.one
    equations = [(ring.atoms[atom], {atom: one}) for atom, mask in case.region if mask == ZERO]
    rest, scale, used, unsolved = polynomial, one, dict[int, Polynomial](), list[tuple[Polynomial, Any]]()
    while equations and not rest.is_zero():
        equation, parts = equations.pop()
        position = case.solvable(equation, partial(_has_strict_factors, case))
        if position is None:
            unsolved.append((equation, parts))
            continue
        rest, factor, quotient = divided(ring, rest, equation, position)
        scale, used = scale * factor, _added(used, factor, parts, quotient)
        others = [(of, *divided(ring, other, equation, position)) for other, of in (*unsolved[::-1], *equations)]
        unsolved = []
        equations = [
            (left, _added(of, factor, parts, -quotient)) for of, left, factor, quotient in others if not left.is_zero()
        ]
    for equation, parts in unsolved:
        if not rest.is_zero() and (rest % equation).is_zero():
            rest, used = ring.zero, _added(used, one, parts, rest / equation)
    for factor in [ring.atoms[atom] for atom in factors(ring, scale)]:
        if all((part % factor).is_zero() for part in (rest, *used.values())):
            rest, scale, used = rest / factor, scale / factor, {atom: part / factor for atom, part in used.items()}
    lead = scale.leading_coefficient()
    used = {atom: part / lead for atom, part in used.items() if not part.is_zero()}
    return Reduced(tuple(factors(ring, scale)), used, rest / lead)


def _added(
    parts: Mapping[int, Polynomial], factor: Polynomial, more: Mapping[int, Polynomial], times: Polynomial
) -> dict[int, Polynomial]:
    total = {atom: part * factor for atom, part in parts.items()}
    for atom, part in more.items():
        total[atom] = total[atom] + part * times if atom in total else part * times
    return total


def factors(ring: Ring, polynomial: Polynomial) -> list[int]:
    """The irreducible factors of a polynomial, by number, as often as they come."""
    return [atom for atom, exponent in ring.factors(polynomial)[1] for _ in range(exponent)]


def is_strict(case: Case, atom: int) -> bool:
    """Whether the conditions of a case say that an atom is not 0, and which sign it has."""
    return case.region.allowed(atom) in (NEGATIVE, POSITIVE)


def _has_strict_factors(case: Case, polynomial: Polynomial) -> bool:
    return all(is_strict(case, atom) for atom in factors(case.ring, polynomial))


def oriented(case: Case, atom: int) -> Polynomial:
    """The atom or minus it, whichever is not negative in a case."""
    polynomial = case.ring.atoms[atom]
    return polynomial if case.region.allowed(atom) & POSITIVE else -polynomial


@dataclass(frozen=True)
class _Product:
    """A product of conditions. rest: of it times `form.times`, all of them > 0."""

    atoms: tuple[int, ...]
    form: Reduced
    rest: Polynomial


@dataclass
class Reasons:
    """What follows in one case. facts: in the order in which they were shown. case: with the equations among them.

    sums: what polynomials were sums of under conditions on their variables, in other cases, too.
    """

    given: Case
    sums: dict[Any, list[tuple[Fraction, tuple[int, ...]]]] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    case: Case = field(init=False)

    def __post_init__(self) -> None:
        self.case = self.given

    def zero(self, polynomial: Polynomial) -> list[Term] | None:
        """Products with a factor that is 0 in the case, which add up to a polynomial; None if none are found.

        None of them where it turns out that there is nothing in the case.
        """
        for most in (0, *SEARCHES):
            if most == 0 or self._search(most):
                if self.facts and self.facts[-1].polynomial.is_zero():
                    return []
                form = reduced(self.case, polynomial)
                if form.rest.is_zero():
                    return self._sum([], [(1, form)], self._product(form.times))
        return None

    def signed(self, polynomial: Polynomial, strict: bool) -> bool:
        """Whether a polynomial is shown to be > 0, without a condition on itself, or, unless `strict`, >= 0."""
        ring = self.case.ring
        itself = ring.atom(polynomial) if strict else None
        weak = {a: m for a, m in self.given.region if m in SIGNED and a != itself}
        strong = {a: m for a, m in weak.items() if m in (NEGATIVE, POSITIVE)}
        ways = [reduced(self.case, polynomial)]
        if ways[0].parts:
            ways.append(Reduced((), {}, polynomial))
        times = [Reduced((a,), {}, ring.atoms[a] * polynomial) for a in self._sharing(polynomial, strong)]
        searches = chain(
            product((self._conditions,), [ways[0], *times] if strict else (), (weak,)),  # the fastest one
            product((self._products_of, self._products_beside), ways, (strong, weak)),
            product((self._products_of,), times, (weak,)),
        )
        for search, form, masks in searches:
            rest = form.rest * self._sign(form)
            terms = search(rest, Region(ring, masks))
            positive = any(all(is_strict(self.given, atom) for atom in atoms) for _, atoms in terms)
            if positive or (not strict and (terms or rest.is_zero())):
                self._note(polynomial, terms, [(1, form)], self._product(form.times))
                return True
        return False

    def _sharing(self, polynomial: Polynomial, atoms: Iterable[int]) -> list[int]:
        """Atoms of a small degree that share a variable with a polynomial, and variables that occur beside its own."""
        ring = self.case.ring
        own = {*self.given.used(polynomial)}
        beside = frozenset[int]().union(
            *(ring.support(atom) for atom, _ in self.given.region if ring.support(atom) & own)
        )
        small = [atom for atom in atoms if ring.support(atom) & own and ring.atoms[atom].total_degree() <= 2]
        single = {ring.atom(ring.variables[at]) for at in beside - own}
        return [*small, *(atom for atom in atoms if atom in single)]

    def _products_of(self, polynomial: Polynomial, region: Region) -> list[tuple[Fraction, tuple[int, ...]]]:
        """Products of conditions on variables of a polynomial that add up to it; none if none are found."""
        ring, own = region.ring, {*self.given.used(polynomial)}
        key = ring, str(polynomial), frozenset(item for item in region if ring.support(item[0]) <= own)
        if key not in self.sums:
            terms = certificate(polynomial, region) or ()
            self.sums[key] = [(term.coefficient, term.atoms) for term in terms] or self._product_of(polynomial, region)
        return self.sums[key]

    def _products_beside(self, polynomial: Polynomial, region: Region) -> list[tuple[Fraction, tuple[int, ...]]]:
        """The same with further variables, those that linear conditions connect with its own."""
        ring, degree = region.ring, int(polynomial.total_degree())
        connected = {*self.given.used(polynomial)}
        linear = [ring.support(atom) for atom, _ in region if ring.atoms[atom].total_degree() == 1]
        connected |= frozenset[int]().union(*(support for support in linear if support & connected))
        atoms = [atom for atom, _ in region if ring.support(atom) <= connected]
        for most in (1, 2):
            products = {
                chosen: value
                for count in range(1, most + 1)
                for chosen in combinations_with_replacement(atoms, count)
                if (value := self._product(chosen)).total_degree() <= degree
            }
            values = _combination(ring, list(products.values()), polynomial) if len(products) <= FOR_A_SIGN else None
            if values is not None:
                return [(value, chosen) for value, chosen in zip(values, products, strict=True) if value]
        return []

    def _conditions(self, polynomial: Polynomial, region: Region) -> list[tuple[Fraction, tuple[int, ...]]]:
        """Conditions, strict ones among them, that add up to a polynomial; none if none are found."""
        ring, degree = region.ring, int(polynomial.total_degree())
        atoms = [atom for atom, _ in region if ring.atoms[atom].total_degree() <= degree]
        strict = np.array([region.allowed(atom) in (NEGATIVE, POSITIVE) for atom in atoms])
        columns = [self._product((atom,)) for atom in atoms]
        values = _combination(ring, columns, polynomial, strict)
        return [(v, (atom,)) for v, atom in zip(values, atoms, strict=True) if v] if values is not None else []

    def _product_of(self, polynomial: Polynomial, region: Region) -> list[tuple[Fraction, tuple[int, ...]]]:
        """A polynomial all of whose factors have signs, as one product if it is not negative."""
        atoms = factors(region.ring, polynomial)
        if polynomial.is_zero() or not all(region.allowed(atom) in SIGNED for atom in atoms):
            return []
        value = polynomial.leading_coefficient() / self._product(atoms).leading_coefficient()
        return [(Fraction(int(value.p), int(value.q)), tuple(atoms))] if value > 0 else []

    def impossible(self) -> bool:
        """Whether it is shown that the case has no point: then the last fact says that 0 > 0."""
        return any(self._search(most) and self.facts[-1].polynomial.is_zero() for most in SEARCHES)

    def _product(self, atoms: Iterable[int]) -> Polynomial:
        result = self.case.ring.one
        for atom in atoms:
            result = result * oriented(self.given, atom)
        return result

    def _sign(self, form: Reduced) -> int:
        negative = sum(self.given.region.allowed(atom) == NEGATIVE for atom in form.times)
        return -1 if negative % 2 else 1

    def _note(
        self,
        polynomial: Polynomial,
        products: Sequence[tuple[Fraction, Sequence[int]]],
        zeros: Iterable[tuple[Fraction | int, Reduced]],
        scale: Polynomial,
    ) -> None:
        """Note what a polynomial is the sum of, and what that says of it."""
        known = self.case.region
        open_products = [atoms for _, atoms in products if all(known.allowed(atom) != ZERO for atom in atoms)]
        strict = any(all(is_strict(self.given, atom) for atom in atoms) for atoms in open_products)
        sign = ">" if strict else ">=" if open_products else "="
        self.facts.append(Fact(polynomial, tuple(self._sum(products, zeros, scale)), sign))

    def _sum(
        self,
        products: Iterable[tuple[Fraction, Sequence[int]]],
        zeros: Iterable[tuple[Fraction | int, Reduced]],
        scale: Polynomial,
    ) -> list[Term]:
        """Products of conditions and multiples of equations, all divided by `scale`, which is > 0."""
        ring, parts, terms = self.case.ring, dict[int, Polynomial](), list[Term]()
        for value, atoms in products:
            coefficient = Ratio.quotient(ring, ring.constant(to_fmpq(value)), scale)
            terms.append((coefficient, tuple(oriented(self.given, atom) for atom in atoms)))
        for number, form in zeros:
            parts = _added(parts, ring.one, form.parts, ring.constant(to_fmpq(number * self._sign(form))))
        for atom, part in parts.items():
            if not part.is_zero():
                terms.append((Ratio.quotient(ring, part, scale), (ring.atoms[atom],)))
        return terms

    def _search(self, most: int) -> bool:
        """Look for products of at most so many conditions that are 0; whether something was found."""
        ring, products = self.case.ring, list[_Product]()
        atoms = [atom for atom, mask in self.given.region if mask in SIGNED]
        zeros = [
            Reduced((), {atom: ring.constant(sign)}, ring.atoms[atom] * sign)
            for atom, mask in self.case.region
            for sign in (1, -1)
            if mask == ZERO and self.case.solvable(ring.atoms[atom], partial(_has_strict_factors, self.case)) is None
        ]
        beside = [zero.rest for zero in zeros]
        chosen = [some for count in range(1, most + 1) for some in combinations_with_replacement(atoms, count)]
        if len(chosen) > PRODUCTS:
            degree = {atom: int(ring.atoms[atom].total_degree()) for atom in atoms}
            chosen = [some for some in chosen if sum(degree[atom] for atom in some) <= max(degree.values())]
        if len(chosen) > PRODUCTS:
            return False
        for some in chosen:
            form = reduced(self.case, self._product(some))
            products.append(_Product(some, form, form.rest * self._sign(form)))
        before = len(self.facts)
        for number in _vanishing(ring, [one.rest for one in products], beside):
            product, others = products[number], [*products[:number], *products[number + 1 :]]
            weak = [atom for atom in product.atoms if not is_strict(self.given, atom)]
            if len(weak) < 2 and all(self.case.region.allowed(atom) != ZERO for atom in weak):
                values = _combination(ring, [*(other.rest for other in others), *beside], -product.rest)
                if values is not None:
                    known = [(v, zero) for v, zero in zip(values[len(others) :], zeros, strict=True) if v]
                    self._vanishes(product, weak, [(v, o) for v, o in zip(values, others, strict=False) if v], known)
                    if not weak:
                        break
        return len(self.facts) > before

    def _vanishes(
        self,
        product: _Product,
        weak: list[int],
        others: Sequence[tuple[Fraction, _Product]],
        known: Sequence[tuple[Fraction, Reduced]],
    ) -> None:
        """Note what follows from that a product and others, times numbers > 0, add up to 0, up to equations.

        known: equations among what adds up.
        """
        ring = self.case.ring
        products = [(value, (*other.form.times, *other.atoms)) for value, other in others]
        zeros = [(-value, other.form) for value, other in others] + [(Fraction(-1), product.form), *known]
        if weak:
            strict = [atom for atom in product.atoms if atom not in weak]
            scale = self._product((*product.form.times, *strict))
            self._note(-oriented(self.given, weak[0]), products, zeros, scale)
            self.case = replace(self.case, region=self.case.region.with_signs(weak[0], ZERO))
        else:
            itself = Fraction(1), (*product.form.times, *product.atoms)
            self._note(ring.zero, [itself, *products], zeros, ring.one)


def _vanishing(ring: Ring, columns: Sequence[Polynomial], beside: Sequence[Polynomial]) -> list[int]:
    """The polynomials that come with a factor > 0 in sums, with factors >= 0, that are 0; in floats, so perhaps.

    beside: others that may come in these sums.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to load

    matrix, _ = coefficients(ring, [*columns, *beside], ring.zero)
    if not matrix.size:
        return []
    count, more = len(columns), len(beside)
    solved = linprog(
        np.r_[np.zeros(count + more), -np.ones(count)],
        A_ub=np.c_[-np.eye(count, count + more), np.eye(count)],
        b_ub=np.zeros(count),
        A_eq=np.c_[matrix, np.zeros_like(matrix[:, :count])],
        b_eq=np.zeros(len(matrix)),
        bounds=[(0, None)] * (count + more) + [(0, 1)] * count,
        method="highs",
    )
    return [number for number, value in enumerate(solved.x[:count]) if value > 0.5] if solved.success else []


def _combination(
    ring: Ring, columns: Sequence[Polynomial], wanted: Polynomial, most: Any = None
) -> list[Fraction] | None:
    """What `combination` finds, where the polynomials add up to `wanted` exactly; None if nothing is found."""
    values = combination(ring, columns, wanted, most)
    if values is None:
        return None
    total = ring.zero
    for value, column in zip(values, columns, strict=True):
        if value:
            total = total + column * ring.constant(to_fmpq(value))
    return values if (total - wanted).is_zero() and min(values, default=Fraction(0)) >= 0 else None
