"""One cell of a validation: a verifier on a scheme, predicted, run in the loop from the same roots, and compared.

For small vocabularies the prediction is exact, from tables, and every outcome is compared. For large ones it is exact
by sums where few rows are needed, and accepted depths are compared; in all other cases it is a mean over sampled trees,
and only means are compared. Blocks start from several roots, equally many from each, with other random numbers than in
other cells.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from draftproof.experiments.grid.rows import row_id
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.expect.expected import (
    VALIDATE_BUDGET,
    Expected,
    expected,
    max_deviation,
    predict,
)
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.measure.setting import Setting, seed_of
from draftproof.experiments.models.measure.verifiers import MeasuredVerifier
from draftproof.experiments.models.validate.agreement import compare
from draftproof.experiments.runtime import limited
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import DraftproofError, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Evaluator

#: The largest standard error of a cell, with some margin below 0.02, and that of a quick validation.
GOAL, QUICK_GOAL = 0.015, 0.05
#: The fewest blocks of a cell, since its outcomes are compared too.
LEAST = 1000
#: Most seconds for the exact verdict of one cell.
EXACT_SECONDS = 10.0


@dataclass(frozen=True)
class Effort:
    """How long a cell runs: until its standard error is `goal`, but at least `least` blocks; or for so many `blocks`.

    Blocks are those from all roots together.
    """

    goal: float = GOAL
    blocks: int | None = None
    least: int = LEAST

    def runs(self, variance: float, roots: int) -> int:
        """Blocks from each root, for this variance of `tau` within a root."""
        if self.blocks is not None:
            return max(1, ceil(self.blocks / roots))
        return ceil(max(self.least, variance / self.goal**2) / roots)


#: What is measured: the id of its row, the verifier and the scheme.
Cell: TypeAlias = tuple[str, MeasuredVerifier, DraftScheme]


def measure(cell: Cell, setting: Setting, effort: Effort) -> dict[str, Any]:
    """The row of one cell."""
    started, contexts = time.perf_counter(), setting.contexts
    key, tested, scheme = cell
    seed = seed_of(key)
    first, second = np.random.SeedSequence(seed).spawn(2)
    trees = max(2, ceil((VALIDATE_BUDGET.trees if effort.blocks is None else effort.blocks) / len(setting.roots)))
    budget = replace(VALIDATE_BUDGET, trees=trees)
    with named_errors(tested.predicted.label):
        prediction = expected(tested.predicted.verifier, scheme, contexts, budget, np.random.default_rng(first))
    runs = effort.runs(prediction.variance, len(setting.roots))
    coin = setting.coin(seed if prediction.exact else int(second.generate_state(1)[0]))
    loop = Loop(setting.pair, setting.sampling, setting.vectors)
    with named_errors(tested.executed.label):
        blocks = [many_blocks(loop, tested.executed.verifier, scheme, root, runs, coin) for root in setting.roots]
    agreement, depths = compare(prediction, blocks), np.array([[block.depth for block in here] for here in blocks])
    tables = contexts.cases(scheme.depth) if prediction.laws else []
    own_law = _own_law(tested, tables, scheme) if prediction.laws else None
    law_of_executed = prediction if tested.executed is tested.predicted else own_law
    return {
        "kind": "cell",
        "verifier": tested.label,
        "shape": shape_name(scheme),
        "scheme": scheme.as_dict(),
        "predicted": agreement.predicted,
        "measured": agreement.measured,
        "total_error": agreement.standard_error,
        "z": agreement.z,
        "blocks": agreement.blocks,
        **{name: value for name, value in setting.fields.items() if name != "roots"},
        "roots": len(setting.roots),
        "by_root": {
            "predicted": prediction.means.mean(axis=1).tolist(),
            "measured": (depths + 1).mean(axis=1).tolist(),
        },
        "draft_passes": float(np.mean([block.passes for root in blocks for block in root])),
        "prediction": prediction.how,
        "predicted_error": prediction.error,
        "depths_predicted": prediction.depth_distribution if prediction.exact else None,
        "depths_measured": (np.bincount(depths.ravel(), minlength=scheme.depth + 1) / depths.size).tolist(),
        "outcomes": agreement.outcomes.fields() if prediction.exact else None,
        "own_law": None if own_law is None else {"block_efficiency": own_law.mean, "z": compare(own_law, blocks).z},
        **_verdict(tested, law_of_executed if prediction.laws else None, tables, scheme),
        "seconds": round(time.perf_counter() - started, 3),
    }


def cell_key(setting: Setting, tested: MeasuredVerifier, scheme: DraftScheme, effort: Effort) -> str:
    """The id of the row of a cell."""
    return row_id("cell", setting.fields, scheme, tested.identity, effort=asdict(effort))


def _own_law(tested: MeasuredVerifier, tables: Sequence[Case], scheme: DraftScheme) -> Expected | None:
    """The law of the verifier that runs, where it replaces the predicted one and its law can be computed."""
    if tested.executed is tested.predicted:
        return None
    with suppress(TooLarge), named_errors(tested.executed.label):
        return predict(tested.executed.verifier, tables, scheme)
    return None


def _verdict(
    tested: MeasuredVerifier, ran: Expected | None, tables: Sequence[Case], scheme: DraftScheme
) -> dict[str, Any]:
    """Whether the verifier that runs is lossless on the tables; all None where its law is not known.

    verdict: `declared` where its card says that it is lossy and its law is not known; `exact` where its law was also
    computed in rational arithmetic, on every root, with the tables rounded to multiples of 2**-52; `to rounding` where
    that would take too long. max_deviation: the larger one of both arithmetics.
    """
    if ran is None:
        known = {"lossless": False, "verdict": "declared"} if declared_lossy(tested) else {}
        return {"max_deviation": None, "lossless": None, "verdict": None, **known}
    deviations, exact = max_deviation(ran, tables), _exact(tested.executed, tables, scheme)
    return {
        "max_deviation": max([*deviations, *map(float, exact or [])]),
        "lossless": max(deviations) <= FLOAT64.tolerance and not any(exact or []),
        "verdict": "to rounding" if exact is None else "exact",
    }


def declared_lossy(tested: MeasuredVerifier) -> bool:
    """Whether the card of the verifier that runs says that it is lossless on no drafts."""
    return not lossless_for(tested.executed.verifier.card)


def _exact(named: NamedVerifier, tables: Sequence[Case], scheme: DraftScheme) -> list[Fraction] | None:
    """The largest imbalance on each root in rational arithmetic; None where that cannot be had, or takes too long."""
    evaluator, deviations = Evaluator(named.verifier), []
    try:
        with limited(EXACT_SECONDS, "too long"), named_errors(named.label):
            for case in tables:
                rows = exact_instance(case.target, case.draft, scheme.depth)
                deviations.append(Fraction(evaluator.check(rows.target, rows.draft, scheme).max_deviation))
    except DraftproofError:
        return None
    return deviations
