"""Declared lossy: speculative cascades, which let draft or target decide on a token, as a deferral rule says.

[narasimhan2025faster]. Along the first path the target becomes `t`, by one of four rules with a number `a`:
`opt`: `t = q` where `max q >= max p - a TV(p, q)`, else `p`, with the total variation TV;
`diff`: `t = q` where `max q >= max p - a`, else `p`;
`chow`: `t = q` where `max q >= 1 - a`, else `p`;
`token`: `t(y) = q(y)` where `p(y) >= (1 - a) max p`, 0 for other tokens, plus `p(y)` times the mass that is missing.
Verify as `naive` with `t` in place of `p`; after the last drafted token, where no `q` is known, correct from `p`.

After every drafted prefix the next token has law `t`, and a draft is accepted with probability `sum min(t, q)`: always
where the draft decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_one
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import positive_part
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import sums
from draftproof.verifiers._paths import naive_child_law
from draftproof.verifiers.lossy._rows import ShownNode, at_least, either, largest
from draftproof.verifiers.naive import Naive


@dataclass(frozen=True)
class Cascade:
    """See the module. One of the rules with its number in [0, 1], `opt` with 1/10 if none; or `InvalidInput`."""

    opt: Fraction | None = None
    diff: Fraction | None = None
    chow: Fraction | None = None
    token: Fraction | None = None

    card: ClassVar[Card] = Card(
        name="cascade",
        title="Speculative cascade",
        source=Source("narasimhan2025faster", "deferral rules Chow, Diff and OPT, and the third token-specific one"),
        needs=None,
        single_path=True,
        departs="The rules are taken from descriptions of the paper, which was not at hand.",
        parameters={
            "opt": "cost of deferral in units of TV(p, q)",
            "diff": "or the same in absolute terms",
            "chow": "or 1 less the confidence of the draft that is asked for",
            "token": "or 1 less the share of the likeliest token that tokens need",
        },
    )

    def __post_init__(self) -> None:
        name, a = hold_one(self, Fraction(1, 10))
        if not 0 <= a <= 1:
            raise InvalidInput(f"cascade: {name} = {a} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        return Naive().verify(ShownNode(root, self.surrogate), coin)

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """`t`, shape `(n.., V)`; `p` where `q` is None."""
        name, a = next((name, a) for name in RULES if (a := getattr(self, name)) is not None)
        return p if q is None else RULES[name](a, p, q)

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=lambda p, q, k: naive_child_law(self.surrogate(p, q), q, k))


def _opt(a: Fraction, p: Vector, q: Vector) -> Vector:
    slack = sums(positive_part(p - q)) * a.numerator / a.denominator
    return either(at_least(largest(q) + slack, largest(p)), q, p)


def _diff(a: Fraction, p: Vector, q: Vector) -> Vector:
    return either(at_least((largest(q) - largest(p)) * a.denominator + sums(p) * a.numerator, sums(p) * 0), q, p)


def _chow(a: Fraction, p: Vector, q: Vector) -> Vector:
    return either(at_least(largest(q) * a.denominator, sums(p) * (a.denominator - a.numerator)), q, p)


def _token(a: Fraction, p: Vector, q: Vector) -> Vector:
    by_draft = either(at_least(p * a.denominator, largest(p) * (a.denominator - a.numerator)), q, q * 0)
    return by_draft + p * (sums(q) - sums(by_draft))


#: Makes `t` of the number, `p` and `q`, shape `(n.., V)`.
RULES: Mapping[str, Callable[[Fraction, Vector, Any], Vector]] = MappingProxyType(
    {"opt": _opt, "diff": _diff, "chow": _chow, "token": _token}
)
