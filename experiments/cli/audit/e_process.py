"""The sequential test: an e-process against a claimed law, valid at any stopping time.

An e-process is a product of likelihood ratios, the probability of each outcome under an alternative law divided by that
under the claimed law, or an average of such products over several alternatives. If the claimed law is true, its mean is
at most 1 at every stopping time, so the probability that it ever reaches `1 / level` is at most `level` (Ville's
inequality), however often it is looked at.

`log_e_value`: whether texts have the target's law, from how often each token came after each context. Half of the
alternatives are estimated from the data: with weight `s` of the target, the law after a context `c` is `(s p(y|c) +
n(c, y)) / (s + n(c))` with the counts `n` of the runs before. The other half is shifted towards the draft, as the
output of lossy verifiers is, or away from it: the law is `p + a (q - p)`, cut off at 0, for several positive and
negative `a`; one more is that of corrections drawn from `p`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, log
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

#: Weights `s` of the target in the estimated alternatives, as a number of tokens.
TARGET_WEIGHTS = (30.0, 300.0, 3000.0)
#: The values of `a`: how far alternatives are shifted towards the draft.
SHIFTS = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4)
#: The probability with which a bias of `smallest_found` is found, and the quantile of a normal number for it.
FOUND, QUANTILE = 0.95, 1.645


def average(logs: Any) -> float:
    """The logarithm of the average of numbers with these logarithms."""
    return float(logsumexp(logs) - log(len(logs)))


def refutes(log_value: float, level: float) -> bool:
    """Whether an e-process with this logarithm refutes the claimed law."""
    return log_value >= -log(level)


def _shifted(p: Any, q: Any, share: float) -> Any:
    """Rows of `p` moved by this share to those of `q`, shape `(.., V)`; negative: away from them."""
    moved = np.maximum(p + share * (q - p), 0)
    return moved / moved.sum(-1, keepdims=True)


def _corrected_from_target(p: Any, q: Any) -> Any:
    """The law of a token where drafts are accepted as they should be and corrections are drawn from `p`."""
    accepted = np.minimum(p, q)
    return accepted + (p - accepted).sum(-1, keepdims=True) * p


#: The alternatives that are not estimated: functions of rows of `p` and `q`.
FIXED: tuple[Callable[[Any, Any], Any], ...] = (
    *(partial(_shifted, share=share) for share in SHIFTS),
    _corrected_from_target,
)


@dataclass(frozen=True)
class RowsAfter:
    """The rows after one root, depth by depth, shape `(V**d, V)`: the target's for every tested token.

    draft: those of the draft, None where nothing is drafted: there no alternative differs from the target.
    """

    target: tuple[Any, ...]
    draft: tuple[Any, ...]

    @cached_property
    def ratios(self) -> list[list[Any]]:
        """For each fixed alternative the log ratios to the target, by depth."""
        pairs = list(zip(self.target, self.draft, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):  # a token with p = 0 never occurs
            return [[np.log((p if q is None else law(p, q)) / p) for p, q in pairs] for law in FIXED]

    def by_depth(self, texts: Any) -> list[tuple[Any, Any]]:
        """How often each token came after each context, shape `(V**d, V)`, with the target's rows.

        texts: how often each text of all depths came, in lexicographic order.
        """
        return [(texts.reshape(*p.shape, -1).sum(-1), p) for p in self.target]


def log_e_value(texts: Sequence[Any], rows: Sequence[RowsAfter]) -> float:
    """The logarithm of the e-process against the target's law after several roots, one item each; see `by_depth`.

    It depends on counts only, so it is the same for every order in which the runs came. Infinite where a token occurred
    that has probability 0 under the target.
    """
    by_root = [root.by_depth(own) for own, root in zip(texts, rows, strict=True)]
    by_depth = [pair for pairs in by_root for pair in pairs]
    if any((p[count > 0] <= 0).any() for count, p in by_depth):
        return inf
    estimated = [sum(_estimated(count, p, weight) for count, p in by_depth) for weight in TARGET_WEIGHTS]
    fixed = [
        sum(_fixed(pairs, root.ratios[law]) for pairs, root in zip(by_root, rows, strict=True))
        for law in range(len(FIXED))
    ]
    return average([average(estimated), average(fixed)])


def smallest_found(runs: Sequence[int], rows: Sequence[RowsAfter], level: float) -> float:
    """About the total variation of the texts after any one root that so many runs refute with probability `FOUND`.

    An estimate for many runs. After a context with `n` of the runs, an estimated alternative of weight `s` gains half a
    noncentral chi-square number times `n / (n + s)`, and pays `log(1 + n / s) / 2` for each free probability. By
    Pinsker's inequality a total variation `d` has a divergence of at least `2 d**2`, wherever it is.
    """
    return min(_found_by(weight, runs, rows, level) for weight in TARGET_WEIGHTS)


def _found_by(weight: float, runs: Sequence[int], rows: Sequence[RowsAfter], level: float) -> float:
    visits, free = [], []
    for total, root in zip(runs, rows, strict=True):
        reached = [np.ones(1)]
        for p in root.target[:-1]:
            reached.append((reached[-1][:, None] * p).ravel())
        visits.append(total * np.concatenate(reached))
        free.append(np.concatenate([np.maximum((p > 0).sum(1) - 1, 0) for p in root.target]))
    n, k = np.concatenate(visits), np.concatenate(free)
    gain = n / (n + weight)
    cost = (k * np.log1p(n / weight)).sum() / 2 + log(2 * len(TARGET_WEIGHTS) / level) - (gain * k).sum() / 2
    noise = (gain**2 * k).sum() / 2
    needed = (QUANTILE + np.sqrt(QUANTILE**2 + 2 * cost + noise)) ** 2 - noise
    return max(
        min(1.0, float(np.sqrt(needed / (4 * total * _share(own[own > 0], weight))))) if total else 1.0
        for total, own in zip(runs, visits, strict=True)
    )


def _share(visits: Any, weight: float) -> float:
    """The least share of its divergence that a bias gains, however it is spread over contexts with so many visits.

    Where the part at the rarest contexts is bounded context by context, and the other one by the divergence of all of
    it; for the best division into these two.
    """
    visits = np.sort(visits)
    lost = 1 + weight / visits
    rarer = np.cumsum(visits / visits[-1] * lost)
    return float((1 / (lost + np.append(0, rarer[:-1]))).max())


def _estimated(counts: Any, rows: Any, weight: float) -> float:
    """The logarithm of the product of ratios at one depth for an estimated alternative."""
    visited = counts.sum(1) > 0
    counts, rows = counts[visited], rows[visited]
    possible = rows > 0
    prior, seen = weight * rows[possible], counts[possible]
    product = (gammaln(prior + seen) - gammaln(prior) - seen * np.log(rows[possible])).sum()
    return float(product - (gammaln(weight + counts.sum(1)) - gammaln(weight)).sum())


def _fixed(pairs: Sequence[tuple[Any, Any]], ratios: Sequence[Any]) -> float:
    """The logarithm of the product of these ratios; minus infinity where the alternative excludes an outcome."""
    return sum(float(count[count > 0] @ ratio[count > 0]) for (count, _), ratio in zip(pairs, ratios, strict=True))
