"""Declared lossy: mentored decoding, which accepts as many drafts of one step as a divergence from the target allows.

[tranthien2023optimal]. Along the first path, with a bound `d` in nats on the divergence `sum p log(p/v)` of the law `v`
of the next token:
1. Accept the drafted token `x` with probability `min(1, p(x) / (a q(x)))` and go on.
2. On rejection stop with a correction from normalised `(p/b - q)+`.
3. After the last drafted token draw the correction from `p`.

So `v` is `p/a` where `p/q < a`, `p/b` where `p/q > b` and `q` between, with `a <= 1 <= b` such that it sums to 1. `a`
is the smallest for which the divergence is at most `d`; where that of `q` is, all is accepted. No law `v` with such a
divergence that is 0 wherever `p` is has a larger `sum min(v, q)`, the probability that a draft is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Source, Vector
from draftproof.simulator.residual import positive_part, residual
from draftproof.simulator.vectors import layers, minimum, stacked_layers
from draftproof.verifiers._programs import memoised
from draftproof.verifiers.lossy._rows import ROUNDING, ByRows, as_floats, relative_entropy

#: `a` is a multiple of `2^-BITS`, found by as many halvings.
BITS = 32


@dataclass(frozen=True)
class Mentored(ByRows):
    """See the module. d: a bound of at least 0; anything else raises `InvalidInput`."""

    d: Fraction = Fraction(1, 10)

    card: ClassVar[Card] = Card(
        name="mentored",
        title="Mentored decoding",
        source=Source("tranthien2023optimal", "mentored decoding"),
        needs=None,
        single_path=True,
        departs="The divergence is computed in float64 also in exact runs, to find a fraction a with 32 bits; laws are "
        "exact for this a.",
        parameters={"d": "largest divergence of a token, in nats; 0 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not self.d >= 0:
            raise InvalidInput(f"mentored: d = {self.d} must be at least 0")

    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Any]:
        accepted, correction = stacked_layers(lambda p, q: one_step(p, q, self.d), p, q)
        return accepted, correction


@memoised
def one_step(p: Vector, q: Vector, d: Fraction) -> Vector:
    """Steps 1 and 2 for rows of shape `(V,)`: the accepted masses and the law of the correction."""
    a = smallest_a(as_floats(p), as_floats(q), float(d))
    if a == 0:
        return layers([q, p])
    accepted = minimum(p * 2**BITS / a, q)
    return layers([accepted, residual(p / upper(accepted, p, q), q)])


def upper(accepted: Vector, p: Vector, q: Vector) -> Any:
    """`b`: the corrections `(p/b - q)+` have the mass that is not accepted; 1 where that is zero.

    It is the largest `p(S) / (q(S) + 1 - sum accepted)` over sets `S` of tokens; those with `p > b q` attain it.
    """
    rest, b = (q - accepted).sum(), q.sum()
    while rest > 0:
        above = p > b * q
        higher = (p * above).sum() / ((q * above).sum() + rest)
        if not higher > b:
            break
        b = higher
    return b


def smallest_a(p: Vector, q: Vector, d: float) -> int:
    """The numerator of `a` over `2^BITS`, 0 where everything is accepted; float64 rows."""

    def allowed(v: Vector) -> bool:
        return not ((v <= 0) & (p > 0)).any() and bool((relative_entropy(p, v) <= d - ROUNDING).all())

    if allowed(q) or bool((p == q).all()):
        return 0
    low, high = 0, 1 << BITS
    while high - low > 1:
        middle = (low + high) // 2
        accepted = minimum(p * (2**BITS / middle), q)
        v = accepted + positive_part(p / upper(accepted, p, q) - q)
        enough = bool((q - accepted).sum() > 0) and allowed(v)  # where all is accepted the law is q, not allowed
        low, high = (low, middle) if enough else (middle, high)
    return high
