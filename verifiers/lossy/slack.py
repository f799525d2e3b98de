"""Declared lossy: acceptance with an additive slack, and what lies between it and the lossless rule.

[zhang2027secure], `lossy_sd` and the interpolation of its defence. Along the first path, with `a = min(1, p/q)`:
1. Accept the drafted token with probability `a + eta (min(1, p/q + eps) - a)` and go on.
2. On rejection stop with a correction: from `p` with probability `target`, else from normalised `(p - q)+`.
3. After the last drafted token, where no `q` is known, draw the correction from `p`.

The rule itself has `eta = 1` and `target = 0`. Its defence mixes a rule and the lossless one by `eta`: for a rule that
corrects from the target `target = eta`. That law is no mixture of the two laws, since each correction is drawn with the
rejections of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.vectors import minimum, residuals
from draftproof.verifiers.lossy._rows import ByRows
from draftproof.verifiers.lossy.budgeted import capped


@dataclass(frozen=True)
class Slack(ByRows):
    """See the module. eps at least 0; eta and target in [0, 1]; anything else raises `InvalidInput`."""

    eps: Fraction = Fraction(1, 5)
    eta: Fraction = Fraction(1)
    target: Fraction = Fraction(0)

    card: ClassVar[Card] = Card(
        name="slack",
        title="Additive slack",
        source=Source("zhang2027secure", "lossy_sd, and the interpolation by eta"),
        needs=None,
        single_path=True,
        departs="eta is the same for all tokens; the code lowers it for the first tokens of a text.",
        parameters={
            "eps": "what is added to p/q; 0 with target 0 is lossless where the first path is drawn from q",
            "eta": "weight of the rule in [0, 1], of the lossless one the rest",
            "target": "share of corrections drawn from the target, in [0, 1]",
        },
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if self.eps < 0:
            raise InvalidInput(f"slack: eps = {self.eps} must be at least 0")
        for name in ("eta", "target"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"slack: {name} = {getattr(self, name)} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node = root
        while node.children:
            token, p, q = node.children[0], node.target, node.draft
            accepted = self._accepted(p[token : token + 1], q[token : token + 1])[0]
            if not coin.flip(capped(accepted / q[token]) if q[token] > 0 else int(p[token] > 0)):
                return Verdict(node.context, coin.choose(self._correction(p, q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Vector]:
        return self._accepted(p, q), self._correction(p, q)

    def _accepted(self, p: Vector, q: Vector) -> Vector:
        """Step 1: the mass of accepted drafts."""
        strict = minimum(p, q)
        loose = minimum(p + q * self.eps.numerator / self.eps.denominator, q)
        return strict + (loose - strict) * self.eta.numerator / self.eta.denominator

    def _correction(self, p: Vector, q: Vector) -> Vector:
        """Step 2."""
        rest = residuals(p, q)
        return rest + (p - rest) * self.target.numerator / self.target.denominator
