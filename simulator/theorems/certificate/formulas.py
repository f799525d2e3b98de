"""Functions and cells as text and as LaTeX."""

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
_LATEX = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne"}
_TERM = re.compile(r"([+-]?)\s*([^+-]+)")


def relation(mask: int) -> str:
    """`<` and the like for a set of signs."""
    return _RELATIONS[mask]


def condition_text(polynomial: str, mask: int) -> str:
    """`p_0 < q_0` for `p_0 - q_0` and negative: the terms with a minus stand on the right."""
    left: list[str] = []
    right: list[str] = []
    for sign, term in _TERM.findall(polynomial):
        (right if sign == "-" else left).append(term.strip())
    return f"{' + '.join(left) or '0'} {relation(mask)} {' + '.join(right) or '0'}"


def latex(text: str) -> str:
    """Text of this module as LaTeX: `p01_0` is `p(0 | 0, 1)`."""
    text = re.sub(r"\(([^()]*)\)/\(([^()]*)\)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"(?<![\w.])(\d+)/(\d+)", r"\\tfrac{\1}{\2}", text)
    text = re.sub(r"([pq])([\d,]*)_(\d+)", _row_entry, text)
    for plain, command in _LATEX.items():
        text = text.replace(plain, command)
    return re.sub(r"\^(\d+)", r"^{\1}", text).replace("*", r" ")


def _row_entry(match: re.Match[str]) -> str:
    side, context, token = match.groups()
    tokens = context.split(",") if "," in context else list(context)
    return f"{side}({token} \\mid {', '.join(tokens)})" if context else f"{side}({token})"
