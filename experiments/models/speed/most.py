"""What no lossless verifier can exceed on a scheme: a bound on tokens a block that costs nothing.

A lossless verifier accepts a context `c` with probability `p(c)` at most, and only where the tree has it. So
`E[tau + 1] <= 1 + sum over depths of sum over c of min(p(c), P(tree has c))`, and no depth brings more than the one
above it. On a delayed tree `P(tree has c)` is the probability that the trunk draws its part of `c` and one of `K`
branches the rest; of other schemes nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from draftproof.experiments.models.predicted.prediction import joint
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.protocol import DraftScheme


def most_tokens(scheme: DraftScheme, cases: Sequence[Case]) -> float:
    """The bound, a mean over cases given by tables; below the tables a depth brings what the last one in them does."""
    if type(scheme) is not Delayed or not scheme.depth:
        return 1.0 + scheme.depth
    return float(np.mean([_of_case(scheme, case) for case in cases]))


def _of_case(scheme: Delayed, case: Case) -> float:
    target, draft = _tables(case.target), _tables(case.draft)
    seen = min(scheme.depth, len(draft))
    shares = [_accepted(scheme, target, draft, depth) for depth in range(1, seen + 1)]
    shares += [shares[-1]] * (scheme.depth - seen)
    return 1 + sum(shares)


def _accepted(scheme: Delayed, target: Sequence[Any], draft: Sequence[Any], depth: int) -> float:
    """The bound on the probability that a block accepts so many drafts."""
    trunk = joint(draft[: min(depth, scheme.L1)])
    reached = joint(draft[:depth])
    before = np.repeat(trunk, len(reached) // len(trunk))
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(before > 0, reached / before, 0.0)
    there = before * (1 - (1 - np.clip(alone, 0, 1)) ** (scheme.K if depth > scheme.L1 else 1))
    return float(np.minimum(joint(target[:depth]), there).sum())


def _tables(process: Any) -> list[Any]:
    assert isinstance(process, TableProcess)
    return [np.asarray(table, dtype=np.float64) for table in process.tables]
