"""Tokens a second of a policy in the loop: measured, predicted, beside its base, and where the time of a block goes.

Two predictions. From shapes: each shape that the policy takes is run alone, in turn with the policy; a block of the
policy should take what a block of its shape takes, and choosing. From passes: fitted times of passes, and all that is
around the passes of the models as it was in the policy's own run. What they miss says what switching costs, and what a
pass takes longer between everything else than again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t

from draftproof.experiments.models.selector.contest import PolicyContest, written
from draftproof.experiments.models.selector.deciding import Chooser, Decided
from draftproof.experiments.models.speed.latency_fit import measured_times
from draftproof.simulator.protocol import Coin

#: Rounds in which the policy, its base and its shapes take turns, after one to warm up; least blocks of a shape alone.
ROUNDS, FEWEST = 6, 4


@dataclass
class _Turns:
    """What one chooser did in each round: tokens, blocks, seconds without prompts, and seconds by part."""

    tokens: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    parts: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def speeds(self) -> Any:
        """Tokens a second, by round."""
        return np.array(self.tokens) / np.array(self.seconds)

    @property
    def steps(self) -> Any:
        """Seconds of a block without choosing, by round."""
        return (np.array(self.seconds) - self.part("choose")) / np.array(self.blocks)

    def part(self, name: str) -> Any:
        """Seconds of one part, by round."""
        return np.array([parts.get(name, 0.0) for parts in self.parts])


def timed(contest: PolicyContest, blocks: int, coin: Coin, predicted: float, made: Sequence[Decided]) -> dict[str, Any]:
    """blocks: after each root. predicted: tokens a block. made: blocks of the policy, for the shares of its shapes."""
    counts = Counter(each.action for each in made)
    policy, base, shapes = _Turns(), _Turns(), {action: _Turns() for action in counts}
    for turn in range(ROUNDS + 1):
        kept = turn > 0
        _run(contest, contest.chooser, blocks, coin, policy if kept else _Turns())
        if contest.base is not None:
            _run(contest, _Always(contest.base), blocks, coin, base if kept else _Turns())
        for action, count in counts.items():
            each = max(FEWEST, -(-count // len(contest.setting.roots)))
            _run(contest, _Always(action), each, coin, shapes[action] if kept else _Turns())
    choosing = policy.part("choose") / np.array(policy.blocks)
    steps = sum(counts[action] / len(made) * turns.steps for action, turns in shapes.items())
    expected = predicted / (steps + choosing)
    fields: dict[str, Any] = {"policy_per_second": _interval(policy.speeds)}
    if contest.base is not None:
        fields |= {"static_per_second": _interval(base.speeds), "over_static": _interval(policy.speeds / base.speeds)}
    fields |= {
        "predicted_per_second": float(expected.mean()),
        "measured_over_predicted": _interval(policy.speeds / expected),
    }
    return {**fields, **_by_part(contest, policy, predicted, made)}


def _by_part(contest: PolicyContest, policy: _Turns, predicted: float, made: Sequence[Decided]) -> dict[str, Any]:
    """Where the seconds of a block of the policy go, and what fitted passes say."""
    total, count = sum(policy.seconds), sum(policy.blocks)
    parts = {name: float(policy.part(name).sum()) / count for name in policy.parts[0] if name != "prompt"}
    context = sum(len(each.context) for each in made) // len(made)
    times = measured_times(contest.setting.pair, context, contest.actions)
    passes = float(np.mean([times.time(contest.actions[each.action].as_dict()) for each in made]))
    step = total / count
    return {
        "predicted_from_passes": predicted / (passes + step - parts["passes"]),
        "fitted_pass_seconds": passes,
        "pass_seconds": parts["passes"],
        "step_seconds": step,
        "choose_seconds": parts["choose"],
        "overhead": parts["choose"] / step,
        "seconds_by_part": parts,
    }


def _run(contest: PolicyContest, chooser: Chooser, blocks: int, coin: Coin, turns: _Turns) -> None:
    """Blocks after every root, added to the turns."""
    with contest.loop(chooser) as loop:
        started, found = loop.now(), []
        for root in contest.setting.roots:
            found += written(loop, root, blocks, coin)
        turns.seconds.append(loop.now() - started - loop.seconds["prompt"])
    turns.tokens.append(sum(each.block.depth + 1 for each in found))
    turns.blocks.append(len(found))
    turns.parts.append(loop.seconds)


@dataclass(frozen=True)
class _Always:
    action: int

    def __call__(self, view: Any) -> int:
        return self.action


def _interval(values: Any) -> dict[str, float]:
    """Mean and 95 % interval by Student's law."""
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) / sqrt(len(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * spread
    return {"mean": mean, "low": mean - reach, "high": mean + reach}
