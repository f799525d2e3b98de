"""Drafts of different lengths: of the paths of one request, or of the requests of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts._shape import Parameters
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, DraftScheme, TokenProcess


@dataclass(frozen=True)
class Ragged(Parameters):
    """One path from `q` for every length, the longest first. Raises `InvalidInput` for lengths in another order."""

    lengths: tuple[int, ...] = (2, 1)

    name: ClassVar[str] = "ragged"

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or list(self.lengths) != sorted(self.lengths, reverse=True):
            raise InvalidInput(f"lengths {self.lengths} must be at least 1, the longest first")

    @property
    def depth(self) -> int:
        """The largest length."""
        return max(self.lengths)

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
        return prod(Delayed(1, 0, length).count(draft) for length in self.lengths)

    def reductions(self) -> list[DraftScheme]:
        """Fewer and shorter paths, the shallowest and smallest first; those of one length as delayed trees."""
        shapes = {tuple(filter(None, shorter)) for shorter in product(*(range(n + 1) for n in self.lengths))}
        ordered = [shape for shape in shapes if shape and list(shape) == sorted(shape, reverse=True)]
        ordered.sort(key=lambda shape: (shape[0], sum(shape), shape))
        return [Ragged(shape) if len(set(shape)) > 1 else Delayed(len(shape), 0, shape[0]) for shape in ordered]

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.lengths))})"


@dataclass(frozen=True)
class ByRequest(Ragged):
    """In a batch, one path from `q` for each request, of these lengths in turn; 0 where it has no draft.

    Raises `InvalidInput` for a negative length, or where all are 0.
    """

    lengths: tuple[int, ...] = (1, 0)

    name: ClassVar[str] = "by_request"

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 0 or max(self.lengths) == 0:
            raise InvalidInput(f"lengths {self.lengths} must be at least 0, and not all 0")

    def of(self, request: int) -> Delayed:
        """The scheme of a request, by its number."""
        return Delayed(1, 0, self.lengths[request % len(self.lengths)])

    def reductions(self) -> list[DraftScheme]:
        """No request's path longer, and one at least that is drafted."""
        shapes = [shape for shape in product(*(range(length + 1) for length in self.lengths)) if any(shape)]
        return [ByRequest(shape) for shape in sorted(shapes, key=lambda shape: (max(shape), sum(shape), shape))]


def of_lengths(lengths: Sequence[int], several: bool, batch: int) -> DraftScheme:
    """The scheme of paths of these lengths, in a batch one for each request.

    several: whether a function takes several paths. Raises `InvalidInput` where it cannot have these.
    """
    if batch > 1:
        if len(lengths) not in (1, batch):
            given = ",".join(map(str, lengths))
            raise InvalidInput(f"lengths {given}: give one for each of {batch} requests, or one for all")
        return ByRequest(tuple(lengths))
    if not several:
        raise InvalidInput("a function that takes one path has lengths only in a batch; leave them out")
    return Ragged(tuple(lengths))
