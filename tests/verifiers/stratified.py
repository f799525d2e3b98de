"""Draft schemes whose branches are independent with laws of their own: the pieces of paths, or of every node's row."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from draftproof.simulator.drafts._intervals import Interval
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, TokenProcess


def shuffled_pieces(count: int, coin: Coin) -> list[Interval]:
    """`count` equal pieces in random order."""
    left = [Interval(Fraction(k, count), Fraction(k + 1, count)) for k in range(count)]
    return [left.pop(coin.choose([1] * len(left)) if left[1:] else 0) for _ in range(count)]


@dataclass(frozen=True)
class Pieces:
    """A trunk of `L1` tokens, then `K` branches of `L2` tokens, one from each piece.

    by_node: whether every node cuts its own row for its branches; else the paths below the trunk are cut once.
    """

    K: int
    L1: int
    L2: int
    by_node: bool = False

    name = "pieces"

    @property
    def depth(self) -> int:
        return self.L1 + self.L2

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        trunk: Context = ()
        for _ in range(self.L1):
            trunk = (*trunk, coin.choose(draft.row(trunk)))
        paths, pieces = [trunk] * self.K, shuffled_pieces(self.K, coin)
        children = {trunk[:depth]: (token,) for depth, token in enumerate(trunk)}
        told = {trunk: tuple(pieces)}
        for depth in range(self.L2):
            if self.by_node and depth:
                fresh = {node: shuffled_pieces(count, coin) for node, count in Counter(paths).items()}
                told |= {node: tuple(here) for node, here in fresh.items()}
                pieces = [fresh[path].pop(0) for path in paths]
            drawn = [coin.choose(piece.law(draft.row(path))) for path, piece in zip(paths, pieces, strict=True)]
            pieces = [
                piece.below(draft.row(path), token) for path, piece, token in zip(paths, pieces, drawn, strict=True)
            ]
            for path, token in zip(paths, drawn, strict=True):
                children[path] = (*children.get(path, ()), token)
            paths = [(*path, token) for path, token in zip(paths, drawn, strict=True)]
        return DraftTree(children, told if self.L2 else {})
