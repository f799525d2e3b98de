"""Declared lossy: typical acceptance, which accepts plausible tokens whatever the draft's probability.

[cai2024medusa], typical acceptance:
1. A drafted token `x` passes if `p(x) > min(epsilon, delta exp(-H(p)))`, with the entropy `H` of the target.
2. Accept the longest path of passing tokens (the first one among equals); the correction is drawn from `p`.

Nothing is random but the correction, so the output follows the draft wherever the draft is plausible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp
from typing import ClassVar

import numpy as np

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import is_tensor


def plausible(p: Vector, token: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Step 1."""
    masses = p.double() if is_tensor(p) else p.astype(np.float64)
    logs = (masses + (masses <= 0)).log() if is_tensor(p) else np.log(masses + (masses <= 0))
    entropy = -float((masses * logs).sum())
    return bool(masses[token] > min(float(epsilon), float(delta) * exp(-entropy)))


@dataclass(frozen=True)
class Typical:
    """See the module. epsilon, delta: positive thresholds; anything else raises `InvalidInput`."""

    epsilon: Fraction = Fraction(9, 100)
    delta: Fraction = Fraction(3, 10)

    card: ClassVar[Card] = Card(
        name="typical",
        title="Typical acceptance (Medusa)",
        source=Source("cai2024medusa", "typical acceptance"),
        needs=None,
        reads_draft=False,
        departs="The threshold is computed in float64 also in exact runs: it only decides, it is no probability.",
        parameters={"epsilon": "hard threshold", "delta": "factor of exp(-entropy)"},
    )

    #: Step 1; see `plausible`.
    solver: Callable[[Vector, int, Fraction, Fraction], bool] = field(default=plausible, repr=False)

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not (self.epsilon > 0 and self.delta > 0):
            raise InvalidInput(f"typical: epsilon = {self.epsilon} and delta = {self.delta} must be positive")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept the longest plausible path and draw a correction token."""
        node = self._longest(root)
        return Verdict(node.context, coin.choose(node.target))

    def _longest(self, node: DraftNode) -> DraftNode:
        passing = [
            token for token in dict.fromkeys(node.children) if self.solver(node.target, token, self.epsilon, self.delta)
        ]
        ends = [self._longest(node.child(token)) for token in passing]
        return max(ends, key=lambda end: len(end.context), default=node)
