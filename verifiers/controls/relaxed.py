"""Negative control: acceptance relaxed towards the draft, as lossy "ensemble" options do.

Along the first path, with a strictness `w` in [0, 1]:
1. Accept the drafted token `x` with probability `min(1, (1 - w) + w p(x)/q(x))` and go on.
2. On rejection stop with a correction from normalised `(p - q)+`.

`w = 1` is `naive`, `w = 0` returns the draft unchanged. In between the output is biased towards `q`
by an amount that `check` reports exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import normalised, one_draft_law, positive_part, residual, token_by_token
from draftproof.verifiers._parameters import hold_fractions


@dataclass(frozen=True)
class Relaxed:
    """See the module. w: the strictness, a fraction in [0, 1]; anything else raises `InvalidInput`."""

    w: Fraction = Fraction(7, 10)

    card: ClassVar[Card] = Card(
        name="relaxed",
        title="Speculative sampling with relaxed acceptance",
        source=Source("leviathan2023fast", "algorithm 1, with one bug"),
        needs=None,
        control=True,
        single_path=True,
        departs="A drafted token is accepted with min(1, (1 - w) + w p/q) instead of min(1, p/q).",
        parameters={"w": "strictness in [0, 1]; 1 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 <= self.w <= 1:
            raise InvalidInput(f"relaxed: w = {self.w} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        strict, scale = self.w.numerator, self.w.denominator  # whole numbers keep exact runs exact
        node = root
        while node.children:
            token = node.children[0]
            p, q = node.target[token], node.draft[token]
            mass = (scale - strict) * q + strict * p
            if not coin.flip(mass / (scale * q) if p < q else 1):
                return Verdict(node.context, coin.choose(residual(node.target, node.draft)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=partial(_child_law, self.w))


def _child_law(w: Fraction, p: Vector, q: Vector, k: int) -> Any:
    """The law of one step, shape `(2, n.., V)`: `[1]` an accepted draft, `[0]` a correction. `k` must be 1."""
    p, q = token_by_token(p), token_by_token(q)
    accepted = q - positive_part(q - p) * w.numerator / w.denominator
    return one_draft_law(q, accepted, normalised(positive_part(p - q), p), k)
