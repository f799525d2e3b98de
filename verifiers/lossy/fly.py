"""Declared lossy: FLy, which overrides a rejection where the target is unsure and the next drafts pass.

[li2025training], as vLLM has it. Along the first path of `L` tokens each is judged natively, accepted with probability
`min(1, p/q)`; of a rejected token `x` at place `i` of `0..L-1` the rejection is overridden if
1. the sum of `-p log p` over the three likeliest target tokens there is at least `h`, and `p(x) > 0`,
2. the next `w` drafts pass natively, and `i + w < L`.
At the first rejection that stands stop with a correction from normalised `(p - q)+`; after the last token from `p`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import log
from typing import ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.vectors import top_tokens


@dataclass(frozen=True)
class Fly:
    """See the module. h at least 0, w a whole number; anything else raises `InvalidInput`."""

    h: Fraction = Fraction(3, 10)
    w: Fraction = Fraction(2)

    card: ClassVar[Card] = Card(
        name="fly",
        title="Loose verification with a window (FLy)",
        source=Source("li2025training", "entropy gate and deferred window, as in vLLM"),
        needs=None,
        single_path=True,
        departs="The entropy is computed in float64 also in exact runs: it only decides, it is no probability.",
        parameters={"h": "least entropy of the three likeliest tokens", "w": "drafts that must pass after a rejection"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if self.h < 0:
            raise InvalidInput(f"fly: h = {self.h} must be at least 0")
        if self.w < 0 or self.w.denominator != 1:
            raise InvalidInput(f"fly: w = {self.w} must be a whole number of at least 0")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = first_path(root)

        @cache
        def native(place: int) -> bool:
            node = path[place]
            return coin.flip(acceptance(node.target, node.draft, node.children[0]))

        for place, (node, _) in enumerate(pairwise(path)):
            if not native(place) and not self._overridden(path, place, native):
                return Verdict(node.context, coin.choose(residual(node.target, node.draft)))
        return Verdict(path[-1].context, coin.choose(path[-1].target))

    def _overridden(self, path: Sequence[DraftNode], place: int, native: Callable[[int], bool]) -> bool:
        """Steps 1 and 2."""
        p, token, window = path[place].target, path[place].children[0], place + int(self.w) + 1
        unsure = window < len(path) and bool(p[token] > 0) and entropy(p) >= self.h
        return unsure and all(native(later) for later in range(place + 1, window))


def entropy(p: Vector) -> float:
    """The sum of `-p log p` over the three likeliest tokens."""
    masses = [float(p[token]) for token in top_tokens(p, 3)]
    return -sum(mass * log(mass) for mass in masses if mass > 0)
