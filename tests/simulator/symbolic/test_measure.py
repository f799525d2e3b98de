"""Probabilities of polyhedra against known volumes, and against numeric integrals where they are transcendental."""

import math

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.symbolic.decide import measure as measured
from draftproof.simulator.symbolic.decide.measure import measure
from draftproof.simulator.symbolic.numbers.exact import log

ZERO, ONE = fmpq(0), fmpq(1)


def cube(n):
    return ((ZERO, ONE),) * n


def rays(n):
    return ((ZERO, None),) * n


def row(*numbers):
    return tuple(fmpq(x) for x in numbers)


def ordered(n):
    return tuple((row(*[(i == j) - (i + 1 == j) for j in range(n)]), ZERO) for i in range(n - 1))


def sum_below(n, t):
    return ((row(*[1] * n), -t),)


#: Constraints on so many uniforms, and the volume of what is left of the cube: by symmetry, and by Irwin and Hall.
VOLUMES = [
    *((n, ties, fmpq(1, math.factorial(n))) for n in range(1, 6) for ties in (ordered(n), sum_below(n, ONE))),
    (3, sum_below(3, fmpq(3, 2)), fmpq(1, 2)),
    (3, sum_below(3, fmpq(2)), fmpq(5, 6)),
]


@pytest.mark.parametrize(("n", "ties", "volume"), VOLUMES)
def test_volumes_that_are_known(n, ties, volume):
    assert measure(0, cube(n), ties) == volume


def test_first_of_exponentials_has_its_share_of_the_rates():
    wins = tuple((row(*[{0: w, j: -5}.get(i, 0) for i in range(4)]), ZERO) for j, w in ((1, 2), (2, 3), (3, 1)))
    # e_0 / 5 is the smallest of e_0 / 5, e_1 / 2, e_2 / 3, e_3 / 1
    assert measure(1, rays(4), wins) == fmpq(5, 11)


def test_product_of_two_uniforms_below_a_threshold():
    t = fmpq(1, 4)
    found = measure(1, rays(2), ((row(-1, -1), -log(t)),))
    assert float(found) == pytest.approx(0.25 * (1 - math.log(0.25)), rel=1e-15)  # one rounding of a float


def test_difference_of_exponentials_within_bounds():
    found = measure(1, ((ZERO, fmpq(2)), (fmpq(1, 2), None)), ((row(1, -2), fmpq(1, 3)),))
    exact, _ = integrate.dblquad(
        lambda y, x: math.exp(-x - y), 0, 2, lambda x: max(0.5, (x + 1 / 3) / 2), lambda x: 60, epsabs=1e-12
    )
    assert float(found) == pytest.approx(exact, abs=1e-9)  # accuracy of the quadrature


@st.composite
def sets(draw):
    level = draw(st.integers(0, 1))
    n = draw(st.integers(1, 3))
    number = st.integers(-3, 3)
    rows = draw(st.lists(st.tuples(st.lists(number, min_size=n, max_size=n), number), max_size=3))
    ties = tuple((row(*a), fmpq(b, 2) if level == 0 else ZERO) for a, b in rows if any(a))
    extra = draw(st.lists(number, min_size=n, max_size=n).filter(any))
    return level, n, ties, (row(*extra), ZERO)


@given(sets())
def test_a_set_and_its_cut_add_up_exactly(problem):
    level, n, ties, (a, b) = problem
    bounds = cube(n) if level == 0 else rays(n)
    below = measure(level, bounds, (*ties, (a, b)))
    above = measure(level, bounds, (*ties, (tuple(-x for x in a), -b)))
    assert below + above == measure(level, bounds, ties)
    assert below >= 0
    assert above >= 0


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(measured, "MAX_CELLS", 10)
    measure.cache_clear()
    ties = tuple((row(*[(i == a) - (i == b) * 2 for i in range(5)]), ZERO) for a in range(5) for b in range(a))
    with pytest.raises(TooLarge, match="more than 10 cells"):
        measure(1, rays(5), ties)
