"""Blocks of the loop against their predictions: means, and counts of outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import chdtrc

from draftproof.experiments.models.expect.expected import Expected
from draftproof.experiments.models.loop.loop import Block
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.tables import context_index

#: Outcomes with a smaller expected count are merged, so that the chi-square approximation holds.
LEAST_EXPECTED = 10.0
#: A cell disagrees where its mean is more than so many standard errors off.
MOST_ERRORS = 4.0
#: A p-value below this refutes the prediction.
LEVEL = 1e-3
#: Margin of rounding: outcomes with less probability are impossible, and means that differ by less are equal.
_NEVER = 1e-9


@dataclass(frozen=True)
class ChiSquare:
    """A sum of squares and its degrees of freedom; sums of independent ones add up."""

    statistic: float
    freedom: int

    @property
    def p_value(self) -> float:
        return float(chdtrc(self.freedom, self.statistic)) if self.freedom else float(self.statistic < _NEVER)

    def fields(self) -> dict[str, float]:
        return {**asdict(self), "probability": self.p_value}

    @classmethod
    def total(cls, parts: Sequence[ChiSquare]) -> ChiSquare:
        return cls(sum(part.statistic for part in parts), sum(part.freedom for part in parts))


@dataclass(frozen=True)
class Agreement:
    """Blocks against predictions. measured: mean of tau + 1. blocks: how many were run.

    standard_error: from the predicted variances. outcomes: of accepted context and correction token together, against
    their predicted law; no degrees of freedom where means alone are compared.
    """

    predicted: float
    measured: float
    standard_error: float
    blocks: int
    outcomes: ChiSquare = ChiSquare(0.0, 0)

    @property
    def z(self) -> float:
        """How many standard errors the measured mean lies above the predicted one."""
        gap = self.measured - self.predicted
        return 0.0 if abs(gap) < _NEVER else gap / max(self.standard_error, _NEVER)

    def agrees(self, cells: int) -> bool:
        """Whether mean and outcomes are as predicted, as one of so many cells."""
        return abs(self.z) <= MOST_ERRORS and self.outcomes.p_value >= LEVEL / cells


def agreement(
    predictions: Sequence[Expected], blocks: Sequence[Sequence[Block]], outcomes: ChiSquare = ChiSquare(0.0, 0)
) -> Agreement:
    """The mean of all blocks against that of the predictions at their own starts.

    A block minus its expectation at its own start is an increment of a martingale, whatever chose verifier and scheme
    from the text before it. So the variance of the sum is the sum of the variances; a prediction from sampled trees
    adds its own. blocks: those from each context of the predictions, in order.
    """
    counts = np.array([len(here) for here in blocks])
    means = np.concatenate([prediction.means.mean(axis=1) for prediction in predictions])
    variances = np.concatenate([np.maximum(prediction.variances, 0.0) for prediction in predictions])
    errors = np.concatenate([prediction.errors for prediction in predictions])
    lengths = np.array([block.depth + 1 for here in blocks for block in here])
    weights = counts / counts.max()  # exactly 1 where each context has equally many
    mean, variance = ((weights * values).sum() / weights.sum() for values in (means, variances))
    noise = ((weights * errors) ** 2).sum() / weights.sum() ** 2
    error = sqrt(float(variance) / lengths.size + float(noise))
    return Agreement(float(mean), float(lengths.mean()), error, lengths.size, outcomes)


def compare(prediction: Expected, blocks: Sequence[Sequence[Block]]) -> Agreement:
    """Means and outcomes; blocks: those from each context of the prediction, in order.

    Where the prediction has only depths, only accepted depths are compared. Where it is sampled, only means are.
    """
    if prediction.laws:
        outcomes = [_outcomes(law, here) for law, here in zip(prediction.laws, blocks, strict=True)]
    else:
        depths = prediction.depths if prediction.exact else []
        counts = [np.bincount([block.depth for block in here], minlength=prediction.depth + 1) for here in blocks]
        outcomes = [pearson(count, law * count.sum()) for count, law in zip(counts, depths, strict=prediction.exact)]
    return agreement([prediction], blocks, ChiSquare.total(outcomes))


def table_chi_square(cells: Sequence[Agreement]) -> ChiSquare:
    """The sum of `z**2` over all cells whose blocks vary."""
    return ChiSquare.total([ChiSquare(cell.z**2, 1) for cell in cells if cell.standard_error > _NEVER or cell.z])


def counted(blocks: Sequence[Block], vocab_size: int, depth: int) -> list[Any]:
    """How often each block occurred, shaped like `BlockLaw.correction`."""
    counts = [np.zeros((vocab_size**here, vocab_size)) for here in range(depth + 1)]
    for block in blocks:
        counts[block.depth][context_index(block.accepted, vocab_size), block.correction] += 1
    return counts


def _outcomes(law: BlockLaw, blocks: Sequence[Block]) -> ChiSquare:
    """The chi-square of all outcomes, depth by depth; rare outcomes of one depth are merged."""
    seen, expected = [], []
    for masses, counts in zip(law.correction, counted(blocks, law.vocab_size, law.depth), strict=True):
        means = np.asarray(masses, dtype=np.float64).ravel() * len(blocks)
        often = means >= LEAST_EXPECTED
        seen += [*counts.ravel()[often], counts.ravel()[~often].sum()]
        expected += [*means[often], means[~often].sum()]
    return pearson(np.array(seen), np.array(expected))


def pearson(counts: Any, means: Any) -> ChiSquare:
    """Pearson's chi-square of counts, shape `(n,)`; outcomes with small expected counts are merged.

    If the merged outcome is still too rare, the rarest of the others joins it. Impossible outcomes count as one in 1e9.
    """
    order = np.argsort(-means, kind="stable")
    counts, means = counts[order], means[order]
    often = int((means >= LEAST_EXPECTED).sum())
    impossible = means[often:].sum() <= _NEVER * means.sum()
    if not impossible and means[often:].sum() < LEAST_EXPECTED:
        often = max(often - 1, 0)
    groups = [np.append(numbers[:often], numbers[often:].sum()) for numbers in (counts, means)]
    if impossible and not groups[0][-1]:
        groups = [group[:-1] for group in groups]
    wanted = np.maximum(groups[1], _NEVER * means.sum())
    return ChiSquare(float(((groups[0] - groups[1]) ** 2 / wanted).sum()), max(len(wanted) - 1, 0))


def agreement_of(row: Mapping[str, Any]) -> Agreement:
    """The cell of a row; one that compares means only has no outcomes."""
    outcomes = row["outcomes"] or {"statistic": 0.0, "freedom": 0}
    return Agreement(
        row["predicted"],
        row["measured"],
        row["total_error"],
        row["blocks"],
        ChiSquare(outcomes["statistic"], outcomes["freedom"]),
    )
