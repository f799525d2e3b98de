"""Declared lossy: fuzzy speculative decoding, which accepts whatever is drafted where target and draft are close.

[holsman2025fuzzy]. Along the first path, with a threshold `t` in nats:
1. Where the Jensen-Shannon divergence of `p` and `q` is at most `t`, accept the drafted token and go on.
2. Elsewhere stop with a correction from `p`.
3. After the last drafted token draw the correction from `p`.

After every drafted prefix the next token has law `q` or `p`, and a divergence of at most `t` from `p`. In step 2 drafts
are lost: with the test of `naive` there the law is the same and more is accepted, see `toward`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Source, Vector
from draftproof.verifiers.lossy._rows import ByRows, as_floats, either, relative_entropy


@dataclass(frozen=True)
class Fuzzy(ByRows):
    """See the module. t: a threshold of at least 0; anything else raises `InvalidInput`."""

    t: Fraction = Fraction(1, 20)

    card: ClassVar[Card] = Card(
        name="fuzzy",
        title="Fuzzy speculative decoding",
        source=Source("holsman2025fuzzy", "acceptance by divergence"),
        needs=None,
        single_path=True,
        departs="One of the divergences of the paper, which was not at hand in full, in float64 also in exact runs: it "
        "only decides. What is rejected is replaced by a draw from p.",
        parameters={"t": "largest Jensen-Shannon divergence, in nats, at which drafts are accepted"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not self.t >= 0:
            raise InvalidInput(f"fuzzy: t = {self.t} must be at least 0")

    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Any]:
        close = divergence(as_floats(p), as_floats(q)) <= float(self.t)
        return either(close, q, q * 0), p


def divergence(p: Vector, q: Vector) -> Vector:
    """The Jensen-Shannon divergence of float64 rows as a column, in nats."""
    middle = (p + q) / 2
    return (relative_entropy(p, middle) + relative_entropy(q, middle)) / 2
