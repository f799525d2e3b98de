"""Declared lossy: verification against a truncated target, by its likeliest tokens.

[holtzman2020curious], nucleus (top-p) sampling; [nguyen2025turning], min-p sampling. Along the first path, with one of
`top_p` and `min_p`:
1. The target becomes `t`, which is `p` on the tokens that are kept, normalised: the likeliest ones until they have mass
   `top_p`, or those with at least `min_p` of the probability of the likeliest.
2. Verify as `naive` with `t` in place of `p`, also for the last correction.

After every accepted prefix the next token has law `t`, which differs from `p` by the mass that is left out in total
variation: by at most `1 - top_p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_one
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.vectors import normalised, stacked, sums
from draftproof.verifiers.lossy._rows import ShownNode, at_least, largest
from draftproof.verifiers.naive import Naive

#: The share that the likeliest tokens have unless another one is given.
TOP_P = Fraction(9, 10)


@dataclass(frozen=True)
class Truncation:
    """See the module. top_p, min_p: shares in (0, 1], one of them (else `top_p` is 9/10), or `InvalidInput`."""

    top_p: Fraction | None = None
    min_p: Fraction | None = None

    card: ClassVar[Card] = Card(
        name="truncation",
        title="Verification against a truncated target",
        source=Source("holtzman2020curious", "nucleus sampling, on the target's side only"),
        needs=None,
        single_path=True,
        departs="The papers truncate what is sampled from; here the target alone, whatever the draft was sampled from.",
        parameters={"top_p": "mass of the tokens kept", "min_p": "or the share of the likeliest token that they have"},
    )

    def __post_init__(self) -> None:
        name, share = hold_one(self, TOP_P)
        if not 0 < share <= 1:
            raise InvalidInput(f"truncation: {name} = {share} must lie above 0 and be at most 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        return Naive().verify(ShownNode(root, self.surrogate), coin)

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """`t`, shape `(n.., V)`."""
        return normalised(p * self._kept(p), p)

    def _kept(self, p: Vector) -> Any:
        """Which tokens are kept, shape `(n.., V)`."""
        if self.min_p is not None:
            return at_least(p * self.min_p.denominator, largest(p) * self.min_p.numerator)
        assert self.top_p is not None
        return stacked(partial(_nucleus, self.top_p), p)


def _nucleus(top_p: Fraction, p: Vector) -> Any:
    """All but the tokens that have, with those below them, at most mass `1 - top_p`; of equal ones the last go in."""
    order = p.argsort(stable=True)
    scale, least = top_p.denominator, top_p.denominator - top_p.numerator
    nucleus = p < 0
    nucleus[order] = ~at_least(sums(p) * least, p[order].cumsum(0) * scale)
    return nucleus
