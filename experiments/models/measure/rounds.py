"""Timing of candidates in turns, so that a slow period affects all of them, and ratios of their rates.

How many times as fast as `generate` a candidate writes is told from texts that both wrote side by side. They follow the
same root and have as many tokens. After each root the ratio of their seconds is taken: number of blocks times the
median seconds of a block, so that single interruptions do not count. The logarithms of these ratios are averaged over
roots, with Student's interval; of fewer than `FEWEST` roots over texts, for these roots alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from draftproof.experiments.grid.groups import FEWEST

T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """What a candidate wrote in one turn. seconds: without those of the prompt.

    tokens: of all blocks, also of the part of the last block that is beyond the end of the text, as a longer text would
    use it. parts: seconds by part.
    """

    tokens: int
    blocks: int
    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_fields(cls, fields: Sequence[float]) -> Turn:
        """The turn with these `fields`."""
        tokens, blocks, seconds = fields
        return cls(int(tokens), int(blocks), seconds)

    @property
    def fields(self) -> list[float]:
        """Everything but the parts, for a row."""
        return [self.tokens, self.blocks, self.seconds]

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    @property
    def block(self) -> float:
        return self.seconds / self.blocks


def one_round(candidates: Sequence[Callable[[], T]], number: int) -> list[T]:
    """Call every candidate, in every other round backwards; the results in the order of the candidates."""
    step = -1 if number % 2 else 1
    return [candidate() for candidate in candidates[::step]][::step]


def timed_rounds(candidates: Sequence[Callable[[], T]], rounds: int) -> list[tuple[T, ...]]:
    """The results of each candidate in so many rounds, after one that warms up."""
    return list(zip(*[one_round(candidates, number) for number in range(-1, rounds)][1:], strict=True))


@dataclass(frozen=True)
class Text:
    """A text of a candidate, and the one of `generate` beside it after the same root."""

    root: int
    own: Turn
    plain: Turn


class Interval(NamedTuple):
    """An estimate and where it lies with 95 %."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_logs(cls, logs: Any) -> Interval:
        """Of a ratio, from independent logarithms of it; a single one has no upper end."""
        mean = float(logs.mean())
        if len(logs) < 2:
            return cls(exp(mean), 0.0, inf)
        half = float(stdtrit(len(logs) - 1, 0.975)) * float(logs.std(ddof=1)) / sqrt(len(logs))
        return cls(exp(mean), exp(mean - half), exp(mean + half) if mean + half < 700 else inf)

    def fields(self, name: str) -> dict[str, Any]:
        """The estimate by this name, and its ends as `NAME_interval`."""
        return {name: self.mean, f"{name}_interval": [self.low, self.high]}

    @classmethod
    def of_ratio(cls, rates: Any, to: Any = 1.0) -> Interval:
        """Of these rates to the others, round by round."""
        return cls.of_logs(np.log(rates) - np.log(to))


def log_speeds(texts: Sequence[Text]) -> Any:
    """The logarithm of how many times as fast the candidate wrote, after each root; after few roots of each text."""
    roots: dict[int, list[Text]] = {}
    for text in texts:
        roots.setdefault(text.root, []).append(text)
    parts = list(roots.values()) if len(roots) >= FEWEST else [[text] for text in texts]
    return np.array(
        [log(_seconds([text.plain for text in part]) / _seconds([text.own for text in part])) for part in parts]
    )


def speed_up(texts: Sequence[Text]) -> Interval:
    """How many times as fast as `generate`."""
    return Interval.of_logs(log_speeds(texts))


def beside(texts: Sequence[Text], others: Sequence[Text]) -> Interval:
    """How many times as fast as another candidate, from the first texts, as many as both wrote."""
    count = min(len(texts), len(others))
    return Interval.of_logs(log_speeds(texts[:count]) - log_speeds(others[:count]))


def _seconds(turns: Sequence[Turn]) -> float:
    return float(np.median([turn.block for turn in turns])) * sum(turn.blocks for turn in turns)
