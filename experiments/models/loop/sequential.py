"""E-processes (replaced below)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import TableProcess, context_index

#: Shares that are bet, equally much with each: for numbers that hardly differ, up to those that may be 0.
SHARES = 1 - np.geomspace(1, 1e-4, 25)[1:]
#: Halvings of an interval of length 1.
_STEPS = 40


def mean_interval(numbers: Any, lowest: float, highest: float, level: float = 0.95) -> tuple[float, float]:
    """The interval for the mean of the law of `numbers`, shape `(n,)`, all between `lowest` and `highest`."""
    if lowest == highest:
        return lowest, highest
    scaled = np.clip((np.asarray(numbers, dtype=np.float64) - lowest) / (highest - lowest), 0, 1)
    needed = np.log(2 / (1 - level))
    low, high = _least(scaled, needed), 1 - _least(1 - scaled, needed)
    return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def _least(scaled: Any, needed: float) -> float:
    """The smallest mean that bets on more do not refute; the end that is returned is on the safe side."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        wealth = np.logaddexp.reduce(np.log1p(SHARES[:, None] * (scaled / middle - 1)).sum(axis=1)) - np.log(
            len(SHARES)
        )
        low, high = (middle, high) if wealth >= needed else (low, middle)
    return low


#: Trust in the target of the half that learns, in tokens seen.
TRUST = (30.0, 300.0, 3000.0)
#: How far the other half thinks that the rows lean to the draft.
SUSPECTED = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True)
class LeaningRows:
    """The rows after one root, depth by depth, shape `(V**d, V)`: the target's for every token that is looked at.

    draft: as far as there are drafts; beyond nobody leans.
    """

    target: tuple[Any, ...]
    draft: tuple[Any, ...]

    @classmethod
    def of(cls, case: Case, length: int) -> LeaningRows:
        """Of the first `length` tokens of a case given by tables."""
        processes = [process for process in (case.target, case.draft) if isinstance(process, TableProcess)]
        target, draft = (
            tuple(np.asarray(table, np.float64) for table in process.tables[:length]) for process in processes
        )
        return cls(target, draft)

    def leaning(self, share: float, towards: str = "draft") -> list[Any]:
        """The target's rows moved by this share to the draft's, or to "uniform" ones; negative: away from them."""
        leaning = []
        for depth, p in enumerate(self.target):
            goal = (
                p * 0 + 1 / p.shape[1] if towards == "uniform" else self.draft[depth] if depth < len(self.draft) else p
            )
            moved = np.maximum(p + share * (goal - p), 0)
            leaning.append(moved / moved.sum(1, keepdims=True))
        return leaning

    @cached_property
    def suspicions(self) -> list[list[Any]]:
        """For each of `SUSPECTED`, depth by depth, the logarithm of its rows over the target's."""
        with np.errstate(divide="ignore", invalid="ignore"):  # where p is 0 no token ever comes
            return [
                [np.log(moved / p) for moved, p in zip(self.leaning(share), self.target, strict=True)]
                for share in SUSPECTED
            ]


@dataclass(frozen=True)
class Seen:
    """How often each token came after each context of one root: `counts[d]` of shape `(V**d, V)`, `d < length`."""

    counts: tuple[Any, ...]

    @classmethod
    def of(cls, texts: Any, vocab_size: int) -> Seen:
        """Of runs given by their first tokens, shape `(runs, length)`."""
        length = texts.shape[1]
        whole = np.zeros(vocab_size**length, dtype=np.int64)
        index = [context_index(tuple(int(token) for token in text), vocab_size) for text in texts]
        np.add.at(whole, index, 1)
        return cls.of_outcomes(whole, vocab_size, length)

    @classmethod
    def of_outcomes(cls, whole: Any, vocab_size: int, length: int) -> Seen:
        """Of how often each text of this length came, shape `(V**length,)`."""
        return cls(tuple(whole.reshape(vocab_size**depth, vocab_size, -1).sum(-1) for depth in range(length)))

    def __add__(self, other: Seen) -> Seen:
        return Seen(tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))


def log_wealth(seen: Sequence[Seen], rows: Sequence[LeaningRows]) -> float:
    """The logarithm of what the gambler has: one item a root, bets on all of them with the same money.

    It depends on counts only, so it is the same for every order in which the runs came. Infinite where a token came
    that the target never gives.
    """
    if any(
        (p[counts > 0] <= 0).any() for each, root in zip(seen, rows, strict=True) for counts, p in _both(each, root)
    ):
        return inf
    learned = [
        sum(
            _learning(counts, p, trust)
            for each, root in zip(seen, rows, strict=True)
            for counts, p in _both(each, root)
        )
        for trust in TRUST
    ]
    suspected = [
        sum(_suspecting(each, root.suspicions[number]) for each, root in zip(seen, rows, strict=True))
        for number in range(len(SUSPECTED))
    ]
    halves = logsumexp(learned) - log(len(learned)), logsumexp(suspected) - log(len(suspected))
    return float(logsumexp(halves) - log(2))


def _both(seen: Seen, rows: LeaningRows) -> list[tuple[Any, Any]]:
    """Counts and target rows, depth by depth."""
    return list(zip(seen.counts, rows.target, strict=False))


def _learning(counts: Any, rows: Any, trust: float) -> float:
    """The logarithm of what learning bets at one depth are worth."""
    visited = counts.sum(1) > 0
    counts, rows = counts[visited], rows[visited]
    possible = rows > 0
    prior, came = trust * rows[possible], counts[possible]
    won = (gammaln(prior + came) - gammaln(prior) - came * np.log(rows[possible])).sum()
    return float(won - (gammaln(trust + counts.sum(1)) - gammaln(trust)).sum())


def _suspecting(seen: Seen, ratios: Sequence[Any]) -> float:
    """The logarithm of what bets on one lean are worth; minus infinity where such a gambler is ruined."""
    return sum(
        float(counts[counts > 0] @ ratio[counts > 0]) for counts, ratio in zip(seen.counts, ratios, strict=False)
    )


@dataclass(frozen=True)
class Power:
    """What the test finds. distance: total variation of the first `length` tokens; share: how often it was found.

    towards: where the rows lean, and leaning how far. runs: from all roots together.
    """

    towards: str
    leaning: float
    distance: float
    share: float
    runs: int
    length: int


def least_found(
    rows: Sequence[LeaningRows],
    towards: str,
    runs: int,
    level: float,
    generator: np.random.Generator,
    wanted: float = 0.9,
    trials: int = 100,
) -> Power:
    """The smallest bias that the test finds with probability `wanted` by `runs` runs from each root.

    towards: "draft", or "uniform", of which the gambler knows nothing. Each bias is judged by `trials` draws from its
    exact law, at the last run only: who looks more often finds it sooner. A share below `wanted` in the result means
    that even the largest bias of its kind is found less often.
    """
    length = min(len(each.target) for each in rows)

    def power(share: float) -> Power:
        laws = [joint(each.leaning(share, towards)) for each in rows]
        honest = [joint(each.target) for each in rows]
        distance = float(np.mean([abs(a - b).sum() / 2 for a, b in zip(laws, honest, strict=True)]))
        size, found = rows[0].target[0].shape[1], 0
        for _ in range(trials):
            seen = [Seen.of_outcomes(generator.multinomial(runs, law / law.sum()), size, length) for law in laws]
            found += log_wealth(seen, rows) >= -log(level)
        return Power(towards, share, distance, found / trials, runs * len(rows), length)

    low, high = 0.0, power(1.0)
    while high.share >= wanted and high.leaning - low > 0.1 * high.leaning:
        middle = power((low + high.leaning) / 2)
        if middle.share >= wanted:
            high = middle
        else:
            low = middle.leaning
    return high


def joint(tables: Sequence[Any]) -> Any:
    """The law of the first tokens, one a table: shape `(V**length,)`, in lexicographic order."""
    mass = np.ones(1)
    for rows in tables:
        mass = (mass[:, None] * rows).reshape(-1)
    return mass
