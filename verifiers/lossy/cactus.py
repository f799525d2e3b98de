"""Declared lossy: Cactus, which raises the target's probability of the drafted token as far as a divergence allows.

[hao2026cactus]. Along the first path, with a bound `d` in nats, for the drafted token `x`:
1. The target becomes `h`: `h(x) = min(1, p(x) + sqrt(2 d p(x) (1 - p(x))))`, all other tokens scaled alike.
2. Accept with probability `min(1, h(x)/q(x))` and go on; on rejection stop with a correction from normalised
   `(h - q)+`.
3. After the last drafted token draw the correction from `p`.

The root approximates the largest `h(x)` for which the divergence `sum h log(h/p)` is at most `d`. It is at most `d`
where `h(x) <= 1/2`, and may be more elsewhere. `h` depends on `x`, so the law of the next token is no `h`; its
divergence from `p` is at most that of `q`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import capped, positive_part, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import layers, minimum, one_hot, residuals
from draftproof.verifiers.lossy._rows import as_floats

#: Square roots are rounded down to multiples of one in so many.
UNITS = 2**40


@dataclass(frozen=True)
class Cactus:
    """See the module. d: a bound of at least 0; anything else raises `InvalidInput`."""

    d: Fraction = Fraction(3, 4)

    card: ClassVar[Card] = Card(
        name="cactus",
        title="Constrained acceptance speculative sampling (Cactus)",
        source=Source("hao2026cactus", "the approximate solution for the Kullback-Leibler divergence"),
        needs=None,
        single_path=True,
        departs="Square roots are rounded down to multiples of 2^-40, also in exact runs, where they are fractions.",
        parameters={"d": "bound on the divergence of the row that a drafted token is tested against, in nats"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not self.d >= 0:
            raise InvalidInput(f"cactus: d = {self.d} must be at least 0")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node = root
        while node.children:
            token = node.children[0]
            p, q = node.target, node.draft
            high = raised(p[token : token + 1], self.d)[0]
            if not coin.flip(capped(high, q[token])):
                return Verdict(node.context, coin.choose(residual(tested_row(p, high, token), q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """The law of the next token, shape `(n.., V)`; `p` where `q` is None."""
        return p if q is None else self._child_law(p, q, 1).sum(0)

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=self._child_law)

    def _child_law(self, p: Vector, q: Vector, k: int) -> Any:
        """The law of one step, shape `(2, n.., V)`: `[1]` an accepted draft, `[0]` a correction. `k` must be 1."""
        if k != 1:
            raise InvalidInput(f"cactus looks at the first draft only: its child law needs k = 1, not {k}")
        high = raised(p, self.d)
        accepted = minimum(high, q)
        corrections = q * 0
        for token in range(q.shape[-1]):
            column = slice(token, token + 1)
            row = tested_row(p, high[..., column], token)
            corrections = corrections + (q - accepted)[..., column] * residuals(row, q)
        return layers([corrections, accepted])


def raised(p: Vector, d: Fraction) -> Vector:
    """`h(x)` for each token `x` as the drafted one, in the shape of `p`."""
    exact = p.dtype == object
    floats = as_floats(p) if exact else p
    units = positive_part(2 * float(d) * floats * (1 - floats)) ** 0.5 * UNITS // 1
    bonus = RATIONAL.vector(units.astype(np.int64)) if exact else units
    return minimum(p + bonus / UNITS, p * 0 + 1)


def tested_row(p: Vector, high: Any, token: int) -> Vector:
    """`h` for one drafted token; high: `h(x)`, a number or a column."""
    mass = p[..., token : token + 1]
    rest = (1 - high) / (1 - mass + (mass >= 1))
    return p * rest + one_hot(p, token) * (high - mass * rest)
