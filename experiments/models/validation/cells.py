"""One cell of the table: a verifier on a scheme, predicted, run in the loop from the same roots, and compared.

For small vocabularies the prediction is exact, from tables, and every outcome is compared; for large ones it is a mean
over sampled trees, and only the mean is compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np

from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.experiments.models.loop.many import many_blocks
from draftproof.experiments.models.predicted.prediction import Prediction, predict
from draftproof.experiments.models.predicted.sampled import SampledPrediction, predict_sampled
from draftproof.experiments.models.predicted.truncated import REST, Truncated, truncated_tables
from draftproof.experiments.models.validation.comparison import Agreement, ChiSquare, compare
from draftproof.experiments.models.validation.contest import Contestant, Setting, seed_of
from draftproof.experiments.shared.limits import limited
from draftproof.experiments.shared.names import NamedVerifier
from draftproof.experiments.shared.progress import named_errors
from draftproof.experiments.shared.schemes import shape_name
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import DraftproofError, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Evaluator

#: What the standard errors shall be at most, with some room below the 0.02 that is promised.
GOAL = 0.015
#: Blocks of a cell at the least, whatever its variance: its outcomes are compared too.
LEAST = 1000
#: Trees of a sampled prediction, from all roots, of which the first tell how many blocks a cell needs.
TREES = 2048
#: Seconds for the exact verdict of one cell.
EXACT_SECONDS = 10.0
#: Numbers in truncated tables, which decides how many tokens they keep.
TRUNCATED_ENTRIES = 60_000


@dataclass(frozen=True)
class Budget:
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


def measure_exact(
    setting: Setting, each: Contestant, scheme: DraftScheme, tables: Sequence[Case], budget: Budget
) -> dict[str, Any]:
    """The row of one cell whose law is known."""
    started = time.perf_counter()
    with named_errors(each.claim.label):
        prediction = predict(each.claim.verifier, tables, scheme)
    runs = budget.runs(prediction.variance, len(setting.roots))
    key = cell_key(setting, each, scheme, budget)
    blocks = _blocks(setting, each, scheme, runs, seed_of(key))
    found = compare(prediction, blocks)
    own = _own_law(each, tables, scheme)
    return {
        **_shared(setting, each, scheme, found, key),
        "draft_passes": _passes(blocks),
        "prediction": "exact",
        "predicted_error": 0.0,
        "predicted_interval": [prediction.mean, prediction.mean],
        "depths_predicted": prediction.depth_distribution,
        "depths_measured": _depths(blocks, scheme.depth),
        "outcomes": {**asdict(found.outcomes), "probability": found.outcomes.probability},
        "own_law": None if own is None else {"block_efficiency": own.mean, "z": compare(own, blocks).z},
        **_verdict(each, prediction if each.played is each.claim else own, tables, scheme),
        "seconds": round(time.perf_counter() - started, 3),
    }


def measure_sampled(
    setting: Setting, each: Contestant, scheme: DraftScheme, budget: Budget, truncated: Sequence[Truncated]
) -> dict[str, Any]:
    """The row of one cell whose law is estimated from sampled trees; truncated: tables of the most probable tokens."""
    started = time.perf_counter()
    key = cell_key(setting, each, scheme, budget)
    first, second = np.random.SeedSequence(seed_of(key)).spawn(2)
    trees = max(2, ceil((TREES if budget.blocks is None else budget.blocks) / len(setting.roots)))
    with named_errors(each.claim.label):
        prediction = predict_sampled(
            setting.pair, each.claim.verifier, scheme, setting.warp, setting.roots, trees, np.random.default_rng(first)
        )
    runs = budget.runs(prediction.variance, len(setting.roots))
    blocks = _blocks(setting, each, scheme, runs, int(second.generate_state(1)[0]))
    found = _against_sampled(prediction, blocks)
    return {
        **_shared(setting, each, scheme, found, key),
        "draft_passes": _passes(blocks),
        "prediction": f"{trees * len(setting.roots):,} sampled trees",
        "predicted_error": prediction.error,
        "predicted_interval": list(prediction.interval()),
        "saved": prediction.saved,
        "truncated": _by_truncated(each, scheme, truncated),
        "depths_predicted": None,
        "depths_measured": _depths(blocks, scheme.depth),
        "outcomes": None,
        "own_law": None,
        "seconds": round(time.perf_counter() - started, 3),
    }


def cell_key(setting: Setting, each: Contestant, scheme: DraftScheme, budget: Budget) -> str:
    """Hash of everything that defines the cell."""
    return setting.key(kind="cell", verifier=each.identity, scheme=scheme.as_dict(), budget=asdict(budget))


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


def _blocks(setting: Setting, each: Contestant, scheme: DraftScheme, runs: int, seed: int) -> list[list[Block]]:
    """Fresh blocks, equally many from each root."""
    loop = Loop(setting.pair, each.played.verifier, scheme, setting.warp, setting.vectors)
    coin = setting.coin(seed)
    with named_errors(each.played.label):
        return [many_blocks(loop, root, runs, coin) for root in setting.roots]


def _own_law(each: Contestant, tables: Sequence[Case], scheme: DraftScheme) -> Prediction | None:
    """The law of the verifier that runs, where that is another one and its law can be had."""
    if each.played is each.claim:
        return None
    try:
        with named_errors(each.played.label):
            return predict(each.played.verifier, tables, scheme)
    except TooLarge:
        return None


def _verdict(each: Contestant, ran: Prediction | None, tables: Sequence[Case], scheme: DraftScheme) -> dict[str, Any]:
    """Whether the verifier that runs is lossless on the tables; all None where its law is not known.

    verdict: `exact` where it was asked in rational arithmetic, of the tables in multiples of 2**-52, on every root;
    `to rounding` where that would take too long and float64 has to do. max_deviation: the larger one of both.
    """
    if ran is None:
        return {"max_deviation": None, "lossless": None, "verdict": None}
    targets = [Instance.of(case.target, case.draft, scheme.depth, FLOAT64).target for case in tables]
    deviations = [float(law.metrics(rows).max_deviation) for law, rows in zip(ran.laws, targets, strict=True)]
    lossless, exact = all(each <= FLOAT64.tolerance for each in deviations), _exact(each.played, tables, scheme)
    return {
        "max_deviation": max([*deviations, *map(float, exact or [])]),
        "lossless": lossless and not any(exact or []),
        "verdict": "to rounding" if exact is None else "exact",
    }


def _exact(named: NamedVerifier, tables: Sequence[Case], scheme: DraftScheme) -> list[Fraction] | None:
    """The largest imbalance on each root in rational arithmetic; None where that cannot be had, or takes too long."""
    evaluator, found = Evaluator(named.verifier), []
    try:
        with limited(EXACT_SECONDS, "too long"), named_errors(named.label):
            for case in tables:
                rows = exact_instance(case.target, case.draft, scheme.depth)
                found.append(Fraction(evaluator.check(rows.target, rows.draft, scheme).max_deviation))
    except DraftproofError:
        return None
    return found


def truncated_of(setting: Setting, depth: int) -> list[Truncated]:
    """Tables of the most probable tokens after each root; empty where there are no drafts or no token is left out."""
    kept = int(TRUNCATED_ENTRIES ** (1 / (depth + 1))) - REST
    if not depth or setting.pair.vocab_size <= kept:
        return []
    return [truncated_tables(setting.pair, setting.warp, root, depth, kept) for root in setting.roots]


def _by_truncated(each: Contestant, scheme: DraftScheme, found: Sequence[Truncated]) -> dict[str, Any] | None:
    """Block efficiency on tables of the most probable tokens, and the share of drafted paths that leave them.

    It is exact for the verifier behind the cut (`truncated`); with all rows the verifier may do better or worse: what
    is lost can change a block with such a path by up to `L` tokens, and others as far as a verifier sums up over
    tokens that were not drafted. None where there are no such tables or no engine for them.
    """
    tables = [Case("root", cut.target, cut.draft) for cut in found]
    try:
        estimate = predict(each.claim.verifier, tables, scheme).mean if tables else None
    except TooLarge:
        estimate = None
    if estimate is None:
        return None
    return {
        "kept": found[0].tokens[0].shape[1],
        "block_efficiency": estimate,
        "outside_draft": float(np.mean([cut.outside_draft[-1] for cut in found])),
        "outside_target": float(np.mean([cut.outside_target[-1] for cut in found])),
    }


def _against_sampled(prediction: SampledPrediction, blocks: Sequence[Sequence[Block]]) -> Agreement:
    """Both means have an error; that of the blocks is their own, since no law is known."""
    lengths = np.array([[block.depth + 1 for block in each] for each in blocks], dtype=np.float64)
    own = float(lengths.var(axis=1).mean()) / lengths.size
    return Agreement(
        prediction.mean, float(lengths.mean()), sqrt(own + prediction.error**2), lengths.size, ChiSquare(0.0, 0)
    )


def _shared(setting: Setting, each: Contestant, scheme: DraftScheme, found: Agreement, key: str) -> dict[str, Any]:
    return {
        "strong_id": key,
        "kind": "cell",
        "verifier": each.label,
        "shape": shape_name(scheme),
        "scheme": scheme.as_dict(),
        "predicted": found.predicted,
        "measured": found.measured,
        "total_error": found.standard_error,
        "z": found.z,
        "blocks": found.blocks,
        **{name: value for name, value in setting.fields.items() if name != "roots"},
        "roots": len(setting.roots),
    }


def _passes(blocks: Sequence[Sequence[Block]]) -> float:
    """Passes of the draft model a block, mean."""
    return float(np.mean([block.passes for each in blocks for block in each]))


def _depths(blocks: Sequence[Sequence[Block]], depth: int) -> list[float]:
    """The share of blocks of each accepted depth."""
    found = [block.depth for each in blocks for block in each]
    return [float(share) for share in np.bincount(found, minlength=depth + 1) / len(found)]
