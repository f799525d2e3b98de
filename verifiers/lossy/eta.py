"""Declared lossy: verification against the target without its unlikeliest tokens, by an entropy-dependent threshold.

[hewitt2022truncation], eta-sampling. Along the first path, with a threshold `epsilon`:
1. The target becomes `t`, which is `p` on the tokens with `p > min(epsilon, sqrt(epsilon) exp(-H(p)))`, `H` the
   entropy, and on the likeliest ones, normalised.
2. Verify as `naive` with `t` in place of `p`, also for the last correction.

After every accepted prefix the next token has law `t`. No token with more than `epsilon` under `p` is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.vectors import minimum, normalised, sums
from draftproof.verifiers.lossy._rows import ROUNDING, ShownNode, as_floats, at_least, largest
from draftproof.verifiers.naive import Naive


@dataclass(frozen=True)
class Eta:
    """See the module. epsilon: a fraction in (0, 1); anything else raises `InvalidInput`."""

    epsilon: Fraction = Fraction(1, 10)

    card: ClassVar[Card] = Card(
        name="eta",
        title="Verification against an eta-truncated target",
        source=Source("hewitt2022truncation", "eta-sampling, on the target's side only"),
        needs=None,
        single_path=True,
        departs="The paper samples so; here it is the target alone, whatever the draft was sampled from. Which tokens "
        "are kept is decided in float64 also in exact runs. Its epsilon is far smaller, for far more tokens.",
        parameters={"epsilon": "largest threshold, in (0, 1)"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 < self.epsilon < 1:
            raise InvalidInput(f"eta: epsilon = {self.epsilon} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        return Naive().verify(ShownNode(root, self.surrogate), coin)

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """`t`, shape `(n.., V)`."""
        floats = as_floats(p)
        present = floats + (floats <= 0)
        negative_entropy = sums(floats * (present.log() if is_tensor(present) else np.log(present)))
        level = minimum(
            negative_entropy * 0 + float(self.epsilon),
            float(self.epsilon) ** 0.5 * (negative_entropy.exp() if is_tensor(present) else np.exp(negative_entropy)),
        )
        likely = (floats > level + ROUNDING) | at_least(p, largest(p))
        return normalised(p * likely, p)
