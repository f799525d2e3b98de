"""Cells as text, and the functions on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Leaf, leaves
from draftproof.simulator.theorems.proof.balance import SUM, acceptance, efficiency
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof

_RELATIONS = {
    NEGATIVE: "<",
    ZERO: "=",
    POSITIVE: ">",
    NEGATIVE | ZERO: "<=",
    ZERO | POSITIVE: ">=",
    NEGATIVE | POSITIVE: "!=",
}
_TERM = re.compile(r"([+-]?)\s*([^+-]+)")


def condition_text(polynomial: str, mask: int) -> str:
    """`p_0 < q_0` for `p_0 - q_0` and negative: the terms with a minus stand on the right."""
    left: list[str] = []
    right: list[str] = []
    for sign, term in _TERM.findall(polynomial):
        (right if sign == "-" else left).append(term.strip())
    return f"{' + '.join(left) or '0'} {_RELATIONS[mask]} {' + '.join(right) or '0'}"


def conditions(shape: Shape, region: Region) -> Iterator[str]:
    """The conditions that define a region within the domain, as text."""
    for atom, mask in region:
        if shape.domain.masks.get(atom) != mask:
            yield condition_text(str(shape.ring.atoms[atom]), mask)


@dataclass(frozen=True)
class FormulaCell:
    """A function on one cell, which `conditions` define."""

    name: str
    conditions: tuple[str, ...]
    formula: str


def formula_cells(proof: Proof) -> Iterator[FormulaCell]:
    """Block efficiency and acceptance on cells that cover the domain; cells with the same formula are merged."""
    shape, oracle = proof.shape, proof.explorer.oracle
    for part in proof.law:
        if part.gap is not None:  # there the law is not known, or nothing is claimed
            continue
        for name, function in (("block efficiency", efficiency), ("acceptance", acceptance)):
            for region, leaf in leaves(function(shape, part, oracle), part.region):
                if isinstance(leaf, Leaf):  # one value, or none where the function is zero
                    value = leaf.values[SUM].key if leaf.values else "0"
                    yield FormulaCell(name, tuple(conditions(shape, region)), value)
