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
    """A trunk of `L1` tokens from `q`, then `K` branches of `L2`: at each node from its row to powers 3, 2, 1, 3.."""

    K: int
    L1: int
    L2: int

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
            for place, path in enumerate(paths):
                power = Power(3 - len(told.get(path, ())) % 3 if depth >= self.L1 else 1)
                token = coin.choose(power.law(draft.row(path)))
                children[path] = (*children.get(path, ()), token)
                told[path] = (*told.get(path, ()), power)
                paths[place] = (*path, token)
        return DraftTree(children, told)
