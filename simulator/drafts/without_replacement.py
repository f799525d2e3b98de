"""Trees without replacement: the children of a node are different tokens, each drawn from `q` without those before.

The trees of recursive speculative decoding [jeon2024recursive], verified there with `rejection_without_replacement`.
"""

from __future__ import annotations

from math import factorial
from typing import ClassVar, Self

from draftproof.simulator.drafts._branching import Branching
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector
from draftproof.simulator.vectors import without


def draw_without_replacement(q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
    """`k` different tokens, or all with `q > 0`: each from `q` without those already drawn, renormalised."""
    tokens: tuple[int, ...] = ()
    for _ in range(k):
        tokens = (*tokens, coin.choose(q))
        left = without(q, tokens[-1])
        if left is q:  # nothing is left
            break
        q = left
    return tokens


class WithoutReplacement(Branching):
    """Children drawn from `q` without replacement."""

    name = "without_replacement"
    verified_with = "rejection_without_replacement"
    draws: ClassVar[Draws] = Draws.WITHOUT_REPLACEMENT

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 0, 2)), (3, cls(2, 0, 2)), (3, cls(2, 1, 1)), (3, cls(3, 0, 1)), (4, cls(3, 0, 1))

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        return draw_without_replacement(q, coin, k)

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability, without a visit of each."""

        def below(context: Context) -> int:
            if len(context) == self.depth:
                return 1
            counts = [below((*context, token)) for token, mass in enumerate(draft.row(context).tolist()) if mass > 0]
            k = min(1 if len(context) < self.L1 else self.K, len(counts))
            sums = [1] + [0] * k  # over the sets of so many tokens, of the product of their counts
            for each in counts:
                for size in range(k, 0, -1):
                    sums[size] += sums[size - 1] * each
            return factorial(k) * sums[k]

        return below(())
