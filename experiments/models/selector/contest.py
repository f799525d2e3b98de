"""A policy in the loop: predicted tokens a block against measured.

Each block's prediction is the law of its own action at its own start. The gaps between blocks and their predictions are
then a martingale: their sum has the sum of the variances, whatever the policy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.models.predicted.sampled import predict_sampled
from draftproof.experiments.models.selector.deciding import Chooser, Decided, PolicyLoop, deciding
from draftproof.experiments.models.selector.labels import exact_labels, labels_are_exact
from draftproof.experiments.models.validation.comparison import MOST_ERRORS
from draftproof.experiments.models.validation.contest import Setting
from draftproof.experiments.shared.latency import TimeModel
from draftproof.experiments.shared.progress import bar
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Coin, Context, Verifier

#: Sampled trees where a law would take too long.
TREES = 32


@dataclass(frozen=True)
class PolicyContest:
    """What is validated. base: the position of the action that it is timed against, None for none."""

    setting: Setting
    verifier: Verifier
    label: str
    actions: tuple[Delayed, ...]
    chooser: Chooser
    times: TimeModel
    base: int | None
    blocks: int

    def loop(self, chooser: Chooser) -> Any:
        """`deciding` with this pair, these actions and that chooser."""
        given = self.setting
        return deciding(given.pair, self.verifier, self.actions, chooser, given.warp, self.times, given.vectors)


def written(loop: PolicyLoop, root: Context, blocks: int, coin: Coin) -> list[Decided]:
    """So many blocks after a root."""
    standing, found = loop.start(root, 0), []
    for _ in range(blocks):
        decided, standing = loop.step(standing, coin)
        found.append(decided)
    return found


def agreement(contest: PolicyContest, made: Sequence[Decided]) -> dict[str, Any]:
    """Tokens a block as predicted and as measured, and which actions were taken."""
    with bar("predictions", len(made)) as tick:
        laws = []
        for each in made:
            laws.append(_law(contest, each.context, contest.actions[each.action]))
            tick(1)
    means, variances, noises = np.array(laws).T
    lengths = np.array([each.block.depth + 1 for each in made])
    error = sqrt(float((variances + noises).sum())) / len(made)
    gap = float((lengths - means).mean())
    z = gap / error if error > 0 else 0.0 if abs(gap) < 1e-9 else float("inf")
    counts = np.bincount([each.action for each in made], minlength=len(contest.actions))
    return {
        "verifier": contest.label,
        "blocks": len(made),
        "predicted": float(means.mean()),
        "measured": float(lengths.mean()),
        "standard_error": error,
        "z": z,
        "agrees": abs(z) <= MOST_ERRORS,
        "actions": {
            ", ".join(map(str, (a.K, a.L1, a.L2))): int(count)
            for a, count in sorted(zip(contest.actions, counts, strict=True), key=lambda pair: -pair[1])
            if count
        },
    }


def _law(contest: PolicyContest, context: Context, scheme: Delayed) -> tuple[float, float, float]:
    """Mean and variance of `tau + 1`, and the variance of the mean where it comes from sampled trees."""
    setting = contest.setting
    if not scheme.depth:
        return 1.0, 0.0, 0.0
    if labels_are_exact(contest.verifier, (scheme,), setting.pair.vocab_size):
        ((mean, variance),) = exact_labels(setting.pair, contest.verifier, (scheme,), setting.warp, context)
        return mean, variance, 0.0
    generator = np.random.default_rng([setting.seed, *context[-64:]])
    found = predict_sampled(setting.pair, contest.verifier, scheme, setting.warp, [context], TREES, generator)
    return found.mean, found.variance, found.error**2
