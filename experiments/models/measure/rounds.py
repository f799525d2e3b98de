"""Timing of candidates in turns, so that a slow period affects all of them, and ratios of their rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, sqrt
from typing import Any, TypeVar

import numpy as np
from scipy.special import stdtrit

T = TypeVar("T")


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
    def of_fields(cls, fields: Sequence[float]) -> Turn:
        """The turn with these `fields`."""
        tokens, blocks, seconds, written = fields
        return cls(int(tokens), int(blocks), seconds, {}, int(written))

    @property
    def fields(self) -> list[float]:
        """Everything but the parts, for a row."""
        return [self.tokens, self.blocks, self.seconds, self.written]

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
) -> list[list[T]]:
    """Call every candidate with the number of each round, in every other one backwards; the results of each.

    warm_up: rounds before the first one, with negative numbers, whose results are dropped.
    """
    turns: list[list[T]] = [[] for _ in candidates]
    for number in range(-warm_up, rounds):
        places = range(len(candidates))
        for place in reversed(places) if number % 2 == 1 else places:
            made = candidates[place](number)
            if number >= 0:
                turns[place].append(made)
    return turns


def ratio(rates: Any, to: Any = 1.0) -> tuple[float, float, float]:
    """The ratio of these rates to the others with its 95 % interval, from at least two paired rounds."""
    logs = np.log(rates) - np.log(to)
    mean = float(np.mean(logs))
    half = float(stdtrit(len(logs) - 1, 0.975)) * float(np.std(logs, ddof=1)) / sqrt(len(logs))
    return exp(mean), exp(mean - half), exp(mean + half)
