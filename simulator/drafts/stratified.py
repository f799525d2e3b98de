"""Branches whose next tokens come one from each part of a row: stratified ones drawn apart, systematic ones together.

At a node through which `k` branches go, the tokens of the row `q`, in a fixed order, are cut into `k` parts of mass
`1/k`; a token on a border belongs to both parts, with its shares. Each branch draws from one of the parts, all orders
of the parts equally likely, so that each has law `q`. Stratified branches meet a set of nodes at least as often as
i.i.d. ones: see theorem 8 in `lp_analysis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np

from draftproof.simulator.drafts._adapting import Adapting
from draftproof.simulator.drafts._levels import prefetch
from draftproof.simulator.drafts._parts import Part, cells
from draftproof.simulator.drafts._shape import smaller_shapes, validate_shape
from draftproof.simulator.drafts.delayed import assert_listable
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, Draws, Piece, TokenProcess, Vector

#: Orders of the tokens at a node: the likeliest first (ties by number), or by number. The likeliest last has the parts
#: of the likeliest first.
ORDERS = ("descending", "number")


@dataclass(frozen=True)
class Stratified(Adapting):
    """A trunk of `L1` tokens from `q`, then `K` branches of `L2` tokens, independent given their parts.

    order: see `ORDERS`. Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, `L2 >= 1` where `K > 1`, and for
    another order.
    """

    K: int = 2
    L1: int = 0
    L2: int = 2
    order: str = "descending"

    name: ClassVar[str] = "stratified"
    draws: ClassVar[Draws] = Draws.FIRST_CHILD_FROM_Q | Draws.INDEPENDENT_BRANCHES | Draws.FIXED_LENGTHS

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
        """Draft one tree, level by level; it tells the part of each branch."""
        known: dict[Context, Vector] = {}
        steps = self.steps(coin, known)
        while True:
            try:
                missing = next(steps)
            except StopIteration as drawn:
                tree: DraftTree = drawn.value
                return tree
            prefetch(draft, missing)
            known.update((context, draft.row(context)) for context in missing)

    def steps(self, coin: Coin, known: Mapping[Context, Vector]) -> Generator[list[Context], None, DraftTree]:
        """The same tree for whoever has the rows: asks for those of a level, and goes on when they are in `known`."""
        paths: list[Context] = [()]
        pieces: dict[Context, tuple[Piece, ...]] = {}
        for depth in range(self.depth):
            if depth == self.L1:
                paths = paths * self.K
            branches = Counter(paths)
            missing = [path for path in branches if path not in known]
            if missing:
                yield missing
            tokens = {}
            for path, k in branches.items():
                if k == 1:
                    tokens[path] = [coin.choose(known[path])]
                    continue
                parts = self._shuffled(k, coin)
                tokens[path] = self._drawn(known[path], parts, coin)
                if Draws.INDEPENDENT_BRANCHES in self.draws:
                    pieces[path] = tuple(parts)
            paths = [(*path, tokens[path].pop(0)) for path in paths]
        return DraftTree.from_paths(paths[0][: self.L1], [path[self.L1 :] for path in paths], pieces)

    def pieces(self, branches: int) -> list[Part]:
        """The parts of a row from which so many branches draw, in their order."""
        return [Part(place, branches, self.order == ORDERS[0]) for place in range(branches)]

    def _shuffled(self, branches: int, coin: Coin) -> list[Part]:
        """These in random order, every order equally likely."""
        left, shuffled = self.pieces(branches), []
        while left:
            shuffled.append(left.pop(coin.choose([1] * len(left)) if left[1:] else 0))
        return shuffled

    def _drawn(self, row: Vector, pieces: Sequence[Part], coin: Coin) -> list[int]:
        """The next token of every branch at one node."""
        return [coin.choose(piece.law(row)) for piece in pieces]

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability, orders of the branches at a node counted apart."""
        assert_listable(draft.vocab_size, self.depth)

        @cache
        def outcomes(context: Context, branches: int) -> int:
            if len(context) == self.depth:
                return 1
            branches = self.K if len(context) == self.L1 else branches
            row = draft.row(context)
            drawn = [[int(mass > 0) for mass in piece.law(row)] for piece in self.pieces(branches)]
            below = [
                [outcomes((*context, token), k) if mass > 0 else 0 for token, mass in enumerate(row)]
                for k in range(1, branches + 1)
            ]
            ways = mean_product(*(np.array(numbers, dtype=object) for numbers in (drawn, below)))
            return factorial(branches) * int(ways)

        return outcomes((), 1)

    def reductions(self) -> list[Self]:
        """Every scheme of this kind that is no larger: shallowest first, then fewest drafted tokens."""
        shapes = smaller_shapes(self.K, self.L1, self.L2)
        smaller = [type(self)(*shape, self.order) for shape in shapes]
        return sorted(smaller, key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K))


class Systematic(Stratified):
    """The same with one number `u` a node, uniform on [0, 1): branch `i` takes the token at `(u + i - 1)/k`.

    Each branch has the law of its part, but the branches depend on one another. The parts are not told.
    """

    name = "systematic"
    draws: ClassVar[Draws] = Draws.FIRST_CHILD_FROM_Q | Draws.FIXED_LENGTHS

    def _drawn(self, row: Vector, pieces: Sequence[Part], coin: Coin) -> list[int]:
        lengths, tokens = cells(row, self.pieces(len(pieces)))
        cell = coin.choose(lengths)
        return [int(tokens[piece.place, cell]) for piece in pieces]

    count = Adapting.count


def mean_product(laws: Any, values: Any) -> Any:
    """The mean over draws, one from each law, of the product over the drawn tokens `y` of `values[n_y - 1, .., y]`.

    `n_y` is how many draws equal `y`. laws: shape `(k, .., V)`, those of the parts of a row, in their order: of those
    between two that have a token in common, each has this token only. values: shape `(k, .., V)`.
    """
    last: list[Any] = []  # by n: the mean where the last draw is y, as n draws are so far, without the value of y
    total: Any = 1
    for law in laws:
        closed = sum(mean * value for mean, value in zip(last, values, strict=False))
        last = [law * (total - closed), *(law * mean for mean in last)]
        total = sum(mean * value for mean, value in zip(last, values, strict=False)).sum(-1, keepdims=True)
    return total[..., 0]
