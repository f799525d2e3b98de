"""The delayed tree of i.i.d. branches, the scheme that most verifiers are made for."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import ClassVar, Self

from draftproof.simulator.drafts._shape import Parameters, smaller_shapes, validate_shape
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess

#: (V, K, L1, L2) of the conformance cases.
SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1), (3, 3, 0, 1), (2, 4, 0, 1))
#: Counting trees lists paths, at most so many.
MOST_PATHS = 2_000_000


@dataclass(frozen=True)
class Delayed(Parameters):
    """The delayed tree: a trunk of `L1` tokens from `q`, then `K` i.i.d. branches of `L2` tokens.

    Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, and `L2 >= 1` where `K > 1`.
    """

    K: int = 2
    L1: int = 0
    L2: int = 2

    name: ClassVar[str] = "delayed"
    draws: ClassVar[Draws] = Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS

    def __post_init__(self) -> None:
        validate_shape(self.K, self.L1, self.L2)

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        return tuple((V, cls(K, L1, L2)) for V, K, L1, L2 in SHAPES)

    @property
    def depth(self) -> int:
        """`L = L1 + L2`."""
        return self.L1 + self.L2

    @property
    def nodes(self) -> int:
        """Drafted tokens in a tree, `L1 + K L2`: the node budget."""
        return self.L1 + self.K * self.L2

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, every token by one choice of the coin."""
        trunk = _path(draft, coin, (), self.L1)
        branches = [_path(draft, coin, trunk, self.L2) for _ in range(self.K)]
        return DraftTree.from_paths(trunk, branches)

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability: `V**(L1 + K L2)` where `q > 0` everywhere."""
        assert_listable(draft.vocab_size, self.depth)
        return sum(len(_support(draft, trunk, self.L2)) ** self.K for trunk in _support(draft, (), self.L1))

    def reductions(self) -> list[Delayed]:
        """Every delayed tree that is no larger, single paths once: shallowest first, then fewest drafted tokens."""
        shapes = smaller_shapes(self.K, self.L1, self.L2)
        return sorted((Delayed(*shape) for shape in shapes), key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K))


def assert_listable(vocab_size: int, depth: int) -> None:
    """Raises `TooLarge` where there are too many paths to list."""
    if depth * log2(max(vocab_size, 2)) > log2(MOST_PATHS):
        raise TooLarge(f"V^L = {vocab_size}^{depth} paths are too many to list; use a shorter tree or a smaller V")


def _path(draft: TokenProcess, coin: Coin, start: Context, length: int) -> Context:
    context = start
    for _ in range(length):
        context = (*context, coin.choose(draft.row(context)))
    return context[len(start) :]


def _support(draft: TokenProcess, start: Context, length: int) -> list[Context]:
    contexts = [start]
    for _ in range(length):
        contexts = [(*c, token) for c in contexts for token, mass in enumerate(draft.row(c)) if mass > 0]
    return contexts
