"""Declared lossy: lenience, which compares the target with a fraction of the draft's probability.

[leviathan2023fast], appendix on lenience. Along the first path, with a lenience `l` in (0, 1]:
1. Accept the drafted token `x` with probability `min(1, p(x) / (l q(x)))` and go on.
2. On rejection stop with a correction from normalised `(p - q)+`.
3. After the last drafted token draw the correction from `p`.

A draft is accepted with probability `sum min(p/l, q)`, and no token has more than `1/l` times its probability under
`p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Source, Vector
from draftproof.simulator.vectors import minimum, residuals
from draftproof.verifiers.lossy._rows import ByRows


@dataclass(frozen=True)
class Lenience(ByRows):
    """See the module. l: the lenience, a fraction in (0, 1]; anything else raises `InvalidInput`."""

    l: Fraction = Fraction(1, 2)  # noqa: E741 (the letter of the paper)

    card: ClassVar[Card] = Card(
        name="lenience",
        title="Speculative sampling with lenience",
        source=Source("leviathan2023fast", "appendix A.5, lenience"),
        needs=None,
        single_path=True,
        departs="The appendix changes the comparison and names no other correction: it is that of algorithm 1.",
        parameters={"l": "lenience in (0, 1]; 1 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 < self.l <= 1:
            raise InvalidInput(f"lenience: l = {self.l} must lie above 0 and be at most 1")

    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Any]:
        return minimum(p * self.l.denominator / self.l.numerator, q), residuals(p, q)
