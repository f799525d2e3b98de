"""What schemes whose trees adapt to the draft have in common: trees counted by listing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import islice, product
from typing import Any, ClassVar, Self

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._shape import LARGEST, Parameters
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.numbers import as_fraction
from draftproof.simulator.protocol import Coin, TokenProcess

#: Counting stops with `TooLarge` above so many draft outcomes.
MOST_OUTCOMES = 1_000_000
#: Floats this close, relatively, count as a tie: the rounding of products of some thousand rows.
ROUNDING = 2.0**-40


@dataclass(frozen=True)
class Bounded(Parameters):
    """A scheme with bounds for its numbers: whole ones of 0 to 1000, fractions in [0, 1].

    positive: the parameters that must be above 0. shrunk: those that `reductions` makes smaller, the last one first.
    Raises `InvalidInput` for a number out of bounds.
    """

    positive: ClassVar[tuple[str, ...]] = ()
    shrunk: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for parameter in fields(self):
            check = {int: _whole, Fraction: _share}.get(type(parameter.default))
            if check is not None:
                check(self, parameter.name, parameter.name in self.positive)

    def reductions(self) -> Sequence[Self]:
        """The same with smaller parameters, the smallest first."""
        ranges = [range(int(name in self.positive), getattr(self, name) + 1) for name in self.shrunk]
        return [replace(self, **dict(zip(self.shrunk, values, strict=True))) for values in product(*ranges)]


class Adapting(Bounded):
    """A scheme that counts its trees by listing them."""

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """Draft one tree."""
        raise NotImplementedError

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability; raises `TooLarge` above a million."""
        drawn = outcomes(lambda coin: self.draw(draft, coin), arithmetic_of(draft.row(())))
        number = sum(1 for _ in islice(drawn, MOST_OUTCOMES + 1))
        if number > MOST_OUTCOMES:
            raise TooLarge(f"{self} has more than {MOST_OUTCOMES:,} draft trees; use fewer nodes or a smaller V")
        return number


@dataclass(frozen=True)
class BestFirst(Adapting):
    """A scheme that drafts at the best place of all next: at most `nodes` tokens, on paths of at most `depth`.

    Its text and data have no `depth` where the nodes bound it. Raises `InvalidInput` unless both are whole numbers.
    """

    nodes: int = 4
    depth: int = field(default=LARGEST, kw_only=True)

    shrunk: ClassVar[tuple[str, ...]] = ("nodes",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "depth", min(self.depth, self.drawn))

    @property
    def drawn(self) -> int:
        """The number of tokens that are drawn."""
        return self.nodes

    def _parameters(self) -> dict[str, Any]:
        given = super()._parameters()
        return given if self.depth < self.drawn else {key: value for key, value in given.items() if key != "depth"}

    def longest(self, draft: TokenProcess, most: int) -> int:
        """At least the length of the longest path, if none is longer than `most`; asks for rows above `most`."""
        raise NotImplementedError


def _whole(scheme: Bounded, key: str, positive: bool) -> None:
    value = getattr(scheme, key)
    if type(value) is not int or not positive <= value <= LARGEST:
        raise InvalidInput(f"{scheme.name}: {key} = {value!r} must be a whole number of {int(positive)} to {LARGEST}")


def _share(scheme: Bounded, key: str, positive: bool) -> None:
    value = as_fraction(getattr(scheme, key), f"{scheme.name}: {key}")
    object.__setattr__(scheme, key, value)
    if not 0 <= value <= 1 or (positive and value == 0):
        raise InvalidInput(f"{scheme.name}: {key} = {value} must lie in {'(0' if positive else '[0'}, 1]")


def largest(values: list[Any], count: int) -> list[int]:
    """The places of the `count` largest of positive values, the largest first, ties to the earlier one.

    Floats are ranked up to `ROUNDING`, so that a tie of exact numbers is one in floats too.
    """
    exact = any(not isinstance(value, (int, float)) for value in values)
    array = np.array(values, dtype=object if exact else np.float64)
    order = (-array).argsort(kind="stable")
    ranked = array[order]
    lower = ranked[1:] < (ranked[:-1] if exact else ranked[:-1] * (1 - ROUNDING))
    rank = np.concatenate(([0], np.cumsum(lower.astype(np.int64))))
    return [int(place) for place in order[np.lexsort((order, rank))][:count]]


def reaches(value: Any, threshold: Fraction) -> bool:
    """Whether a value is at least the threshold; floats up to `ROUNDING`, so that equality of exact numbers counts."""
    slack = 1 - ROUNDING if isinstance(value, float) else 1
    return bool(value * threshold.denominator >= threshold.numerator * slack)


def exceeds(value: Any, threshold: Fraction) -> bool:
    """Whether a value is larger than the threshold; floats by more than `ROUNDING`."""
    slack = 1 + ROUNDING if isinstance(value, float) else 1
    return bool(value * threshold.denominator > threshold.numerator * slack)


def number(value: Any) -> Any:
    """An entry of a row as a number: tensors as floats, exact ones as they are."""
    return float(value) if hasattr(value, "new_tensor") or isinstance(value, np.floating) else value
