"""A draft scheme whose branches are independent, with laws of their own that are no parts of the row and overlap."""

from dataclasses import dataclass

from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Coin, Context, TokenProcess, Vector


@dataclass(frozen=True)
class Power:
    """Every row to a power, normalised."""

    power: int

    def law(self, row: Vector) -> Vector:
        return row if self.power == 1 else row**self.power / (row**self.power).sum()


@dataclass(frozen=True)
class Powers:
    """A trunk of `L1` tokens from `q`, then `K` branches of `L2`: at each node from its row to powers 3, 2, 1, 3..

    shuffled: whether the powers of a node are in random order.
    """

    K: int
    L1: int
    L2: int
    shuffled: bool = False

    name = "powers"

    @property
    def depth(self) -> int:
        return self.L1 + self.L2

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        children: dict[Context, tuple[int, ...]] = {}
        told: dict[Context, tuple[Power, ...]] = {}
        paths: list[Context] = [()]
        for depth in range(self.depth):
            paths = paths * self.K if depth == self.L1 else paths
            left = {path: self._powers(paths.count(path), depth >= self.L1, coin) for path in dict.fromkeys(paths)}
            for place, path in enumerate(paths):
                power = left[path].pop(0)
                token = coin.choose(power.law(draft.row(path)))
                children[path] = (*children.get(path, ()), token)
                told[path] = (*told.get(path, ()), power)
                paths[place] = (*path, token)
        return DraftTree(children, told)

    def _powers(self, branches: int, below: bool, coin: Coin) -> list[Power]:
        powers = [Power(3 - place % 3 if below else 1) for place in range(branches)]
        if not self.shuffled:
            return powers
        return [powers.pop(coin.choose([1] * len(powers)) if powers[1:] else 0) for _ in range(branches)]
