"""Timing of candidates in turns, so that a slow period affects all of them, and ratios of their rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, hypot, sqrt
from typing import Any, TypeVar

import numpy as np
from scipy.special import stdtrit

from draftproof.experiments.models.loop.generation import Generation
from draftproof.experiments.shared.progress import Tick

T = TypeVar("T")

#: The quantile of a normal distribution for 95 %.
NORMAL = 1.96


@dataclass(frozen=True)
class Turn:
    """What a candidate wrote in one turn. seconds: without those of the prompt.

    tokens: of all blocks, also of the part of the last block that is beyond the end of the text, as a longer text would
    use it. written: tokens of the text itself. parts: seconds by part.
    """

    tokens: int
    blocks: int
    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)
    written: int = 0

    @classmethod
    def of(cls, text: Generation) -> Turn:
        tokens = sum(block.depth + 1 for block in text.blocks)
        return cls(tokens, len(text.blocks), text.elapsed - text.seconds["prompt"], text.seconds)

    @classmethod
    def joined(cls, turns: Sequence[Turn]) -> Turn:
        names = dict.fromkeys(name for turn in turns for name in turn.parts)
        return cls(
            sum(turn.tokens for turn in turns),
            sum(turn.blocks for turn in turns),
            sum(turn.seconds for turn in turns),
            {name: sum(turn.parts.get(name, 0.0) for turn in turns) for name in names},
            sum(turn.written for turn in turns),
        )

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    @property
    def block(self) -> float:
        return self.seconds / self.blocks


def timed_rounds(
    candidates: Sequence[Callable[[int], T]],
    rounds: int,
    warm_up: int = 0,
    backwards: Callable[[int], bool] = lambda number: number % 2 == 1,
    progress: Tick | None = None,
) -> list[list[T]]:
    """Call every candidate with the number of each round; for every candidate the list of its results.

    warm_up: rounds before the first one, with negative numbers, whose results are dropped. backwards: whether the
    candidates run in reverse order in a round. progress: called with 1 after every turn.
    """
    turns: list[list[T]] = [[] for _ in candidates]
    for number in range(-warm_up, rounds):
        places = range(len(candidates))
        for place in reversed(places) if backwards(number) else places:
            made = candidates[place](number)
            if number >= 0:
                turns[place].append(made)
            if progress:
                progress(1)
    return turns


def ratio(rates: Any, to: Any = 1.0, error: float = 0.0) -> tuple[float, float, float]:
    """The ratio of these rates to the others with its 95 % interval, from at least two paired rounds.

    error: a further standard error of the logarithm, common to all rounds.
    """
    logs = np.log(rates) - np.log(to)
    own = float(stdtrit(len(logs) - 1, 0.975)) * float(np.std(logs, ddof=1)) / sqrt(len(logs))
    half, mean = hypot(own, NORMAL * error), float(np.mean(logs))
    return exp(mean), exp(mean - half), exp(mean + half)
