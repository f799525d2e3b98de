"""The ring of a theorem: named variables, polynomials over the rationals, and the atoms whose signs tell cells apart.

An atom is a polynomial with leading coefficient 1, known by a number. A set of signs is a mask: `NEGATIVE`, `ZERO`,
`POSITIVE` and their sums. Polynomials are python-flint's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from draftproof.simulator.errors import InvalidInput

#: A `fmpq_mpoly`.
Polynomial: TypeAlias = Any
#: Values of all variables, in their order.
Point: TypeAlias = tuple[Any, ...]
#: The sign of a constant factor, as a mask, and atoms with their exponents.
Factors: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
#: An atom and the signs that it may have.
Condition: TypeAlias = tuple[int, int]

NEGATIVE, ZERO, POSITIVE = 1, 2, 4
ANY = NEGATIVE | ZERO | POSITIVE


def sign_of(value: Any) -> int:
    """The sign of a number, as a mask with one bit."""
    return POSITIVE if value > 0 else NEGATIVE if value < 0 else ZERO


def mirrored(mask: int) -> int:
    """The signs of `-f` where those of `f` are in `mask`."""
    return (mask & ZERO) | (POSITIVE if mask & NEGATIVE else 0) | (NEGATIVE if mask & POSITIVE else 0)


class Ring:
    """Polynomials in these variables. Raises `InvalidInput` for a name that comes twice.

    Polynomials have no hash, and python-flint 0.9 never frees some kilobytes of each text that it makes of one; so they
    are looked up by their degrees in each variable and compared.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if len(set(names)) < len(names):
            raise InvalidInput(f"two variables have one name among {', '.join(names)}")
        self.names = tuple(names)
        self._context = fmpq_mpoly_ctx.get(self.names or ("nothing",), Ordering.degrevlex)
        self.variables: tuple[Polynomial, ...] = self._context.gens()[: len(self.names)]
        self.zero, self.one = self.constant(0), self.constant(1)
        self.atoms: list[Polynomial] = []
        self._numbers: dict[str, int] = {}
        self._places: dict[tuple[int, ...], list[int]] = {}
        self._names: list[str] = []
        self._supports: dict[int, frozenset[int]] = {}
        self._factors: dict[tuple[int, ...], list[tuple[Polynomial, Factors]]] = {}

    def constant(self, value: Any) -> Polynomial:
        """A whole number or rational as a polynomial."""
        return self._context.constant(value)

    def variable(self, name: str) -> Polynomial:
        """The variable of this name."""
        return self.variables[self.names.index(name)]

    def atom(self, polynomial: Polynomial) -> int:
        """The number of the atom that is this polynomial divided by its leading coefficient."""
        monic = polynomial / polynomial.leading_coefficient()
        known = self._places.setdefault(monic.degrees(), [])
        number = next((number for number in known if self.atoms[number] == monic), None)
        if number is None:
            number = len(self.atoms)
            known.append(number)
            name = str(monic)
            self._numbers[name] = number
            self._names.append(name)
            self.atoms.append(monic)
        return number

    def name(self, atom: int) -> str:
        """What tells an atom apart in any ring of the same variables."""
        return self._names[atom]

    def find_atom(self, name: str) -> int | None:
        """The atom of this name, if it has come up."""
        return self._numbers.get(name)

    def factors(self, polynomial: Polynomial) -> Factors:
        """The sign of the constant factor, as a mask, and the irreducible factors as atoms with their exponents."""
        if polynomial.is_constant():
            return sign_of(polynomial.leading_coefficient() if not polynomial.is_zero() else 0), ()
        known = self._factors.setdefault(polynomial.degrees(), [])
        pair = next((factors for other, factors in known if other == polynomial), None)
        if pair is None:
            pair = self._factored(polynomial)
            known.append((polynomial, pair))
        return pair

    def _factored(self, polynomial: Polynomial) -> Factors:
        constant, parts = polynomial.factor()
        sign = sign_of(constant)
        pairs = []
        for part, exponent in parts:
            if exponent % 2 and part.leading_coefficient() < 0:
                sign = mirrored(sign)
            pairs.append((self.atom(part), int(exponent)))
        return sign, tuple(pairs)

    def sign_at(self, atom: int, point: Point) -> int:
        """The sign of an atom at a point."""
        return sign_of(self.at(self.atoms[atom], point))

    def at(self, polynomial: Polynomial, point: Point) -> Any:
        """The exact value of a polynomial at a point."""
        return polynomial(*point) if point else polynomial(0)

    def support(self, atom: int) -> frozenset[int]:
        """The positions of the variables that occur in an atom."""
        if atom not in self._supports:
            degrees = self.atoms[atom].degrees()[: len(self.names)]
            self._supports[atom] = frozenset(i for i, degree in enumerate(degrees) if degree > 0)
        return self._supports[atom]

    def terms(self, polynomial: Polynomial) -> Mapping[tuple[int, ...], Any]:
        """Coefficients by exponents."""
        terms: Mapping[tuple[int, ...], Any] = polynomial.to_dict()
        return terms


def rational(numerator: int, denominator: int = 1) -> Any:
    """An exact rational."""
    return fmpq(numerator, denominator)
