"""What schemes in which every node branches have in common; they differ in how the children of a node are drawn.

A trunk of `L1` tokens from `q`, then every node down to depth `L = L1 + L2` has `k` children, `k` being the smaller of
`K` and the number of tokens with `q > 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, ClassVar, Self

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._shape import smaller_shapes, validate_shape
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, TokenProcess, Vector


@dataclass(frozen=True)
class Branching:
    """`K` children at every node below a trunk of `L1` tokens, `L2` levels of them."""

    K: int = 2
    L1: int = 0
    L2: int = 2

    name: ClassVar[str]
    #: As in `Adapting`.
    verified_with: ClassVar[str] = ""

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

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, node by node, parents before children."""

        def children(context: Context) -> tuple[int, ...]:
            trunk = len(context) < self.L1
            return _pick(self, draft.row(context), coin, 1 if trunk else self.K, trunk)

        return DraftTree.grown(self.depth, draft, children)

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability."""

        @cache
        def below(context: Context) -> int:
            if len(context) == self.depth:
                return 1
            q = draft.row(context)
            trunk = len(context) < self.L1
            drawn = outcomes(lambda coin: _pick(self, q, coin, 1 if trunk else self.K, trunk), arithmetic_of(q))
            return sum(prod(below((*context, token)) for token in tokens) for tokens, _ in drawn)

        return below(())

    def reductions(self) -> list[Self]:
        """Every scheme of this kind that is no larger: shallowest first, then fewest drafted tokens."""
        shapes = smaller_shapes(self.K, self.L1, self.L2)
        return sorted(
            (type(self)(*shape) for shape in shapes), key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K)
        )

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"name": self.name, "K": self.K, "L1": self.L1, "L2": self.L2}

    def __str__(self) -> str:
        return f"{self.name}(K={self.K}, L1={self.L1}, L2={self.L2})"


def _pick(scheme: Branching, q: Vector, coin: Coin, k: int, trunk: bool) -> tuple[int, ...]:
    return (coin.choose(q),) if trunk else scheme.children(q, coin, k)


def possible(q: Vector, k: int) -> int:
    """`k`, or the number of tokens with `q > 0` if that is smaller."""
    return min(k, sum(1 for mass in q.tolist() if mass > 0))
