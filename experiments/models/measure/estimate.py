"""One estimate of how fast a candidate is, from all that is known of it, with its interval.

A candidate writes `m / s` tokens a second: `m` tokens a block over `s` seconds of a block. `m` is what is expected
after contexts, times one factor for all candidates: the mean of 1 and of how many times the tokens that were expected
of them the blocks of all timed texts had, each weighed by the inverse of its variance. So what texts are like is taken
from all that was measured, and differences between candidates from what is exact or from the same trees: one law reads
alike everywhere, and a deeper tree never less than its own upper part. Of texts that end inside a block only the part
that was written counts. `s` is compared root by root: candidates write after the same root next to each other, and
single interruptions do not change the median over rounds. Roots count by the seconds of their texts, as for a clock
around all of them.

The best of many estimates is too high on average. So the chosen candidate writes further texts beside `generate` alone:
its seconds come from these only, its tokens from all texts, as above.

Intervals are for 95 %. They come from leaving out each root with all its contexts and texts, the same for both
candidates that are compared; of few roots, from contexts and from the median of texts, for these roots alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, hypot, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, stdtrit

from draftproof.experiments.grid.groups import FEWEST
from draftproof.experiments.models.expect.expected import AlongText
from draftproof.experiments.models.measure.rounds import NORMAL, Turn
from draftproof.experiments.models.measure.writers import GENERATE

#: Of fewer than three rounds texts count up to so many median deviations from the median.
OUTLYING = 4.0


class Interval(NamedTuple):
    """An estimate and where it lies with 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def median_interval(values: Any) -> Interval:
    """The median with its distribution-free interval; of fewer than six values the mean with Student's."""
    values = np.sort(np.asarray(values, dtype=float))
    if len(values) < 6:
        mean = float(values.mean())
        if len(values) < 2:
            return Interval(mean, -np.inf, np.inf)
        half = float(stdtrit(len(values) - 1, 0.975)) * float(values.std(ddof=1)) / sqrt(len(values))
        return Interval(mean, mean - half, mean + half)
    below = bdtr(np.arange(len(values)), len(values), 0.5)
    out = int((below < 0.025).sum())  # so many at either end, at most 2.5 % of the mass below
    return Interval(float(np.median(values)), float(values[out - 1]), float(values[-out]))


@dataclass(frozen=True)
class Level:
    """How many times the expected tokens the blocks of all candidates had.

    counts: tokens, and those expected of as many blocks, shape `(rounds, roots, 2)`. spread: standard error of what is
    expected, relative, as far as contexts are not those of the texts.
    """

    counts: Any
    spread: float

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Of what is expected and of what was measured, relative, as if contexts and texts were independent."""
        single = self.counts.reshape(-1, 2)
        if len(single) < 2:
            return self.spread**2, float("inf")
        residuals = single[:, 0] - self._measured(single) * single[:, 1]
        scale = len(single) / (len(single) - 1) / single[:, 1].sum() ** 2
        return self.spread**2, float((residuals**2).sum() * scale)

    @cached_property
    def weight(self) -> float:
        """Of what is expected, whose factor is 1."""
        expected, measured = self.variances
        if expected == 0 or np.isinf(measured):
            return 1.0
        return measured / (expected + measured)

    @property
    def factor(self) -> float:
        return self._factor(self.counts)

    @property
    def error(self) -> float:
        """The standard error of the factor as if contexts and texts were independent."""
        expected, measured = self.variances
        rest = (1 - self.weight) ** 2 * measured if self.weight < 1 else 0.0
        return sqrt(self.weight**2 * expected + rest)

    def without(self, root: int) -> float:
        return self._factor(np.delete(self.counts, root, axis=1))

    def _factor(self, counts: Any) -> float:
        return self.weight + (1 - self.weight) * self._measured(counts)

    def _measured(self, counts: Any) -> float:
        tokens, wanted = counts.reshape(-1, 2).sum(axis=0)
        return float(tokens / wanted)


@dataclass(frozen=True)
class BlockTokens:
    """Tokens a block of one law. expected: after contexts; texts: timed ones, round by round and root by root."""

    expected: AlongText
    texts: Sequence[Sequence[Turn]]
    level: Level

    @cached_property
    def _counts(self) -> Any:
        """Whole tokens, blocks and written tokens by root, summed over rounds."""
        counts = [[(each.tokens, each.blocks, each.written) for each in texts] for texts in self.texts]
        return np.array(counts, dtype=float).sum(axis=0)

    @property
    def misfit(self) -> float:
        """By how many standard errors of its own texts and contexts what was measured is more than the estimate."""
        single = np.array([(each.tokens, each.blocks) for texts in self.texts for each in texts], dtype=float)
        gaps, blocks = single[:, 0] - self.mean * single[:, 1], float(single[:, 1].sum())
        own = float(gaps.std(ddof=1)) * sqrt(len(gaps)) / blocks if len(gaps) > 1 else 0.0
        error = hypot(own, self.expected.spread)
        return float(gaps.sum()) / blocks / error if error > 0 else 0.0

    @property
    def mean(self) -> float:
        return self.expected.mean * self.level.factor

    @property
    def error(self) -> float:
        """The standard error as if contexts and texts were independent."""
        return self.expected.mean * self.level.error

    @property
    def written(self) -> float:
        """Of texts of this length, the logarithm of tokens a block, without those behind the end."""
        return self._written(self.mean, self._counts)

    def without_roots(self) -> Any:
        """`written` with each root left out in turn."""
        roots = len(self._counts)
        means = [self.expected.without(root, roots) * self.level.without(root) for root in range(roots)]
        return np.array([self._written(mean, np.delete(self._counts, root, axis=0)) for root, mean in enumerate(means)])

    def _written(self, mean: float, counts: Any) -> float:
        tokens, _, written = counts.sum(axis=0)
        return log(mean * written / tokens)


@dataclass
class Rounds:
    """What was measured. expected: tokens a block by candidate, schemes: theirs, which tell who may share a law.

    texts: by candidate (its number) or way of writing, round by round, root by root. before: earlier rounds, from which
    tokens a block are estimated too, but not seconds.
    """

    expected: Sequence[AlongText]
    schemes: Sequence[object]
    texts: dict[int | str, list[list[Turn]]] = field(default_factory=dict)
    before: Rounds | None = None

    def add(self, round_: Mapping[int | str, list[Turn]]) -> None:
        for who, texts in round_.items():
            self.texts.setdefault(who, []).append(texts)

    @property
    def count(self) -> int:
        return len(self.texts.get(GENERATE, ()))

    def law_of(self, number: int) -> list[int]:
        """The measured candidates with the law of this one."""
        own = self.expected[number]
        return [
            other
            for other in self.texts
            if isinstance(other, int)
            and (
                other == number or (self.schemes[other] == self.schemes[number] and own.coincides(self.expected[other]))
            )
        ]

    def block_tokens(self, number: int) -> BlockTokens:
        texts = [texts for other in self.law_of(number) for texts in self.texts[other]]
        return BlockTokens(self.expected[number], texts, self.level)

    @property
    def level(self) -> Level:
        """Of all candidates that were measured, also before."""
        measured = {number: own for number, own in self.texts.items() if isinstance(number, int)}
        counts = np.zeros((max(map(len, measured.values())), len(next(iter(measured.values()))[0]), 2))
        for number, own in measured.items():
            mean = self.expected[number].mean
            counts[: len(own)] += [[(each.tokens, mean * each.blocks) for each in texts] for texts in own]
        if self.before is not None:
            counts = np.concatenate([self.before.level.counts, counts])
        spreads = [self.expected[number].spread / self.expected[number].mean for number in measured]
        return Level(counts, float(np.mean(spreads)))

    def ratio(self, who: int | str, to: int | str = GENERATE) -> Interval:
        """How many times the tokens a second of another; by the rounds that both ran in."""
        if who == to:
            return Interval(1.0, 1.0, 1.0)
        seconds, left = self._seconds(who, to)
        tokens, left_tokens, half = self._tokens(who, to)
        middle = seconds + tokens
        if len(left) < FEWEST:
            timed = median_interval(self._logs(who, to).ravel())
            below, above = hypot(timed.mean - timed.low, half), hypot(timed.high - timed.mean, half)
        else:
            below = above = _jackknife(left + left_tokens)
        if to == GENERATE:
            return Interval(exp(middle), exp(middle - below), _exp(middle + above))
        # as the ranking has it, which goes by ratios to `generate`; the interval holds that of either way
        ranked = log(self.ratio(who).mean / self.ratio(to).mean)
        return Interval(exp(ranked), exp(min(middle, ranked) - below), _exp(max(middle, ranked) + above))

    def _turns(self, who: int | str, beside: int | str, name: str) -> Any:
        """Something of every text, of as many rounds as both have, shape `(rounds, roots)`."""
        rounds = min(len(self.texts[who]), len(self.texts[beside]))
        return np.array([[getattr(each, name) for each in texts] for texts in self.texts[who][:rounds]], dtype=float)

    def _logs(self, who: int | str, to: int | str) -> Any:
        """By how much a block is quicker, text by text, in logarithms."""
        return np.log(self._turns(to, who, "block")) - np.log(self._turns(who, to, "block"))

    def _seconds(self, who: int | str, to: int | str) -> tuple[float, Any]:
        """The logarithm of the ratio of seconds of a block of all texts; and of those without each root in turn."""
        logs = self._logs(who, to)
        if len(logs) < 3:
            middle = np.median(logs)
            room = OUTLYING * np.median(abs(logs - middle))
            logs = np.clip(logs, middle - room, middle + room)
        slow = np.median(self._turns(to, who, "block"), axis=0)
        quick = slow * np.exp(-(np.median(logs, axis=0)))
        counts = [self._turns(*both, "blocks").sum(axis=0) for both in ((to, who), (who, to))]

        def ratio(kept: Any) -> float:
            first, second = (
                float((seconds * blocks)[kept].sum() / blocks[kept].sum())
                for seconds, blocks in zip((slow, quick), counts, strict=True)
            )
            return log(first / second)

        roots = np.arange(len(slow))
        return ratio(roots), np.array([ratio(roots != root) for root in roots if len(roots) > 1])

    def _tokens(self, who: int | str, to: int | str) -> tuple[float, Any, float]:
        """The logarithm of the ratio of tokens a block; without each root in turn; and half its interval for these."""
        both = [None if isinstance(each, str) else self.block_tokens(each) for each in (who, to)]
        roots = len(self.texts[who][0])
        if isinstance(who, int) and isinstance(to, int) and to in self.law_of(who):
            return 0.0, np.zeros(roots), 0.0
        mean = sum(sign * each.written for sign, each in zip((1, -1), both, strict=True) if each is not None)
        if roots < FEWEST:
            return mean, np.zeros(roots), NORMAL * hypot(*(each.error / each.mean for each in both if each is not None))
        left = [np.zeros(roots) if each is None else each.without_roots() for each in both]
        return mean, left[0] - left[1], 0.0

    def rate(self, who: int | str) -> float:
        """Tokens a second: those of `generate` in the median text, times the ratio to it."""
        plain = [each.block for texts in self.texts[GENERATE] for each in texts]
        return self.ratio(who).mean / float(np.median(plain))

    def measured(self, who: int | str) -> float:
        """Tokens that were written over the seconds that they took, nothing else."""
        turns = [each for texts in self.texts[who] for each in texts]
        return sum(each.written for each in turns) / sum(each.seconds for each in turns)

    @property
    def order(self) -> list[int]:
        """The candidates that ran in all rounds, the fastest first."""
        last = [who for who, each in self.texts.items() if isinstance(who, int) and len(each) == self.count]
        return sorted(last, key=lambda who: -self.ratio(who).mean)


def _jackknife(left: Any) -> float:
    """Half the 95 % interval of an estimate, from those without each root."""
    count = len(left)
    error = sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    return float(stdtrit(count - 1, 0.975)) * error


def _exp(value: float) -> float:
    return exp(value) if value < 700 else float("inf")
