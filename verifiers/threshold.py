"""Declared lossy: two thresholds on the target probability, as serving engines offer them.

[zheng2024sglang], tree speculative sampling with `threshold_single` and `threshold_acc`. At each node one uniform `u`:
1. Walk through the different drafts in order and add up their target probabilities.
2. Accept a draft if the sum so far is at least `u * total`, or if its own target probability is at least `single`.
3. When none is accepted draw from `p` without them, renormalised.

With `single = total = 1` this is `nss` and lossless; smaller values accept more than the target owes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from simulator.arithmetic import as_fraction
from simulator.errors import InvalidInput
from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import without
from verifiers._top_down import walk


@dataclass(frozen=True)
class Threshold:
    """See the module. single, total: fractions in (0, 1]; anything else raises `InvalidInput`."""

    single: Fraction = Fraction(1, 2)
    total: Fraction = Fraction(9, 10)

    card: ClassVar[Card] = Card(
        name="threshold",
        title="Acceptance above two thresholds",
        source=Source("zheng2024sglang", "tree speculative sampling, threshold_single and threshold_acc"),
        lossless_for=(),
        reads_draft=False,
        departs="The one uniform of a node is replaced by coins with the same joint law.",
        parameters={"single": "accepts a token outright", "total": "scales the sum of the tokens tried"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "single", as_fraction(self.single, "threshold: single"))
        object.__setattr__(self, "total", as_fraction(self.total, "threshold: total"))
        if not (0 < self.single <= 1 and 0 < self.total <= 1):
            raise InvalidInput(f"threshold: single = {self.single} and total = {self.total} must lie in (0, 1]")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, self._solve)

    def _solve(self, p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
        scale, limit = self.total.denominator, self.total.numerator
        before = p.sum() * 0
        rest = p
        for token in dict.fromkeys(drafted):
            outright = p[token] * self.single.denominator >= self.single.numerator
            left = limit - before * scale  # u is above what was tried; this much of it is left
            if outright or p[token] * scale >= left or coin.flip(p[token] * scale / left):
                return token
            before = before + p[token]
            rest = without(rest, token)
        return coin.choose(rest)
