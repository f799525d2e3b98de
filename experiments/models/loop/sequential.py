"""The sequential test: an e-process against a claimed law, valid at any stopping time.

An e-process is a product of likelihood ratios, the probability of each outcome under an alternative law divided by that
under the claimed law, or an average of such products over several alternatives. If the claimed law is true, its mean is
at most 1 at every stopping time, so the probability that it ever reaches `1 / level` is at most `level` (Ville's
inequality), however often it is looked at. Two tests use it.

`mean_interval`: the means of bounded numbers that a sample of them does not refute. For numbers between 0 and 1 with
mean `m` the ratios are `1 - b + b x / m` for several `b`. The product falls with `m`: where it refutes `m` it refutes
all smaller means. Larger means are refuted by the same test of `1 - x`. The means that neither refutes are an interval
that holds `m` with probability at least `1 - a`, whatever the law of the numbers. Source: Waudby-Smith and Ramdas,
Estimating means of bounded random variables by betting (2024), with `b` that do not depend on the order of the numbers.

`log_e_value`: whether texts have the target's law, from how often each token came after each context. Half of the
alternatives are estimated from the data: with weight `s` of the target, the law after a context `c` is `(s p(y|c) +
n(c, y)) / (s + n(c))` with the counts `n` of the runs before. The other half is shifted towards the draft, as the
output of lossy verifiers is, or away from it: the law is `p + a (q - p)`, cut off at 0, for several positive and
negative `a`; one more is that of corrections drawn from `p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import inf, log
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import TableProcess, context_index

#: The values of `b` in `mean_interval`.
BETS = 1 - np.geomspace(1, 1e-4, 25)[1:]
#: Bisection steps on an interval of length 1.
_STEPS = 40
#: Weights `s` of the target in the estimated alternatives, as a number of tokens.
TARGET_WEIGHTS = (30.0, 300.0, 3000.0)
#: The values of `a`: how far alternatives are shifted towards the draft.
SHIFTS = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4)
#: Bugs of engines whose exact law `engine_law` computes.
BUGS = {
    "correction": "corrections drawn from p",
    "residual": "second drafts judged by a residual that is not normalised",
    "bonus": "bonus tokens drawn from q",
}


def average(logs: Any) -> float:
    """The logarithm of the average of numbers with these logarithms."""
    return float(logsumexp(logs) - log(len(logs)))


def refutes(log_value: float, level: float) -> bool:
    """Whether an e-process with this logarithm refutes the claimed law."""
    return log_value >= -log(level)


def shifted(p: Any, q: Any, share: float) -> Any:
    """Rows of `p` moved by this share to those of `q`, shape `(.., V)`; negative: away from them."""
    moved = np.maximum(p + share * (q - p), 0)
    return moved / moved.sum(-1, keepdims=True)


def mean_interval(numbers: Any, lowest: float, highest: float, level: float = 0.95) -> tuple[float, float]:
    """The interval for the mean of the law of `numbers`, shape `(n,)`, all between `lowest` and `highest`."""
    if lowest == highest:
        return lowest, highest
    scaled = np.clip((np.asarray(numbers, dtype=np.float64) - lowest) / (highest - lowest), 0, 1)
    low, high = _least(scaled, (1 - level) / 2), 1 - _least(1 - scaled, (1 - level) / 2)
    return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def _least(scaled: Any, level: float) -> float:
    """The smallest mean that the test does not refute, rounded down."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        refuted = refutes(average(np.log1p(BETS[:, None] * (scaled / middle - 1)).sum(axis=1)), level)
        low, high = (middle, high) if refuted else (low, middle)
    return low


@dataclass(frozen=True)
class RowsAfter:
    """The rows after one root, depth by depth, shape `(V**d, V)`: the target's for every tested token.

    draft: for the depths that are drafted; at deeper ones no alternative is shifted.
    """

    target: tuple[Any, ...]
    draft: tuple[Any, ...]

    @classmethod
    def of(cls, case: Case, length: int) -> RowsAfter:
        """The rows for the first `length` tokens of a case with tables."""
        processes = [process for process in (case.target, case.draft) if isinstance(process, TableProcess)]
        target, draft = (
            tuple(np.asarray(table, np.float64) for table in process.tables[:length]) for process in processes
        )
        return cls(target, draft)

    def shifted(self, share: float, towards: str = "draft") -> list[Any]:
        """The target's rows moved by this share towards the draft's, or towards "uniform" rows."""
        if towards == "uniform":
            return [shifted(p, p * 0 + 1 / p.shape[1], share) for p in self.target]
        return [p if q is None else shifted(p, q, share) for p, q in self.pairs]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The rows of both models, depth by depth; None where there are no drafts."""
        return list(zip_longest(self.target, self.draft[: len(self.target)]))

    @cached_property
    def ratios(self) -> list[list[Any]]:
        """For each fixed alternative (`SHIFTS`, and corrections from `p`) the log ratios to the target, by depth."""
        corrected = [
            p if q is None else sum(_accepted_and_corrections(p, q, False, "correction")) for p, q in self.pairs
        ]
        with np.errstate(divide="ignore", invalid="ignore"):  # a token with p = 0 never occurs
            return [
                [np.log(moved / p) for moved, p in zip(law, self.target, strict=True)]
                for law in (*(self.shifted(share) for share in SHIFTS), corrected)
            ]


@dataclass(frozen=True)
class Counts:
    """How often each token came after each context of one root: `counts[d]` of shape `(V**d, V)`, `d < length`."""

    counts: tuple[Any, ...]

    @classmethod
    def of(cls, texts: Any, vocab_size: int) -> Counts:
        """Counts of runs given by their first tokens, shape `(runs, length)`."""
        length = texts.shape[1]
        whole = np.zeros(vocab_size**length, dtype=np.int64)
        index = [context_index(tuple(int(token) for token in text), vocab_size) for text in texts]
        np.add.at(whole, index, 1)
        return cls.of_outcomes(whole, vocab_size, length)

    @classmethod
    def of_outcomes(cls, whole: Any, vocab_size: int, length: int) -> Counts:
        """Counts from how often each text of this length occurred, shape `(V**length,)`."""
        return cls(tuple(whole.reshape(vocab_size**depth, vocab_size, -1).sum(-1) for depth in range(length)))

    def __add__(self, other: Counts) -> Counts:
        return Counts(tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))


def log_e_value(counts: Sequence[Counts], rows: Sequence[RowsAfter]) -> float:
    """The logarithm of the e-process against the target's law after several roots, one item each.

    It depends on counts only, so it is the same for every order in which the runs came. Infinite where a token occurred
    that has probability 0 under the target.
    """
    by_depth = [
        pair for each, root in zip(counts, rows, strict=True) for pair in zip(each.counts, root.target, strict=False)
    ]
    if any((p[count > 0] <= 0).any() for count, p in by_depth):
        return inf
    estimated = average([sum(_estimated(count, p, weight) for count, p in by_depth) for weight in TARGET_WEIGHTS])
    fixed = average(
        [
            sum(_fixed(each, root.ratios[number]) for each, root in zip(counts, rows, strict=True))
            for number in range(len(SHIFTS) + 1)
        ]
    )
    return average([estimated, fixed])


def _estimated(counts: Any, rows: Any, weight: float) -> float:
    """The logarithm of the product of ratios at one depth for an estimated alternative."""
    visited = counts.sum(1) > 0
    counts, rows = counts[visited], rows[visited]
    possible = rows > 0
    prior, seen = weight * rows[possible], counts[possible]
    product = (gammaln(prior + seen) - gammaln(prior) - seen * np.log(rows[possible])).sum()
    return float(product - (gammaln(weight + counts.sum(1)) - gammaln(weight)).sum())


def _fixed(counts: Counts, ratios: Sequence[Any]) -> float:
    """The logarithm of the product of these ratios; minus infinity where the alternative excludes an outcome."""
    return sum(float(count[count > 0] @ ratio[count > 0]) for count, ratio in zip(counts.counts, ratios, strict=False))


@dataclass(frozen=True)
class Power:
    """The power against a bias. distance: total variation of the first tokens; share: of trials that find it.

    towards, leaning: in which direction and how far the rows are moved. runs: from all roots together.
    """

    towards: str
    leaning: float
    distance: float
    share: float
    runs: int


def distance_and_power(
    rows: Sequence[RowsAfter],
    laws: Sequence[Any],
    runs: int,
    level: float,
    generator: np.random.Generator,
    trials: int = 100,
) -> tuple[float, float]:
    """The total variation of texts of these laws from the target's, and how often the test finds it.

    laws: of the first tokens after each root, shape `(V**length,)`. runs: from each root.
    """
    size, length, found = rows[0].target[0].shape[1], len(rows[0].target), 0
    distances = [abs(law - joint(each.target)).sum() / 2 for law, each in zip(laws, rows, strict=True)]
    for _ in range(trials):
        drawn = [Counts.of_outcomes(generator.multinomial(runs, law / law.sum()), size, length) for law in laws]
        found += refutes(log_e_value(drawn, rows), level)
    return float(np.mean(distances)), found / trials


def smallest_detected(
    rows: Sequence[RowsAfter],
    towards: str,
    runs: int,
    level: float,
    generator: np.random.Generator,
    wanted: float = 0.9,
    trials: int = 100,
) -> Power:
    """The smallest bias that the test finds with probability `wanted` by `runs` runs from each root.

    towards: "draft", or "uniform", which no alternative of the test matches. Each bias is simulated `trials` times from
    its exact law, with one look after the last run; looking earlier as well finds it sooner. If the result has a share
    below `wanted`, even the largest such bias is found less often.
    """

    def power(share: float) -> Power:
        laws = [joint(each.shifted(share, towards)) for each in rows]
        return Power(towards, share, *distance_and_power(rows, laws, runs, level, generator, trials), runs * len(rows))

    low, high = 0.0, power(1.0)
    while high.share >= wanted and high.leaning - low > 0.1 * high.leaning:
        middle = power((low + high.leaning) / 2)
        if middle.share >= wanted:
            high = middle
        else:
            low = middle.leaning
    return high


def joint(tables: Sequence[Any]) -> Any:
    """The law of the first `len(tables)` tokens, shape `(V**length,)`, in lexicographic order."""
    mass = np.ones(1)
    for rows in tables:
        mass = (mass[:, None] * rows).reshape(-1)
    return mass


def engine_law(rows: RowsAfter, depth: int, branches: int, bug: str | None) -> Any:
    """The law of the first tokens that token-by-token verification writes with one of `BUGS`, shape `(V**length,)`.

    A block drafts `depth` tokens, of which the first has a second draft where there are several branches. Without a bug
    it is the target's law.
    """
    masses = {0: np.ones(1)}  # by the number of drafts accepted in the present block
    for p, q in rows.pairs:
        after: dict[int, Any] = {}
        for accepted, mass in masses.items():
            if accepted == depth or q is None:
                accept, end = p * 0, p if q is None or bug != "bonus" else q
            else:
                accept, end = _accepted_and_corrections(p, q, accepted == 0 and branches > 1, bug)
            for count, part in ((accepted + 1, accept), (0, end)):
                after[count] = after.get(count, 0) + (mass[:, None] * part).reshape(-1)
        masses = after
    return sum(masses.values())


def _accepted_and_corrections(p: Any, q: Any, twice: bool, bug: str | None) -> tuple[Any, Any]:
    """The masses of accepted drafts and of corrections, both of the shape of `p`. twice: with a second draft of `q`."""
    accepted = np.minimum(p, q)
    residual = p - accepted
    rejected = residual.sum(-1, keepdims=True)
    if twice:
        against = residual if bug == "residual" else _normalised(residual, p)
        again = np.minimum(against, q)
        accepted, residual = accepted + rejected * again, _normalised(against - again, against)
        rejected = rejected * (1 - again.sum(-1, keepdims=True))
    return accepted, rejected * (p if bug == "correction" else _normalised(residual, p))


def _normalised(rows: Any, otherwise: Any) -> Any:
    """Rows divided by their sums; rows of zeros are replaced by `otherwise`."""
    kept = np.where(rows.sum(-1, keepdims=True) > 0, rows, otherwise)
    kept = np.where(kept.sum(-1, keepdims=True) > 0, kept, 1.0)
    return kept / kept.sum(-1, keepdims=True)
