"""The equations of a certificate as text for Lean 4, where `ring` and `linear_combination` prove them.

Each equation between rational functions is multiplied by their common denominator, so that it is one of polynomials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, TypeAlias

from draftproof.experiments.cli.prove.check_certificate import Checker

#: The version of Mathlib that the text is written for.
MATHLIB = "v4.29.0"

_HEADER = """/-
{title}

Written for Lean 4 with Mathlib {version}, the tag of that name in leanprover-community/mathlib4; it needs one of
November 2024 or later, where `linear_combination` proves inequalities, too. draftproof does not compile it. Every
theorem is an equation of the certificate, times denominators, or a polynomial's sign in a case, times denominators
that are > 0. What each is for stands beside it; how they make up the theorem, in check_certificate.py.
-/
import Mathlib

namespace Draftproof
"""

#: Polynomials to be multiplied, as the checker has them.
_Product: TypeAlias = Sequence[Any]


class _Recorder(Checker):
    """Keeps the first place of every equation and, where it shows a sign, what is known there."""

    def __init__(self) -> None:
        self.statements: dict[str, str] = {}

    def equal(self, known: Any, place: str, left: Any, right: Any) -> None:
        super().equal(known, place, left, right)
        one, other = self._cleared(left, right)
        signs = place.endswith("signs that follow")
        text = _signed(self.sign(known, right), one[0], other, known) if signs else _identity(one, other)
        self.statements.setdefault(text, place)

    def _cleared(self, *sides: Any) -> list[list[_Product]]:
        """The sides times their common denominator, as sums of products of polynomials."""
        found = [[[self.functions[name] for name in factors] for factors in side] for side in sides]
        below = [[Counter(chain(*(dens for _, *dens in factors))) for factors in side] for side in found]
        common = reduce(Counter.__or__, chain(*below), Counter[Any]())
        return [
            [
                [*(num for num, *_ in factors), *(common - den).elements()]
                for factors, den in zip(side, dens, strict=True)
            ]
            for side, dens in zip(found, below, strict=True)
        ]


def lean_of(fields: Mapping[str, Any], title: str) -> str:
    """The different equations of a certificate. title: a line that says what it proves.

    Raises `ValueError` if the certificate is not valid.
    """
    recorder = _Recorder()
    recorder.check(fields)
    blocks = [
        f"-- {place}\ntheorem equation_{number}{statement}\n"
        for number, (statement, place) in enumerate(recorder.statements.items())
    ]
    return "\n".join([_HEADER.format(title=title, version=MATHLIB), *blocks, "end Draftproof\n"])


def _identity(left: Sequence[_Product], right: Sequence[_Product]) -> str:
    return f"{_declared([*left, *right])} :\n    {_sum(left)} = {_sum(right)} := by\n  ring"


def _signed(sign: str, left: _Product, terms: Sequence[_Product], known: Mapping[Any, str]) -> str:
    """The left product is = 0, >= 0 or > 0, as the factors of the terms are."""
    names: dict[Any, str] = {}
    lines, parts = list[str](), list[str]()
    for number, factors in enumerate(terms):
        zero = next((one for one in factors if known.get(one) == "="), None)
        if zero is not None:
            others = list(factors)
            others.remove(zero)
            parts.append(f"{_product(others)} * {names.setdefault(zero, f'h{len(names)}')}")
            continue
        constant = _product([one for one in factors if not _has_variables(one)])
        signed = [one for one in factors if _has_variables(one)]
        strict = all(known[one] == ">" for one in signed)
        hypotheses = [(names.setdefault(one, f"h{len(names)}"), known[one]) for one in signed]
        proofs = [name if strict or relation == ">=" else f"{name}.le" for name, relation in hypotheses]
        proof = reduce(
            lambda one, other: f"{'mul_pos' if strict else 'mul_nonneg'} ({one}) {other}", proofs or ["one_pos"]
        )
        lines.append(f"  have t{number} : 0 {'<' if strict else '≤'} {_product(signed)} := {proof}\n")
        parts.append(f"{constant} * t{number}")
    symbols = {">": "0 <", ">=": "0 ≤", "=": "0 ="}
    given = "".join(f" ({name} : {symbols[known[one]]} ({_text(one)} : ℚ))" for one, name in names.items())
    conclusion = f"{symbols[sign]} {_product(left)}"
    start = f"{_declared([left, *terms])}{given} :\n    {conclusion} := by\n"
    return f"{start}{''.join(lines)}  linear_combination {' + '.join(parts)}"


def _has_variables(polynomial: Any) -> bool:
    return any(monomial for monomial, _ in polynomial)


def _declared(products: Iterable[_Product]) -> str:
    """Its variables, in the order of their numbers."""
    found = {name for factors in products for one in factors for monomial, _ in one for name in monomial}
    names = sorted(found, key=lambda name: (int(name[1:]), name))
    return f" ({' '.join(names)} : ℚ)" if names else ""


def _sum(products: Sequence[_Product]) -> str:
    return " + ".join(_product(factors) for factors in products if all(factors)) or "(0 : ℚ)"


def _product(factors: _Product) -> str:
    return " * ".join(f"({_text(one)} : ℚ)" for one in factors) or "(1 : ℚ)"


def _text(polynomial: Any) -> str:
    terms = sorted(polynomial, key=lambda term: (-len(term[0]), term[0]))
    texts = [
        " * ".join([*([] if abs(value) == 1 and names else [str(abs(value))]), *_powers(names)])
        for names, value in terms
    ]
    text = "".join(f" {'-' if value < 0 else '+'} {each}" for each, (_, value) in zip(texts, terms, strict=True))
    return (
        text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text.removeprefix(" + ") or "0"
    )


def _powers(names: Sequence[str]) -> list[str]:
    return [name if count == 1 else f"{name} ^ {count}" for name, count in Counter(names).items()]
