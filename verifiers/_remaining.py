"""What is left of the target at one node, as drafts are rejected one after the other.

A node of weight `w` with target `p` has the mass `w p`. A draft from `q` is accepted with mass `min(w p, q)`. Given its
rejection the mass is that of the normalised `(w p - q)+`, with weight `s/(s + 1 - w)`, `s = sum (w p - q)+`. With
`w = 1` that is the residual of token-by-token verification.

A draft that has one of several laws, each equally likely, is one from their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.protocol import Coin, Vector
from draftproof.simulator.vectors import excess, scalar
from draftproof.verifiers._weights import capped


class Remaining:
    """The mass `w p`; rejections change it. weight: `w`, at most 1."""

    def __init__(self, p: Vector, weight: Any = 1) -> None:
        self.weight = weight
        self._row = p

    def acceptance(self, laws: Sequence[Vector], token: int) -> Any:
        """`min(1, w p/q)` of a drafted token, `q` being the mean of laws; see `capped`."""
        masses = [scalar(law[token]) for law in _different(laws)]
        mass = masses[0] if len(masses) == 1 else sum(masses) / len(masses)
        return capped(self.weight * scalar(self._row[token]), mass)

    def reject(self, laws: Sequence[Vector]) -> bool:
        """A draft from the mean of laws is rejected; False where nothing is left, and the mass stays as it is."""
        laws = _different(laws)
        rest = excess(self._row, *laws, weight=self.weight * len(laws))
        total = scalar(rest.sum())
        if not total > 0:
            return False
        rest /= total
        total = total / len(laws)
        self.weight = total / (total + (1 - self.weight))  # the brackets keep rounding from cancelling it
        self._row = rest
        return True

    def draw(self, coin: Coin) -> int:
        """A token from the normalised mass."""
        return coin.choose(self._row)


def _different(laws: Sequence[Vector]) -> Sequence[Vector]:
    """One law where all are the same row."""
    return laws[:1] if all(law is laws[0] for law in laws) else laws
