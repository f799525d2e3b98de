"""Declared lossy: two thresholds on the target probability, as serving engines offer them.

[zheng2024sglang], tree speculative sampling with `threshold_single` and `threshold_acc`. At each node one uniform `u`:
1. Walk through the different drafts in order and add up their target probabilities.
2. Accept a draft if the sum so far is at least `u * total`, or if its own target probability is at least `single`.
3. When none is accepted draw from `p` without them, renormalised.

With `single = total = 1` this is `nss` and lossless; smaller values accept drafts more often than the target allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import without
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.rejection_without_replacement import branch_in_turn, next_in_turn


@dataclass(frozen=True)
class Threshold:
    """See the module. single, total: fractions in (0, 1]; anything else raises `InvalidInput`."""

    single: Fraction = Fraction(1, 2)
    total: Fraction = Fraction(9, 10)

    card: ClassVar[Card] = Card(
        name="threshold",
        title="Acceptance above two thresholds",
        source=Source("zheng2024sglang", "tree speculative sampling, threshold_single and threshold_acc"),
        needs=None,
        reads_draft=False,
        departs="The one uniform of a node is replaced by coins with the same joint law.",
        parameters={"single": "accepts a token outright", "total": "scales the sum of the tokens tried"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not (0 < self.single <= 1 and 0 < self.total <= 1):
            raise InvalidInput(f"threshold: single = {self.single} and total = {self.total} must lie in (0, 1]")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, partial(next_in_turn, self._tries))

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=partial(branch_in_turn, self._tries))

    def _accepts(self, p: Vector, token: int, before: Any) -> Any:
        """Probability that `token` is accepted when drafts of target mass `before` were not."""
        scale = self.total.denominator
        left = self.total.numerator - before * scale  # u total is above `before`
        outright = p[token] * self.single.denominator >= self.single.numerator
        return 1 if outright or p[token] * scale >= left else p[token] * scale / left

    def _tries(self, p: Vector, q: Vector, drafted: tuple[int, ...]) -> Iterator[tuple[int | None, Any]]:
        before, rest = p.sum() * 0, p
        for token in dict.fromkeys(drafted):
            yield token, self._accepts(p, token, before)
            before, rest = before + p[token], without(rest, token)
        yield None, rest
