"""Proofs by multiplication that a polynomial is never negative on a region: it is a sum, with coefficients that are not
negative, of products of polynomials that are not negative there. The search is a linear program in floats, after
Handelman; what it finds is rounded to fractions and counts only if the sum is the polynomial exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Polynomial, Ring, rational
from draftproof.simulator.theorems.algebra.regions import Region

#: Largest number of factors in a product, of products in a search, and denominator of a coefficient.
FACTORS, PRODUCTS, DENOMINATOR = 4, 4_000, 64


@dataclass(frozen=True)
class Term:
    """A coefficient times a product of atoms, by number; an atom that is never positive enters with a minus."""

    coefficient: Fraction
    atoms: tuple[int, ...]


#: A sum of terms.
Sum = tuple[Term, ...]


def holds(terms: Sequence[Term], polynomial: Polynomial, region: Region) -> bool:
    """Whether a sum shows that a polynomial is never negative on a region. Only multiplies, adds and compares."""
    total = region.ring.zero
    for term in terms:
        signed = [_signed(region, atom) for atom in term.atoms]
        if term.coefficient < 0 or any(factor is None for factor in signed):
            return False
        product = region.ring.constant(rational(term.coefficient.numerator, term.coefficient.denominator))
        for factor in signed:
            product = product * factor
        total = total + product
    return bool((total - polynomial).is_zero())


def certificate(polynomial: Polynomial, region: Region) -> Sum | None:
    """A sum that `holds`, if one is found."""
    variables = _variables(region, polynomial)
    atoms = [atom for atom, _ in region if region.ring.support(atom) <= variables and _signed(region, atom) is not None]
    for most in range(1, FACTORS + 1):
        products = list(_products(region, atoms, most, int(polynomial.total_degree())))
        if len(products) > PRODUCTS:
            return None
        values = combination(region.ring, [product for _, product in products], polynomial)
        if values is not None:
            terms = tuple(Term(value, chosen) for value, (chosen, _) in zip(values, products, strict=True) if value)
            if holds(terms, polynomial, region):
                return terms
    return None


def _signed(region: Region, atom: int) -> Polynomial | None:
    """The atom or minus it, whichever is never negative on the region."""
    allowed = region.allowed(atom)
    if allowed & ~(POSITIVE | ZERO) == 0:
        return region.ring.atoms[atom]
    return -region.ring.atoms[atom] if allowed & ~(NEGATIVE | ZERO) == 0 else None


def _variables(region: Region, polynomial: Polynomial) -> frozenset[int]:
    degrees = polynomial.degrees()[: len(region.ring.names)]
    return frozenset(position for position, degree in enumerate(degrees) if degree > 0)


def _products(
    region: Region, atoms: Sequence[int], most: int, degree: int
) -> Iterator[tuple[tuple[int, ...], Polynomial]]:
    """Products of at most so many atoms, of no larger degree than the polynomial."""
    yield (), region.ring.one
    for count in range(1, most + 1):
        for chosen in combinations_with_replacement(atoms, count):
            product = region.ring.one
            for atom in chosen:
                product = product * _signed(region, atom)
            if product.total_degree() <= degree:
                yield chosen, product


def combination(
    ring: Ring, columns: Sequence[Polynomial], wanted: Polynomial, most: Any = None
) -> list[Fraction] | None:
    """Numbers >= 0 with the smallest sum by which polynomials add up to another one, rounded: that is to be checked.

    most: of which ones as much as possible is wanted, in place of the smallest sum. None where the linear program has
    no solution.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to load

    matrix, right = coefficients(ring, columns, wanted)
    if not matrix.size:
        return [Fraction(0)] * len(columns)
    least, bounds = np.ones(len(columns)), None
    if most is not None:
        least, bounds = -most.astype(float), [(0, DENOMINATOR if wanted_most else None) for wanted_most in most]
    solved = linprog(least, A_eq=matrix, b_eq=right, bounds=bounds or (0, None), method="highs")
    return [Fraction(value).limit_denominator(DENOMINATOR) for value in solved.x.tolist()] if solved.success else None


def coefficients(ring: Ring, columns: Sequence[Polynomial], wanted: Polynomial) -> tuple[Any, Any]:
    """The coefficients of polynomials in floats, a column each and a row for each monomial, and those of one more."""
    terms = [ring.terms(column) for column in (*columns, wanted)]
    rows = {monomial: row for row, monomial in enumerate(dict.fromkeys(m for polynomial in terms for m in polynomial))}
    matrix = np.zeros((len(rows), len(terms)))
    for number, polynomial in enumerate(terms):
        for monomial, value in polynomial.items():
            matrix[rows[monomial], number] = int(value.p) / int(value.q)
    return matrix[:, :-1], matrix[:, -1]
