"""Measured blocks against the law that predicts them: mean, depths and tokens, cell by cell and for a whole table.

A cell is one verifier on one shape. Its blocks start from several roots, equally many from each, and share nothing with
those of another cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from draftproof.experiments.models.loop.loop import Block
from draftproof.experiments.models.predicted.prediction import Prediction
from draftproof.simulator.instances.processes import context_index
from draftproof.simulator.laws.law import BlockLaw

#: Outcomes that are expected less often are counted together, so that the chi-square law holds.
LEAST_EXPECTED = 10.0
#: A cell is refused beyond so many standard errors.
MOST_ERRORS = 4.0
#: What happens with a smaller probability, if all is as predicted, refutes the prediction.
LEVEL = 1e-3
#: What is less likely cannot happen; a mean that is off by less is exact: rounding leaves so much.
_NEVER = 1e-9


@dataclass(frozen=True)
class ChiSquare:
    """A sum of squares and its degrees of freedom; sums of independent ones add up."""

    statistic: float
    freedom: int

    @property
    def probability(self) -> float:
        """Of a sum as large or larger."""
        return float(chi2.sf(self.statistic, self.freedom)) if self.freedom else float(self.statistic < _NEVER)

    @classmethod
    def total(cls, parts: Sequence[ChiSquare]) -> ChiSquare:
        """The sum of independent ones."""
        return cls(sum(part.statistic for part in parts), sum(part.freedom for part in parts))


@dataclass(frozen=True)
class Agreement:
    """One cell. measured: mean of tau + 1. standard_error: from the predicted variance. blocks: how many were run.

    outcomes: of accepted context and correction token together, against their predicted law.
    """

    predicted: float
    measured: float
    standard_error: float
    blocks: int
    outcomes: ChiSquare

    @property
    def z(self) -> float:
        """How many standard errors the measured mean lies above the predicted one."""
        gap = self.measured - self.predicted
        return 0.0 if abs(gap) < _NEVER else gap / max(self.standard_error, _NEVER)

    def agrees(self, cells: int) -> bool:
        """Whether mean and outcomes are as predicted, as one of so many cells."""
        return abs(self.z) <= MOST_ERRORS and self.outcomes.probability >= LEVEL / cells


def compare(prediction: Prediction, blocks: Sequence[Sequence[Block]]) -> Agreement:
    """blocks: those from each root, equally many, in the order of the predicted laws."""
    runs = len(blocks[0])
    outcomes = [_outcomes(law, each) for law, each in zip(prediction.laws, blocks, strict=True)]
    lengths = [block.depth + 1 for each in blocks for block in each]
    return Agreement(
        predicted=prediction.mean,
        measured=float(np.mean(lengths)),
        standard_error=prediction.standard_error(runs),
        blocks=len(lengths),
        outcomes=ChiSquare.total(outcomes),
    )


def table_chi_square(cells: Sequence[Agreement]) -> ChiSquare:
    """The sum of `z**2` over all cells whose blocks vary."""
    return ChiSquare.total([ChiSquare(cell.z**2, 1) for cell in cells if cell.standard_error > _NEVER or cell.z])


def counted(blocks: Sequence[Block], vocab_size: int, depth: int) -> list[Any]:
    """How often each block came, shaped like `BlockLaw.correction`."""
    counts = [np.zeros((vocab_size**here, vocab_size)) for here in range(depth + 1)]
    for block in blocks:
        counts[block.depth][context_index(block.accepted, vocab_size), block.correction] += 1
    return counts


def _outcomes(law: BlockLaw, blocks: Sequence[Block]) -> ChiSquare:
    """The chi-square of all outcomes, depth by depth: rare ones of one depth are one outcome."""
    found, wanted = [], []
    for masses, counts in zip(law.correction, counted(blocks, law.vocab_size, law.depth), strict=True):
        expected = np.asarray(masses, dtype=np.float64).ravel() * len(blocks)
        often = expected >= LEAST_EXPECTED
        found += [*counts.ravel()[often], counts.ravel()[~often].sum()]
        wanted += [*expected[often], expected[~often].sum()]
    return pearson(np.array(found), np.array(wanted))


def pearson(found: Any, expected: Any) -> ChiSquare:
    """Pearson's chi-square of counts, shape `(n,)`: what is expected too seldom is counted together.

    Where all of that is still too seldom, the rarest of the others joins it. What cannot happen counts as one in 1e9.
    """
    order = np.argsort(-expected, kind="stable")
    found, expected = found[order], expected[order]
    kept = int((expected >= LEAST_EXPECTED).sum())
    impossible = expected[kept:].sum() <= _NEVER * expected.sum()
    if not impossible and expected[kept:].sum() < LEAST_EXPECTED:
        kept = max(kept - 1, 0)
    groups = [np.append(counts[:kept], counts[kept:].sum()) for counts in (found, expected)]
    if impossible and not groups[0][-1]:
        groups = [counts[:-1] for counts in groups]
    wanted = np.maximum(groups[1], _NEVER * expected.sum())
    return ChiSquare(float(((groups[0] - groups[1]) ** 2 / wanted).sum()), max(len(wanted) - 1, 0))
