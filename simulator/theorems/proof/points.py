"""Points of a shape: simple ones to try first, random ones to compare with, and simpler ones that keep a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from random import Random
from typing import Any

from draftproof.simulator.theorems.algebra.polynomials import Point, rational
from draftproof.simulator.theorems.proof.rows import Shape

#: Denominators of the points that are tried, the simplest first.
DENOMINATORS = (2, 3, 4, 5, 7, 10, 30)
#: Denominators of the points that the search for cells begins with, and how many points of each.
STARTING, EACH = (97, 30, 11), 16
#: Largest denominator that simpler rows are looked for with.
SIMPLE = 6


def random_point(shape: Shape, random: Random, denominator: int) -> Point:
    """A point whose probabilities are multiples of one over `denominator`, or over a larger vocabulary's size."""
    values: list[Any] = []
    least, denominator = (0 if shape.zeros else 1), max(denominator, shape.vocab_size)
    for _ in shape.start:
        spare = denominator - least * shape.vocab_size
        cuts = sorted(random.randint(0, spare) for _ in range(shape.vocab_size - 1))
        parts = [high - low + least for low, high in pairwise([0, *cuts, spare])]
        values += [rational(part, denominator) for part in parts[:-1]]
    values += [rational(random.randint(0, denominator), denominator) for _ in shape.parameters]
    return tuple(values)


def trial_points(shape: Shape, random: Random, count: int) -> Iterator[Point]:
    """The first points at which a verifier is checked: some of every denominator, ties among them."""
    for denominator in DENOMINATORS:
        for _ in range(count):
            yield random_point(shape, random, denominator)
    yield shape.point


def starting_points(shape: Shape) -> list[Point]:
    """Points with which the search for cells begins, the same ones for every draft tree."""
    random = Random(11)
    return [random_point(shape, random, denominator) for denominator in STARTING for _ in range(EACH)]


def simplest(shape: Shape, point: Point, fails: Callable[[Point], bool]) -> Point:
    """A point with simpler rows at which `fails` still holds; rows are simplified one after the other."""
    width = shape.vocab_size - 1
    for first in shape.start.values():
        for row in _simple_rows(shape):
            if row == point[first : first + width]:
                break
            candidate = (*point[:first], *row, *point[first + width :])
            if fails(candidate):
                point = candidate
                break
    return point


def _simple_rows(shape: Shape) -> Iterator[tuple[Any, ...]]:
    """Rows without their last probability, by denominator."""
    least, size = (0 if shape.zeros else 1), shape.vocab_size
    for denominator in range(1, SIMPLE + 1):
        slots = denominator - least * size + size - 1
        if slots < size - 1:
            continue
        for cuts in combinations(range(slots), size - 1):
            parts = [high - low - 1 + least for low, high in pairwise([-1, *cuts, slots])]
            yield tuple(rational(part, denominator) for part in parts[:-1])
