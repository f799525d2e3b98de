"""Regions and decision trees as plain data (JSON), in which atoms are polynomials as text: what processes exchange and
files keep. A polynomial that comes up often is written once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from draftproof.simulator.theorems.algebra.polynomials import Point, Polynomial, Ring, rational
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, Leaf, Split, Tree

#: Conditions: polynomials with masks.
PlainRegion = list[list[Any]]

_TERM = re.compile(r"\s*([+-]?)\s*([^+\s-]+)")


def plain_point(point: Point) -> list[str]:
    """A point as fractions."""
    return [str(value) for value in point]


def read_number(text: str) -> Any:
    """A fraction; raises `ValueError`."""
    numerator, _, denominator = text.partition("/")
    return rational(int(numerator), int(denominator or 1))


def read_polynomial(text: str, ring: Ring) -> Polynomial:
    """The polynomial that is written so; raises `ValueError` for a name that the ring does not have."""
    total = ring.zero
    for sign, term in _TERM.findall(text):
        product = ring.constant(-1 if sign == "-" else 1)
        for factor in term.split("*"):
            name, _, exponent = factor.partition("^")
            value = ring.variable(name) if name in ring.names else ring.constant(read_number(name))
            product = product * (value ** int(exponent) if exponent else value)
        total = total + product
    return total


def plain_region(region: Region) -> PlainRegion:
    """Its conditions in their order."""
    return [[str(region.ring.atoms[atom]), mask] for atom, mask in region]


def read_region(conditions: PlainRegion, ring: Ring) -> Region:
    """The region of these conditions."""
    return Region(ring, {ring.atom(read_polynomial(text, ring)): int(mask) for text, mask in conditions})


def plain_ratio(ratio: Ratio) -> list[str]:
    """Numerator and denominator."""
    return [str(ratio.num), str(ratio.den)]


def read_ratio(parts: Sequence[str], ring: Ring) -> Ratio:
    """The rational function that is written so."""
    num, den = (read_polynomial(part, ring) for part in parts)
    return Ratio(ring, num, den)


def plain_tree(tree: Tree, ring: Ring) -> dict[str, Any]:
    """A tree whose leaves hold masses of blocks."""
    numbers: dict[str, int] = {}

    def of(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    def written(part: Tree) -> Any:
        if isinstance(part, Split):
            return [of(str(ring.atoms[part.atom])), part.mask, written(part.inside), written(part.outside)]
        if isinstance(part, Gap):
            return part.outside
        values = [
            [list(accepted), token, *map(of, plain_ratio(ratio))] for (accepted, token), ratio in part.values.items()
        ]
        return {"values": values, "point": None if part.point is None else plain_point(part.point)}

    whole = written(tree)
    return {"polynomials": list(numbers), "tree": whole}


def read_tree(data: Mapping[str, Any], ring: Ring) -> Tree:
    """The tree that is written so."""
    polynomials = [read_polynomial(text, ring) for text in data["polynomials"]]

    def read(part: Any) -> Tree:
        if isinstance(part, bool):
            return Gap(part)
        if isinstance(part, list):
            atom, mask = ring.atom(polynomials[part[0]]), int(part[1])
            inside, outside = read(part[2]), read(part[3])
            return Split(atom, mask, inside, outside, (atom, mask, inside.key, outside.key))
        values = {
            (tuple(accepted), token): Ratio(ring, polynomials[num], polynomials[den])
            for accepted, token, num, den in part["values"]
        }
        return Leaf.of(values, None if part["point"] is None else tuple(map(read_number, part["point"])))

    return read(data["tree"])
