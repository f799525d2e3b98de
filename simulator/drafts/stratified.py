"""Branches one from each part of the draft's paths: stratified ones drawn apart, systematic ones from one number.

After a trunk the paths of `L2` tokens, in a lexicographic order fixed by the rows, are cut into `K` pieces of mass
`1/K`; a path on a bound belongs to both pieces, with its shares. Branch `k` is drawn from piece `k` and the branches
are shuffled, so each of them has law `q`. Stratified branches meet a set of paths at least as often as i.i.d. ones:
`1 - prod (1 - q_k(S)) >= 1 - (1 - q(S))^K`, as `q` is the mean of the laws `q_k` of the pieces.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from typing import Any, ClassVar, Self

import numpy as np

from draftproof.simulator.drafts._adapting import Adapting
from draftproof.simulator.drafts._intervals import Interval
from draftproof.simulator.drafts._prefetch import prefetch
from draftproof.simulator.drafts._shape import smaller_shapes, validate_shape
from draftproof.simulator.drafts.delayed import assert_listable
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, Draws, TokenProcess, Vector

#: Orders of the tokens at a node: the likeliest first (ties by number), or by number.
ORDERS = ("descending", "number")


@dataclass(frozen=True)
class Stratified(Adapting):
    """A trunk of `L1` tokens from `q`, then `K` independent branches of `L2` tokens, one from each piece of the paths.

    order: see `ORDERS`. Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, `L2 >= 1` where `K > 1`, and for
    another order.
    """

    K: int = 2
    L1: int = 0
    L2: int = 2
    order: str = "descending"

    name: ClassVar[str] = "stratified"
    draws: ClassVar[Draws] = Draws.FIRST_PATH_FROM_Q | Draws.INDEPENDENT_BRANCHES | Draws.FIXED_LENGTHS

    def __post_init__(self) -> None:
        validate_shape(self.K, self.L1, self.L2)
        if self.order not in ORDERS:
            raise InvalidInput(f"{self.name}: order = {self.order!r}; choose {' or '.join(ORDERS)}")

    @classmethod
    def cases(cls) -> tuple[tuple[int, Self], ...]:
        shapes = (2, 2, 0, 2), (3, 2, 0, 2), (2, 3, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1), (3, 3, 0, 1)
        return *((V, cls(K, L1, L2)) for V, K, L1, L2 in shapes), (3, cls(2, 0, 2, "number"))

    @property
    def depth(self) -> int:
        """`L = L1 + L2`."""
        return self.L1 + self.L2

    @property
    def nodes(self) -> int:
        """Drafted tokens in a tree, `L1 + K L2`: the node budget."""
        return self.L1 + self.K * self.L2

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree, level by level; it tells the piece of each branch."""
        steps, rows = self.steps(coin), None
        while True:
            try:
                paths = steps.send(rows)
            except StopIteration as drawn:
                tree: DraftTree = drawn.value
                return tree
            prefetch(draft, list(dict.fromkeys(paths)))
            rows = [draft.row(path) for path in paths]

    def steps(self, coin: Coin) -> Generator[list[Context], Any, DraftTree]:
        """The same tree for whoever has the rows: asks for those after each path of a level, and is sent them."""
        paths: list[Context] = [()]
        pieces = below = [Interval()]
        for depth in range(self.depth):
            if depth == self.L1:
                paths = paths * self.K
                pieces = below = self._shuffled(coin)
            tokens, below = self._level((yield paths), below, coin)
            paths = [(*path, token) for path, token in zip(paths, tokens, strict=True)]
        return DraftTree.from_paths(paths[0][: self.L1], [path[self.L1 :] for path in paths], pieces)

    def _shuffled(self, coin: Coin) -> list[Interval]:
        """The pieces in random order, every order equally likely."""
        left, shuffled = self.pieces, []
        while left:
            shuffled.append(left.pop(coin.choose([1] * len(left)) if left[1:] else 0))
        return shuffled

    @property
    def pieces(self) -> list[Interval]:
        """The pieces of the paths below the trunk, in their order."""
        K, descending = self.K, self.order == ORDERS[0]
        return [Interval(Fraction(k, K), Fraction(k + 1, K), descending) for k in range(K)]

    def _level(
        self, rows: Sequence[Vector], pieces: Sequence[Interval], coin: Coin
    ) -> tuple[list[int], list[Interval]]:
        """The next token of every branch, and where each stands after it."""
        tokens = [coin.choose(piece.law(row)) for row, piece in zip(rows, pieces, strict=True)]
        return tokens, [piece.below(*drawn) for piece, *drawn in zip(pieces, rows, tokens, strict=True)]

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability, `K!` orders of the branches counted apart."""
        assert_listable(draft.vocab_size, self.depth)

        def paths(context: Context, piece: Interval, length: int) -> int:
            if not length:
                return 1
            row = draft.row(context)
            drawn = (token for token, mass in enumerate(piece.law(row)) if mass > 0)
            return sum(paths((*context, token), piece.below(row, token), length - 1) for token in drawn)

        def trees(trunk: Context) -> int:
            if len(trunk) == self.L1:
                return factorial(self.K) * prod(paths(trunk, piece, self.L2) for piece in self.pieces)
            return sum(trees((*trunk, token)) for token, mass in enumerate(draft.row(trunk)) if mass > 0)

        return trees(())

    def reductions(self) -> list[Self]:
        """Every scheme of this kind that is no larger: shallowest first, then fewest drafted tokens."""
        shapes = smaller_shapes(self.K, self.L1, self.L2)
        smaller = [type(self)(*shape, self.order) for shape in shapes]
        return sorted(smaller, key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K))


class Systematic(Stratified):
    """The same with one number `u`, uniform on [0, 1): branch `k` takes the path at `(u + k - 1)/K`.

    Each branch has the law of its piece, but the branches depend on one another. In floats they do so down to
    parts of `SHORTEST` of a prefix, and are independent below.
    """

    name = "systematic"
    draws: ClassVar[Draws] = Draws.FIRST_PATH_FROM_Q | Draws.FIXED_LENGTHS

    def _level(
        self, rows: Sequence[Vector], pieces: Sequence[Interval], coin: Coin
    ) -> tuple[list[int], list[Interval]]:
        """The next token of every branch, and its part of the paths through it that `u` can still mean."""
        ordered = [piece.ordered(row) for row, piece in zip(rows, pieces, strict=True)]
        ends = [np.cumsum(shares)[:-1] for _, shares in ordered]
        zero = ordered[0][1][:1] * 0
        cuts = np.unique(np.concatenate([zero, *ends, zero + 1]))
        cell = coin.choose(cuts[1:] - cuts[:-1])
        tokens, parts = [], []
        for row, piece, (order, _), bounds in zip(rows, pieces, ordered, ends, strict=True):
            place = int((bounds <= cuts[cell]).sum())
            first, last = np.concatenate([zero, bounds, zero + 1])[place : place + 2]
            tokens.append(int(order[place]))
            within = piece.below(row, tokens[-1])
            parts.append(within.part((cuts[cell] - first) / (last - first), (cuts[cell + 1] - first) / (last - first)))
        return tokens, parts

    count = Adapting.count
