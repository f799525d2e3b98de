"""How many times as fast as `generate` a candidate writes, from texts that both wrote side by side.

A text of a candidate and the one of `generate` beside it follow the same root and have as many tokens. After each root
the ratio of their seconds is taken: number of blocks times the median seconds of a block, so that single interruptions
do not count. The logarithms of these ratios are averaged over roots, with Student's interval; of fewer than `FEWEST`
roots over texts, for these roots alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from draftproof.experiments.grid.groups import FEWEST
from draftproof.experiments.models.measure.rounds import Turn


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
