"""The equations of a certificate as text for Lean 4, where `ring` proves them.

Each equation between rational functions is multiplied by their common denominator, so that it is one of polynomials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from draftproof.experiments.cli.prove.check_certificate import Checker, key

#: The version of Mathlib that the text is written for.
MATHLIB = "v4.29.0"

_HEADER = """/-
{title}

Written for Lean 4 with Mathlib {version}, the tag of that name in leanprover-community/mathlib4. draftproof does not
compile it. Every theorem is an equation of the certificate, times the denominators, or a polynomial's sign in a case.
What the equations are for stands beside each; how they make up the theorem, in check_certificate.py of draftproof.
-/
import Mathlib

namespace Draftproof
"""


class _Recorder(Checker):
    """Keeps the first place of every equation."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.found: list[tuple[Any, str, Any]] = []

    def claim(self, where: Any, what: str, *sides: Any) -> None:
        if sides not in self.claims:
            self.found.append((where, what, sides))
        super().claim(where, what, *sides)


def lean_of(fields: Mapping[str, Any], title: str) -> str:
    """The different equations of a certificate. title: a line that says what it proves.

    Raises `Rejected` if the certificate is not valid.
    """
    recorder = _Recorder(fields)
    recorder.check()
    statements: dict[str, str] = {}
    for (place, _, known), what, sides in recorder.found:
        left, right = recorder.cleared(sides)
        by_conditions = what.endswith("by conditions")
        statement = _by_conditions(what, left[0], right, known) if by_conditions else _identity(left, right)
        statements.setdefault(statement, f"-- {place}: {what}")
    blocks = [
        f"{comment}\ntheorem equation_{number}{statement}\n"
        for number, (statement, comment) in enumerate(statements.items())
    ]
    trusted = [f"-- by the solver, {fact}\n" for fact in recorder.trusted]
    return "\n".join([_HEADER.format(title=title, version=MATHLIB), *blocks, *trusted, "end Draftproof\n"])


def _identity(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> str:
    return f"{_declared([*left, *right])} :\n    {_sum(left)} = {_sum(right)} := by\n  ring"


def _by_conditions(what: str, left: Sequence[str], terms: Sequence[Sequence[str]], known: Mapping[Any, str]) -> str:
    """The left product is 0, positive or not negative, as factors of the terms are."""
    relation = what.split(maxsplit=1)[0]
    equal = {text for factors in terms for text in factors if known.get(key((text,))) == "="}
    names: dict[str, str] = {}
    parts, facts = [], []
    for factors in terms:
        zero = next((text for text in factors if text in equal), None)
        if zero is not None:
            name = names.setdefault(zero, f"h{len(names)}")
            others = [text for place, text in enumerate(factors) if place != factors.index(zero)]
            parts.append(f"{_product(others)} * {name}")
            facts.append(f"{_product([*others, zero])} = 0 := by rw [{name}, mul_zero]")
        elif signed := [text for text in factors if not re.fullmatch(r"\d+(/\d+)?", text)]:
            strict = all(known[key((text,))] == ">" for text in signed)
            proofs = []
            for text in signed:
                name = names.setdefault(text, f"h{len(names)}")
                proofs.append(name if strict or known[key((text,))] == ">=" else f"{name}.le")
            proof = proofs[0]
            for each in proofs[1:]:
                proof = f"{'mul_pos' if strict else 'mul_nonneg'} ({proof}) {each}"
            facts.append(f"0 {'<' if strict else '≤'} {_product(signed)} := {proof}")
    signs = {">": "<", ">=": "≤"}
    given = [
        f" ({name} : ({text} : ℚ) = 0)" if text in equal else f" ({name} : 0 {signs[known[key((text,))]]} ({text} : ℚ))"
        for text, name in names.items()
    ]
    start = f"{_declared([left, *terms])}{''.join(given)} :\n    "
    if relation == "=":
        return f"{start}{_product(left)} = 0 := by\n  linear_combination {' + '.join(parts)}"
    lines = [f"  have t{number} : {fact}\n" for number, fact in enumerate(facts)]
    used = ", ".join(f"t{number}" for number in range(len(facts)))
    return f"{start}0 {signs[relation]} {_product(left)} := by\n{''.join(lines)}  nlinarith [{used}]"


def _declared(products: Iterable[Iterable[str]]) -> str:
    """Its variables, in the order of their numbers."""
    found = {name for factors in products for text in factors for name in re.findall(r"[pq]\d+", text)}
    names = sorted(found, key=lambda name: (int(name[1:]), name))
    return f" ({' '.join(names)} : ℚ)" if names else ""


def _sum(products: Sequence[Sequence[str]]) -> str:
    return " + ".join(map(_product, products)) or "(0 : ℚ)"


def _product(factors: Sequence[str]) -> str:
    return " * ".join(f"({text})" if place else f"({text} : ℚ)" for place, text in enumerate(factors)) or "(1 : ℚ)"
