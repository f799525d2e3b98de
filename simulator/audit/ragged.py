"""A draft scheme of independent paths of different lengths, as in a batch where some drafts stop early."""

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, DraftScheme, TokenProcess


@dataclass(frozen=True)
class Ragged:
    """One path from `q` for every length, the longest first. Raises `InvalidInput` for lengths in another order."""

    lengths: tuple[int, ...] = (2, 1)

    name: ClassVar[str] = "ragged"

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or list(self.lengths) != sorted(self.lengths, reverse=True):
            raise InvalidInput(f"lengths {self.lengths} must be at least 1, the longest first")

    @property
    def depth(self) -> int:
        """The largest length."""
        return self.lengths[0]

    @property
    def nodes(self) -> int:
        """Drafted tokens."""
        return sum(self.lengths)

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft path after path."""
        paths = []
        for length in self.lengths:
            context: Context = ()
            while len(context) < length:
                context = (*context, coin.choose(draft.row(context)))
            paths.append(context)
        return DraftTree.from_paths((), paths)

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability."""
        return prod(
            sum(
                all(draft.row(path[:depth])[token] > 0 for depth, token in enumerate(path))
                for path in product(range(draft.vocab_size), repeat=length)
            )
            for length in self.lengths
        )

    def reductions(self) -> list[DraftScheme]:
        """Fewer and shorter paths, the shallowest and smallest first; those of one length as delayed trees."""
        shapes = {tuple(n for n in kept if n) for kept in product(*(range(length + 1) for length in self.lengths))}
        ordered = [shape for shape in shapes if shape and list(shape) == sorted(shape, reverse=True)]
        ordered.sort(key=lambda shape: (shape[0], sum(shape), shape))
        return [Ragged(shape) if len(set(shape)) > 1 else Delayed(len(shape), 0, shape[0]) for shape in ordered]

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"name": self.name, "lengths": list(self.lengths)}

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.lengths))})"
