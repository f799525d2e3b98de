"""Draft schemes: the random rules that build a draft tree from the draft process `q`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from simulator.errors import InvalidInput
from simulator.protocol import Coin, Context, TokenProcess
from simulator.trees import DraftTree


@dataclass(frozen=True)
class Delayed:
    """The delayed tree: a trunk of `L1` tokens from `q`, then `K` i.i.d. branches of `L2` tokens.

    Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, and `L2 >= 1` where `K > 1`.
    """

    K: int = 2
    L1: int = 0
    L2: int = 2

    name: ClassVar[str] = "delayed"

    def __post_init__(self) -> None:
        if self.K < 1:
            raise InvalidInput(f"K = {self.K}: a draft tree needs at least one branch; use K >= 1")
        if self.L1 < 0 or self.L2 < 0:
            raise InvalidInput(f"L1 = {self.L1}, L2 = {self.L2}: lengths cannot be negative; use 0 or more")
        if self.L2 == 0 and self.K > 1:
            raise InvalidInput(f"L2 = 0 leaves no room for K = {self.K} branches; use K = 1 or L2 >= 1")

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
        return sum(_count_paths(draft, trunk, self.L2) ** self.K for trunk in _support(draft, (), self.L1))

    def reductions(self) -> list[Delayed]:
        """Every delayed tree that is no larger, itself included: shallowest first, then fewest drafted tokens."""
        single = [Delayed(1, 0, length) for length in range(self.depth + 1)]
        several = [
            Delayed(K, L1, L2)
            for K in range(2, self.K + 1)
            for L1 in range(self.L1 + 1)
            for L2 in range(1, self.L2 + 1)
        ]
        return sorted(single + several, key=lambda scheme: (scheme.depth, scheme.nodes, scheme.K))

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data, for rows and instance files."""
        return {"name": self.name, "K": self.K, "L1": self.L1, "L2": self.L2}

    def __str__(self) -> str:
        return f"delayed(K={self.K}, L1={self.L1}, L2={self.L2})"


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


def _count_paths(draft: TokenProcess, start: Context, length: int) -> int:
    return len(_support(draft, start, length))


SCHEMES = {Delayed.name: Delayed}


def scheme_from_dict(fields: Any) -> Delayed:
    """The scheme that `as_dict` described; raises `InvalidInput` on anything else."""
    if not isinstance(fields, dict) or fields.get("name") not in SCHEMES:
        raise InvalidInput(f"unknown scheme {fields!r}; known: {', '.join(SCHEMES)}")
    values = {key: value for key, value in fields.items() if key != "name"}
    if set(values) != {"K", "L1", "L2"} or not all(type(value) is int for value in values.values()):
        raise InvalidInput(f"scheme {fields!r} must have whole numbers K, L1 and L2")
    return Delayed(**values)
