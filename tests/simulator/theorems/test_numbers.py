"""Followed numbers: exact, decided by the sample, noted, and refused where nothing can be followed."""

import linecache
from contextlib import suppress

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import residual, vectors
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, Ring
from draftproof.simulator.theorems.algebra.regions import Region, vanishes
from draftproof.simulator.theorems.proof import numbers as numbers_module
from draftproof.simulator.theorems.proof.numbers import Run
from draftproof.simulator.theorems.proof.watch import NotFollowed

HALF, THIRD = fmpq(1, 2), fmpq(1, 3)


@pytest.fixture
def run() -> Run:
    ring = Ring(["x", "y"])
    masks = {ring.atom(variable): POSITIVE for variable in ring.variables}
    return Run(Region(ring, masks), (HALF, THIRD))


def numbers(run):
    return run.variable(0), run.variable(1)


def test_quotients_are_in_lowest_terms_and_keep_their_value(run):
    x, y = numbers(run)
    quotient = (x * x - y * y) / (x - y)
    assert quotient.as_ratio.key == "x + y"
    assert quotient.at_sample == fmpq(5, 6)
    assert ((x / y) * (y / x)).as_ratio.constant == 1
    assert (1 / x + 1 / y).as_ratio.key == "(x + y)/(x*y)"
    assert (x / (x + y) - x / (x + y) ** 2).as_ratio.key == "(x^2 + x*y - x)/(x^2 + 2*x*y + y^2)"


def test_division_by_what_may_vanish_is_noted(run):
    x, y = numbers(run)
    _ = 1 / (x - y)
    assert run.region.allowed(run.decisions[-1][1].atom) == POSITIVE
    with pytest.raises(ZeroDivisionError):
        _ = 1 / (x - x)


@pytest.mark.parametrize("use", [lambda x, y: x + y, lambda x, y: x == y, lambda x, y: x < y])
def test_numbers_of_two_runs_do_not_mix(run, use):
    with pytest.raises(NotFollowed, match="state"):
        use(run.variable(0), Run(run.region, run.point).variable(0))


def test_a_number_is_of_no_use_after_its_run(run):
    with run.following():
        x, y = numbers(run)
        assert y < x
    with pytest.raises(NotFollowed, match="state"):
        _ = x < y


def test_what_was_refused_is_refused_even_if_the_refusal_is_caught(run):
    def caught():
        with run.following(), suppress(Exception):
            float(run.variable(0))

    with pytest.raises(NotFollowed, match="a float was made"):
        caught()


def test_vectors_of_numbers_do_what_vectors_of_rationals_do(run):
    x, y = numbers(run)
    p, q = np.array([x, y, 1 - x - y], dtype=object), np.array([y, y, 1 - 2 * y], dtype=object)
    plain_p, plain_q = (np.array([entry.at_sample for entry in row], dtype=object) for row in (p, q))
    for function in (
        residual.positive_part,
        vectors.sums,
        lambda a: residual.residual(a, q if a is p else plain_q),
        lambda a: vectors.minimum(a, q if a is p else plain_q),
        lambda a: vectors.without(a, 0),
        lambda a: vectors.mass_below(a, q if a is p else plain_q),
        lambda a: vectors.normalised(a * 2, a),
        lambda a: vectors.one_hot(a, 1),
        lambda a: np.array(vectors.counted(a, 2)),
    ):
        followed, plain = function(p), function(plain_p)
        assert [getattr(entry, "at_sample", entry) for entry in followed.ravel()] == list(plain.ravel())
    assert vectors.ascending_ratio(p, q) == vectors.ascending_ratio(plain_p, plain_q)
    assert vectors.top_tokens(p, 2) == vectors.top_tokens(plain_p, 2)


def test_a_polynomial_is_seen_to_vanish_where_ties_say_so():
    ring = Ring(["a", "b", "c", "d"])
    a, b, c, d = ring.variables
    region = Region(ring, {ring.atom(a - b): ZERO, ring.atom(c * d - a): ZERO})
    assert vanishes(b - c * d, region)
    assert vanishes((a - b) * (c + 1), region)
    assert not vanishes(a - c, region)
    assert not vanishes(a - b, Region(ring, {ring.atom(a - b): ZERO | NEGATIVE}))


def _caller(file, function):
    """A function whose code is in this file, and which calls this function in line 2."""
    source = "def call():\n    return function()\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope = {"function": function}
    exec(compile(source, file, "exec"), scope)
    return scope["call"]


@pytest.mark.parametrize("home", ["/theorems/", "/lib/site-packages/draftproof/"])
@pytest.mark.parametrize("place", ["verifiers/mine.py", "simulator/theorems_of_mine.py"])
def test_only_the_folder_of_theorems_is_passed_over(monkeypatch, home, place):
    monkeypatch.setattr(numbers_module, "HOME", home)
    monkeypatch.setattr(numbers_module, "_THEOREMS", f"{home}simulator/theorems/")
    monkeypatch.setattr(numbers_module, "is_trusted", lambda file: True)
    inner = _caller(f"{home}simulator/theorems/proof/inner.py", numbers_module.line_of_code)
    run = _caller(f"{home}simulator/laws/enumeration.py", _caller(home + place, inner))
    assert run() == f"{place.rpartition('/')[2]} line 2 (return function())"
