"""Trees in which every node branches: greedy, of the most probable tokens, without replacement.

A trunk of `L1` tokens from `q`, then every node down to depth `L = L1 + L2` has `k` children, `k` being the smaller of
`K` and the number of tokens with `q > 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import ClassVar, Self

from draftproof.simulator.drafts._levels import ByLevels
from draftproof.simulator.drafts._shape import smaller_shapes, validate_shape
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector
from draftproof.simulator.vectors import top_tokens, without


@dataclass(frozen=True)
class Branching(ByLevels):
    """`K` children at every node below a trunk of `L1` tokens, `L2` levels of them."""

    K: int = 2
    L1: int = 0
    L2: int = 2

    def __post_init__(self) -> None:
        validate_shape(self.K, self.L1, self.L2)

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        """`k` drafted tokens of one node, in draft order, or as many as have `q > 0`."""
        raise NotImplementedError

    @property
    def depth(self) -> int:
        """`L = L1 + L2`."""
        return self.L1 + self.L2

    @property
    def nodes(self) -> int:
        """Drafted tokens in a full tree."""
        return self.L1 + sum(int(self.K**level) for level in range(1, self.L2 + 1))

    def children_at(self, context: Context, q: Vector, coin: Coin) -> tuple[int, ...]:
        """See `ByLevels`: one token on the trunk."""
        return (coin.choose(q),) if len(context) < self.L1 else self.children(q, coin, self.K)

    def reductions(self) -> list[Self]:
        """Every scheme of this kind that is no larger: shallowest first, then fewest drafted tokens."""
        shapes = smaller_shapes(self.K, self.L1, self.L2)
        return sorted(
            (type(self)(*shape) for shape in shapes), key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K)
        )


def possible(q: Vector, k: int) -> int:
    """`k`, or the number of tokens with `q > 0` if that is smaller."""
    return min(k, sum(1 for mass in q.tolist() if mass > 0))


class Greedy(Branching):
    """The `K - 1` most probable tokens of `q`, then one from `q` without them, renormalised (Hu et al. 2025).

    Verified there with `greedy_multi_draft`.
    """

    name = "greedy"
    verified_with = "greedy_multi_draft"
    draws: ClassVar[Draws] = Draws.LEFT_OR_LIKELIEST | Draws.ONE_RANDOM_SIBLING

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 0, 2)), (3, cls(3, 0, 1)), (3, cls(2, 1, 1)), (3, cls(2, 0, 2))

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        top = top_tokens(q, possible(q, k) - 1)
        for token in top:
            q = without(q, token)
        return (*top, coin.choose(q))


class TopK(Branching):
    """The `K` most probable tokens of `q`, ties to the smaller number: nothing is random below the trunk."""

    name = "top_k"
    draws: ClassVar[Draws] = Draws.FIXED_BRANCHES

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls(2, 0, 2)), (3, cls(3, 0, 1)), (3, cls(2, 1, 1)), (3, cls(2, 0, 2))

    def children(self, q: Vector, coin: Coin, k: int) -> tuple[int, ...]:
        return top_tokens(q, possible(q, k))


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
    """The children of a node are different tokens, each drawn from `q` without those before.

    The trees of recursive speculative decoding [jeon2024recursive], verified there with
    `rejection_without_replacement`.
    """

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
            for ways in counts:
                for size in range(k, 0, -1):
                    sums[size] += sums[size - 1] * ways
            return factorial(k) * sums[k]

        return below(())
