"""Regions: the signs that atoms may have, and what is asked about the sign of a product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.theorems.algebra.polynomials import (
    ANY,
    NEGATIVE,
    POSITIVE,
    ZERO,
    Point,
    Polynomial,
    Ring,
    mirrored,
)


@dataclass(frozen=True)
class Question:
    """Whether the sign of an atom is in a mask, where what is known leaves both possible."""

    atom: int
    mask: int


class Region:
    """The points at which every atom has one of the signs that its mask allows. Never changed once made."""

    __slots__ = ("masks", "ring")

    def __init__(self, ring: Ring, masks: Mapping[int, int]) -> None:
        self.ring, self.masks = ring, masks

    def with_signs(self, atom: int, mask: int) -> Region:
        """The part where this atom has one of these signs."""
        return Region(self.ring, {**self.masks, atom: self.masks.get(atom, ANY) & mask})

    def without_signs(self, atom: int, mask: int) -> Region:
        """The part where it has none of them."""
        return self.with_signs(atom, ANY & ~mask)

    def allowed(self, atom: int) -> int:
        """The signs that are left to an atom."""
        return self.masks.get(atom, ANY)

    def allowed_by_name(self, name: str) -> int:
        """The same for an atom by its name."""
        atom = self.ring.find_atom(name)
        return ANY if atom is None else self.masks.get(atom, ANY)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.masks.items())

    def __contains__(self, point: Point) -> bool:
        return all(self.ring.sign_at(atom, point) & mask for atom, mask in self.masks.items())

    def ask(self, factors: Sequence[Polynomial], mask: int) -> bool | Question:
        """Whether the sign of a product is in `mask`: the answer, or the question that decides it."""
        sign, rest = POSITIVE, []
        for polynomial in factors:
            constant, parts = self.ring.factors(polynomial)
            sign = ZERO if ZERO in (sign, constant) else mirrored(sign) if constant == NEGATIVE else sign
            for atom, exponent in parts:
                allowed = self.allowed(atom)
                if allowed == ZERO:
                    sign = ZERO
                elif allowed == NEGATIVE and exponent % 2:
                    sign = mirrored(sign)
                elif allowed not in (NEGATIVE, POSITIVE):
                    rest.append((atom, exponent))
        if sign == ZERO or not rest:
            return bool(sign & mask)
        wanted = mask if sign == POSITIVE else mirrored(mask)
        return self._question(rest, wanted)

    def _question(self, rest: list[tuple[int, int]], wanted: int) -> bool | Question:
        """The same for atoms whose signs are open."""
        exponents: dict[int, int] = {}
        for atom, exponent in rest:
            exponents[atom] = exponents.get(atom, 0) + exponent
        if len(exponents) == 1 and rest[0][1] % 2 == 0 and sum(exponents.values()) % 2 == 0:
            atom = rest[0][0]
            wanted = (wanted & ZERO) | ((NEGATIVE | POSITIVE) if wanted & POSITIVE else 0)
        elif len(exponents) == 1 and sum(exponents.values()) % 2:
            atom = rest[0][0]
        else:
            product: Any = self.ring.one
            for number, exponent in exponents.items():
                product = product * self.ring.atoms[number] ** (1 if exponent % 2 else 2)
            atom = self.ring.atom(product)
        allowed = self.allowed(atom)
        if allowed & wanted == allowed:
            return True
        return Question(atom, wanted) if allowed & wanted else False


def vanishes(polynomial: Polynomial, region: Region) -> bool:
    """Whether a polynomial is seen to be zero on a region: by factors that are zero there, or after substitution."""
    ring = region.ring
    zeros = [ring.atoms[atom] for atom, mask in region if mask == ZERO]
    while True:
        if polynomial.is_zero() or _has_factor(ring, polynomial, zeros):
            return True
        solved = next((pair for zero in zeros if (pair := _solved(ring, zero)) is not None), None)
        if solved is None:
            return False
        values = list(ring.variables)
        values[solved[0]] = solved[1]
        polynomial = polynomial.compose(*values)
        zeros = [zero for zero in (zero.compose(*values) for zero in zeros) if not zero.is_zero()]


def _has_factor(ring: Ring, polynomial: Polynomial, zeros: Sequence[Polynomial]) -> bool:
    """Whether one of `zeros` divides a polynomial."""
    return any(not zero.is_constant() and (polynomial % zero).is_zero() for zero in zeros)


def _solved(ring: Ring, zero: Polynomial) -> tuple[int, Polynomial] | None:
    """A variable, by position, and what it equals where `zero` is zero, as a polynomial in the others."""
    for position, variable in enumerate(ring.variables):
        slope = zero.derivative(position)
        if slope.is_constant() and not slope.is_zero():
            return position, variable - zero / slope.leading_coefficient()
    return None
