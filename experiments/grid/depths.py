"""The L1 distance of p and q by depth, which is 1 for the first drafted token."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from draftproof.experiments.grid.rows import mixture
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import MarkovProcess, told_of


def mean_distances(roots: Sequence[Case], depth: int, accepted: bool = False) -> list[Fraction | float | None]:
    """The mean of `sum |p - q|` for the tokens of depth `1..depth`, over weighted roots and contexts below them.

    roots: with tables to that depth or Markov processes; the means are exact where the rows are. accepted: contexts are
    those that token-by-token verification of one path accepts, by the rows that it is told, rather than all that the
    draft draws. None where there are none.
    """
    by_root = [_distances(root, depth, accepted) for root in roots]
    weights = [root.weight for root in roots]
    means = []
    for at in range(depth):
        mass, total = (mixture(weights, [sums[at][side] for sums in by_root]) for side in range(2))
        means.append(total / mass if mass else None)
    return means


def _distances(case: Case, depth: int, accepted: bool) -> list[tuple[Fraction | float, Fraction | float]]:
    """For each length the probability of the contexts, and the sum of probability times distance over them."""
    told = told_of(case.draft)
    sides = (case.target, case.draft) if told is None else (case.target, case.draft, told)
    size, order = case.target.vocab_size, max(getattr(side, "order", depth) for side in sides)
    mass, sums = case.draft.row(())[:1] * 0 + 1, []
    for length in range(depth):
        known = min(length, order)  # the rows of Markov processes depend on no more tokens
        p, q, *shown = (side.table(known) if isinstance(side, MarkovProcess) else side.tables[known] for side in sides)  # type: ignore[attr-defined]
        gaps = abs(p - q)
        passed = (p + q - gaps) / 2 if accepted else q
        if accepted and told is not None:
            [r] = shown
            passed = q * (np.minimum(p, r) + (r <= 0)) / (r + (r <= 0))
        sums.append((as_python(mass.sum()), as_python((mass * gaps.sum(axis=1)).sum())))
        mass = (mass[:, None] * passed).reshape(-1)
        if known == order:
            mass = mass.reshape(size, -1).sum(axis=0)
    return sums
