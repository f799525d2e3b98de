"""Declared lossy: verification against a mixture of target and draft, as `assistant_ensemble_weight` of transformers.

[wang2026diversed], static ensemble, and [fu2025fast], whose target is such a mixture, too. Along the first path, with a
weight `w` of the target and `v = w p + (1 - w) q`:
1. Accept the drafted token `x` with probability `min(1, v(x)/q(x)) = min(1, 1 - w + w p(x)/q(x))` and go on.
2. On rejection stop with a correction from normalised `(v - q)+`, which is normalised `(p - q)+`.
3. After the last drafted token, where no `q` is known, draw the correction from `p`.

After every drafted prefix the next token has law `v`. With the total variation TV of `p` and `q`, that of `p` and `v`
is `(1 - w) TV`, and a draft is accepted with probability `1 - w TV`. `w = 1` is `naive`, `w = 0` returns the draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import capped, positive_part, residual
from draftproof.simulator.vectors import residuals
from draftproof.verifiers.lossy._rows import ByRows


@dataclass(frozen=True)
class Ensemble(ByRows):
    """See the module. w: the weight of the target, a fraction in [0, 1]; anything else raises `InvalidInput`."""

    w: Fraction = Fraction(7, 10)

    card: ClassVar[Card] = Card(
        name="ensemble",
        title="Static ensemble of target and draft",
        source=Source("wang2026diversed", "static ensemble; the option assistant_ensemble_weight of transformers"),
        needs=None,
        single_path=True,
        departs="The option takes weights in (0, 1) only; where p = q it corrects from p, which never happens exactly.",
        parameters={"w": "weight of the target in [0, 1]; 1 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 <= self.w <= 1:
            raise InvalidInput(f"ensemble: w = {self.w} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        strict, scale = self.w.numerator, self.w.denominator  # whole numbers keep exact runs exact
        node = root
        while node.children:
            token = node.children[0]
            p, q = node.target[token], node.draft[token]
            mass = (scale - strict) * q + strict * p
            if not coin.flip(mass / (scale * q) if p < q else capped(p, q)):
                return Verdict(node.context, coin.choose(residual(node.target, node.draft)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Vector]:
        return q - positive_part(q - p) * self.w.numerator / self.w.denominator, residuals(p, q)
