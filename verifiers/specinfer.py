"""Multi-step speculative sampling: try the children in random order, shrinking the target each time.

[miao2024specinfer], algorithm 2. At each node with drafts `X1..Xk`:
1. Pick one of the remaining drafts uniformly; accept it with probability `min(1, p/q)`.
2. On rejection set `p` to normalised `(p - q)+` and drop that one occurrence.
3. When none is left draw from `p`.

The token has law `p` when the drafts are i.i.d. from `q`: each round splits off `min(p, q)` from what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.vectors import acceptance, acceptances, one_hot, positive_part, residual, residuals
from verifiers._top_down import walk


@dataclass(frozen=True)
class SpecInfer:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="specinfer",
        title="Multi-step speculative sampling (SpecInfer)",
        source=Source("miao2024specinfer", "algorithm 2"),
        lossless_for=("delayed", "adaptive"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """`1 - prod R_j` with `R_j = sum (q - p_j)+`, `p_j` the target of round `j`. p, q: shape `(n.., V)`.

        A draw after `k` rejections never meets a draft: a rejected token has lost all its mass.
        """
        missed: Any = 1
        for _ in range(k):
            missed = missed * positive_part(q - p).sum(-1)
            p = residuals(p, q)
        return 1 - missed

    def branch(self, p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
        """Law of the next token given the drafts, shape `(n.., V)`: a recursion over the drafts that are left."""
        targets = [p]
        for _ in drafted:
            targets.append(residuals(targets[-1], q))
        known: dict[tuple[int, ...], Vector] = {(): targets[-1]}

        def law(left: tuple[int, ...]) -> Vector:
            if left not in known:
                target = targets[len(drafted) - len(left)]
                total: Any = 0
                for place, token in enumerate(left):
                    accepted = acceptances(target, q, token)
                    rest = law(left[:place] + left[place + 1 :])
                    total = total + accepted * one_hot(p, token) + (1 - accepted) * rest
                known[left] = total / len(left)
            return known[left]

        return law(tuple(sorted(drafted)))


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    remaining = list(drafted)
    while remaining:
        token = remaining.pop(coin.choose([1] * len(remaining)))
        if coin.flip(acceptance(p, q, token)):
            return token
        p = residual(p, q)
    return coin.choose(p)
