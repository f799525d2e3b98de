"""The stopwatch: candidates take turns in rounds, so that a slow round is slow for all, and ratios of their rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, hypot, sqrt
from typing import Any, TypeVar

import numpy as np
from scipy.stats import t

from draftproof.experiments.models.loop.generation import Generation
from draftproof.experiments.shared.progress import Tick

T = TypeVar("T")

#: The quantile of a normal distribution for 95 %.
NORMAL = 1.96


@dataclass(frozen=True)
class Turn:
    """What a candidate wrote in one turn: tokens of whole blocks, blocks, and seconds without prompts.

    Of a text that ends inside a block the whole block counts: a long text would have used it. parts: seconds by part.
    written: tokens of the text, where it was cut.
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
    """What every candidate makes of each round, given its number: one list a candidate.

    warm_up: rounds before the first one, with numbers below 0, that are not kept. backwards: in which rounds the last
    candidate is the first. progress: told of every turn.
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
    """How many times the other rates these are, with the 95 % interval; at least two rounds, in the same order.

    error: standard error of the logarithm that all rounds share.
    """
    logs = np.log(rates) - np.log(to)
    own = float(t.ppf(0.975, len(logs) - 1)) * float(np.std(logs, ddof=1)) / sqrt(len(logs))
    half, mean = hypot(own, NORMAL * error), float(np.mean(logs))
    return exp(mean), exp(mean - half), exp(mean + half)
