"""Cells as text."""

from __future__ import annotations

import re

from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO

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
