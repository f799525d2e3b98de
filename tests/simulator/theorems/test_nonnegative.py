"""Nonnegativity by multiplication: what is found holds, what is forged does not, and a polynomial below 0 has none."""

from dataclasses import replace
from fractions import Fraction

from draftproof.simulator.theorems.algebra.nonnegative import Term, certificate, holds
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Ring
from draftproof.simulator.theorems.algebra.regions import Region


def unit_square():
    ring = Ring(["x", "y"])
    signs = {}
    for variable in ring.variables:
        signs[ring.atom(variable)] = POSITIVE
        signs[ring.atom(variable - 1)] = NEGATIVE | ZERO
    return ring, Region(ring, signs)


def test_a_polynomial_that_is_never_negative_has_a_certificate_that_holds():
    ring, region = unit_square()
    x, y = ring.variables
    for polynomial in (x + y, 1 - x * y, x * (1 - y) + 3 * y, 2 - x - y):
        terms = certificate(polynomial, region)
        assert terms is not None
        assert holds(terms, polynomial, region)
        assert not holds(terms, polynomial + 1, region)


def test_a_polynomial_that_is_somewhere_negative_has_none():
    ring, region = unit_square()
    x, y = ring.variables
    for polynomial in (x - y, x * y - ring.one / 2, -x):
        assert certificate(polynomial, region) is None


def test_forged_certificates_are_rejected():
    ring, region = unit_square()
    x, y = ring.variables
    polynomial = 1 - x * y
    terms = certificate(polynomial, region)
    first = replace(terms[0], coefficient=terms[0].coefficient + Fraction(1, 10**9))
    assert not holds((first, *terms[1:]), polynomial, region)
    assert not holds(terms[1:], polynomial, region)
    assert holds((Term(Fraction(1), (ring.atom(x),)),), x, region)
    assert not holds((Term(Fraction(-1), (ring.atom(x),)),), -x, region)  # a coefficient below 0
    loose = ring.atom(x - y)
    assert not holds((Term(Fraction(1), (loose,)),), x - y, region)  # an atom of unknown sign
    assert holds((Term(Fraction(1), (loose,)),), x - y, region.with_signs(loose, POSITIVE))
