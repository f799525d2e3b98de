"""Questions to the solver about products: the signs of the factors say the same as the polynomial."""

from __future__ import annotations

import pytest

from simulator.theorems.oracle import Empty, Oracle
from simulator.theorems.polynomials import ANY, NEGATIVE, POSITIVE, ZERO, Ring, rational
from simulator.theorems.regions import Region


def products():
    ring = Ring(["x", "y"])
    x, y = ring.variables
    return [(ring, each) for each in (x**2 * y, x**2, x * y, x**2 * (y - 1) ** 2, x**3 * y)]


@pytest.mark.parametrize("mask", range(1, ANY))
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("place", [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)], ids=str)
def test_a_condition_on_a_product_is_that_on_its_sign(number, mask, place):
    ring, product = products()[number]
    atom, point = ring.atom(product), tuple(map(rational, place))
    here = Region(ring, {ring.atom(v - value): ZERO for v, value in zip(ring.variables, point, strict=True)})
    found = Oracle(ring)._solve(frozenset(here.with_signs(atom, mask)))
    assert (found is not Empty.YES) == bool(ring.sign_at(atom, point) & mask)
    assert found is not Empty.UNKNOWN


def test_a_square_hides_no_zero():
    ring, product = products()[0]
    atom = ring.atom(product)
    positive = Region(ring, {ring.atom(v): POSITIVE for v in ring.variables})
    assert Oracle(ring).is_empty(positive.with_signs(atom, ZERO | NEGATIVE), atom)
    below = Region(ring, {ring.atom(ring.variables[1]): NEGATIVE})
    assert not Oracle(ring).is_empty(below.with_signs(atom, ZERO), atom)
