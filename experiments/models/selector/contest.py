"""A policy in the loop: predicted tokens a block against measured, tokens a second, and what choosing costs.

Each block's prediction is the law of its own action at its own start. The gaps between blocks and their predictions are
then a martingale: their sum has the sum of the variances, whatever the policy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t

from experiments.models.loop.coins import coin_for
from experiments.models.predicted.sampled import predict_sampled
from experiments.models.selector.deciding import Chooser, Decided, PolicyLoop, deciding
from experiments.models.selector.labels import exact_labels, labels_are_exact
from experiments.models.speed.latency_fit import measured_times
from experiments.models.validation.comparison import MOST_ERRORS
from experiments.models.validation.contest import Setting
from experiments.shared.latency import TimeModel
from experiments.shared.progress import bar, named_errors
from simulator.drafts import Delayed
from simulator.protocol import Coin, Context, Verifier

#: Sampled trees where a law would take too long; rounds in which the policy and the static action take turns.
TREES, ROUNDS = 32, 6


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


def report_of(contest: PolicyContest) -> dict[str, Any]:
    """Everything, as plain data."""
    setting = contest.setting
    coin = coin_for(setting.vectors, setting.seed, setting.pair.device)
    each = max(1, -(-contest.blocks // len(setting.roots)))
    with named_errors(contest.label), contest.loop(contest.chooser) as loop:
        made = [decided for root in setting.roots for decided in _written(loop, root, each, coin)]
    predicted = _agreement(contest, made)
    return {**predicted, **_timed(contest, each, coin, predicted["predicted"], made)}


def _written(loop: PolicyLoop, root: Context, blocks: int, coin: Coin) -> list[Decided]:
    """So many blocks after a root."""
    standing, found = loop.start(root, 0), []
    for _ in range(blocks):
        decided, standing = loop.step(standing, coin)
        found.append(decided)
    return found


def _agreement(contest: PolicyContest, made: Sequence[Decided]) -> dict[str, Any]:
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


def _timed(
    contest: PolicyContest, blocks: int, coin: Coin, predicted: float, made: Sequence[Decided]
) -> dict[str, Any]:
    """Tokens a second of the policy and of the base in turn, with 95 % intervals over rounds; where the time goes."""
    choosers = {"policy": contest.chooser}
    if contest.base is not None:
        choosers["static"] = _Always(contest.base)
    speeds: dict[str, list[float]] = {name: [] for name in choosers}
    seconds: dict[str, float] = {}
    total = count = 0.0
    for turn in range(ROUNDS + 1):
        for name, chooser in choosers.items():
            with contest.loop(chooser) as loop:
                started, found = loop.now(), []
                for root in contest.setting.roots:
                    found += _written(loop, root, blocks, coin)
                spent = loop.now() - started - loop.seconds["prompt"]
            if turn:  # the first round warms up
                speeds[name].append(sum(each.block.depth + 1 for each in found) / spent)
            if turn and name == "policy":
                total, count = total + spent, count + len(found)
                seconds = {part: seconds.get(part, 0.0) + time for part, time in loop.seconds.items()}
    fields: dict[str, Any] = {f"{name}_per_second": _interval(each) for name, each in speeds.items()}
    if contest.base is not None:
        fields["over_static"] = _interval([a / b for a, b in zip(speeds["policy"], speeds["static"], strict=True)])
    context = sum(len(each.context) for each in made) // len(made)
    times = measured_times(contest.setting.pair, context, contest.actions)
    passes = float(np.mean([times.time(contest.actions[each.action].as_dict()) for each in made]))
    around = (total - seconds["draft"] - seconds["target"]) / count
    return {
        **fields,
        "predicted_per_second": predicted / (passes + around),
        "step_seconds": total / count,
        "choose_seconds": seconds["choose"] / count,
        "overhead": seconds["choose"] / total,
        "seconds_by_part": seconds,
    }


@dataclass(frozen=True)
class _Always:
    action: int

    def __call__(self, view: Any) -> int:
        return self.action


def _interval(values: Sequence[float]) -> dict[str, float]:
    """Mean and 95 % interval by Student's law."""
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) / sqrt(len(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * spread
    return {"mean": mean, "low": mean - reach, "high": mean + reach}
