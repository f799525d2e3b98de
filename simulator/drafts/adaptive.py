"""One path of adaptive length: drafting stops when the draft is no longer confident.

Stopping after token `i` by a rule that looks at `x_1..x_i` only is a stopping time: whether a context is a leaf depends
on the context alone, and verification stays lossless. If the rule drops the token that it has just looked at, the
tokens left in the tree no longer have the law `q`. The first is `Adaptive`, the second the negative control
`AdaptiveDropping`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from draftproof.simulator.drafts._adapting import Adapting, number, reaches
from draftproof.simulator.drafts._shape import validate_shape
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import as_fraction
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess


@dataclass(frozen=True)
class Adaptive(Adapting):
    """At least `L1` and at most `L1 + L2` tokens from `q`: stops after a token with `q < confidence`.

    Raises `InvalidInput` unless `K = 1`, lengths are not negative and `confidence` lies in [0, 1].
    """

    K: int = 1
    L1: int = 0
    L2: int = 3
    confidence: Fraction = Fraction(1, 2)

    name: ClassVar[str] = "adaptive"
    draws: ClassVar[Draws] = Draws.ONE_PATH
    keeps_last: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate_shape(self.K, self.L1, self.L2)
        object.__setattr__(self, "confidence", as_fraction(self.confidence, f"{self.name}: confidence"))
        if self.K != 1:
            raise InvalidInput(f"K = {self.K}: the scheme {self.name} drafts one path; use K = 1")
        if not 0 <= self.confidence <= 1:
            raise InvalidInput(f"confidence {self.confidence} must lie between 0 and 1")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls()), (3, cls(1, 1, 1)), (3, cls(1, 0, 2, Fraction(1, 3)))

    @property
    def depth(self) -> int:
        """The largest length."""
        return self.L1 + self.L2

    @property
    def nodes(self) -> int:
        """Drafted tokens at most."""
        return self.depth

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft token by token until the rule stops."""
        path: Context = ()
        while len(path) < self.depth:
            q = draft.row(path)
            token = coin.choose(q)
            free = len(path) >= self.L1  # before that the rule has no say
            unsure = free and not reaches(number(q[token]), self.confidence)
            if unsure and not self.keeps_last:
                break
            path = (*path, token)
            if unsure:
                break
        return DraftTree.from_paths(path, [])

    def reductions(self) -> list[Self]:
        """Shorter ones, the shortest first."""
        shapes = [(l1, l2) for l1 in range(self.L1 + 1) for l2 in range(self.L2 + 1)]
        return [
            type(self)(1, l1, l2, self.confidence) for l1, l2 in sorted(shapes, key=lambda shape: (sum(shape), shape))
        ]


class AdaptiveDropping(Adaptive):
    """Negative control: looks at the next token and drops it if its draft probability is below `confidence`."""

    name = "adaptive_dropping"
    draws: ClassVar[Draws] = Draws(0)
    keeps_last = False

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return (2, cls()), (3, cls(1, 0, 2))
