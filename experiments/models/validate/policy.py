"""`draftproof model validate --policy`: a policy in the loop, tokens a block and a second, predicted and measured.

The prediction of a block is the law of its action after its context; blocks are compared with it as those of a cell
are (`agreement`).

Tokens a second are predicted twice. From shapes: each shape that the policy uses is run alone, in turn with the
policy, and a block of the policy is predicted to take the time of a block of its shape plus that of choosing. From
passes: the times of passes alone, plus the time outside passes in the policy's own run. The errors show the cost of
switching shapes, and how much slower a pass is in the loop than when repeated alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid import groups as by_group
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import shapes_of, user_policy
from draftproof.experiments.inputs.verifiers import NamedVerifier, from_file
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import POLICY, Expected, expected
from draftproof.experiments.models.loop.setting import Setting, setting
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.measure.rounds import Interval, Turn, timed_rounds
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS
from draftproof.experiments.models.selector.chooser import (
    Chooser,
    PolicyBlock,
    PolicyLoop,
    by_function,
    by_network,
    deciding,
)
from draftproof.experiments.models.selector.features import hidden_widths
from draftproof.experiments.models.selector.file import SUFFIX, Use, load_selector, selector_path
from draftproof.experiments.models.validate.agreement import MOST_ERRORS, agreement
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context, Verifier

if TYPE_CHECKING:
    from draftproof.experiments.models.options import PairOptions, ShapeOptions


@dataclass(frozen=True)
class PolicyRun:
    """The validation of a policy. base: the position of the action that the policy is timed against, or None."""

    setting: Setting
    verifier: Verifier
    label: str
    actions: tuple[Delayed, ...]
    chooser: Chooser
    times: TimeModel
    base: int | None
    blocks: int

    def loop(self, chooser: Chooser) -> Any:
        given = self.setting
        return deciding(given.pair, self.verifier, self.actions, chooser, given.warp, self.times, given.vectors)


def written(loop: PolicyLoop, root: Context, blocks: int, coin: Coin) -> list[PolicyBlock]:
    """So many blocks after a root, in several texts where the positions of the models do not suffice for one."""
    standing, found = loop.start(root), list[PolicyBlock]()
    for _ in range(blocks):
        if found and not loop.fits(len(standing.context)):
            standing = loop.start(root)
        decided, standing = loop.step(standing, coin)
        found.append(decided)
    return found


def predicted_and_measured(run: PolicyRun, made: Sequence[PolicyBlock]) -> dict[str, Any]:
    """Tokens a block as predicted and as measured, and which actions were taken."""
    predictions = []
    with bar("predictions", len(made)) as tick:
        for each in made:
            predictions.append(_prediction(run, each.context, run.actions[each.action]))
            tick(1)
    found = agreement(predictions, [[each.block] for each in made])
    means = [prediction.mean for prediction in predictions]
    lengths = [each.block.depth + 1 for each in made]
    counts = np.bincount([each.action for each in made], minlength=len(run.actions))
    groups = run.setting.root_set.groups  # of prompts, which have equally many blocks one after the other
    told = {
        name: by_group.mean_by_group(groups, np.reshape(values, (len(groups), -1)).mean(axis=1).tolist())
        for name, values in ((("predicted", means), ("measured", lengths)) if groups else ())
    }
    return {
        "verifier": run.label,
        "blocks": found.blocks,
        "predicted": found.predicted,
        "measured": found.measured,
        "standard_error": found.standard_error,
        "z": found.z,
        "agrees": abs(found.z) <= MOST_ERRORS,
        **({"groups": told} if groups else {}),
        "actions": {
            ", ".join(map(str, (a.K, a.L1, a.L2))): int(count)
            for a, count in sorted(zip(run.actions, counts, strict=True), key=lambda pair: -pair[1])
            if count
        },
    }


def _prediction(run: PolicyRun, context: Context, scheme: Delayed) -> Expected:
    setting = run.setting
    generator = np.random.default_rng([setting.seed, *context[-64:]])
    return expected(run.verifier, scheme, Contexts(setting.pair, setting.warp, [context]), POLICY, generator)


#: Timed rounds of the policy, its base and its shapes, after a warm-up; the fewest blocks of a shape alone.
ROUNDS, FEWEST = 6, 4


def timed(run: PolicyRun, blocks: int, coin: Coin, predicted: float, made: Sequence[PolicyBlock]) -> dict[str, Any]:
    """blocks: after each root. predicted: tokens a block. made: blocks of the policy, for the shares of its shapes."""
    counts = Counter(each.action for each in made)
    candidates = [partial(_turn, run, run.chooser, blocks, coin)]
    for action, count in counts.items():
        each = max(FEWEST, -(-count // len(run.setting.roots)))
        candidates.append(partial(_turn, run, _Always(action), each, coin))
    if run.base is not None:
        candidates.append(partial(_turn, run, _Always(run.base), blocks, coin))
    policy, *others = timed_rounds(candidates, ROUNDS, warm_up=1)
    rates = np.array([turn.rate for turn in policy])
    choosing = np.array([turn.parts["choose"] / turn.blocks for turn in policy])
    steps = sum(
        count / len(made) * np.array([(turn.seconds - turn.parts["choose"]) / turn.blocks for turn in turns])
        for count, turns in zip(counts.values(), others, strict=False)
    )
    expected_rates = predicted / (steps + choosing)
    fields: dict[str, Any] = {"policy_per_second": Interval.of_ratio(rates)._asdict()}
    if run.base is not None:
        static = [turn.rate for turn in others[-1]]
        fields |= {"static_per_second": Interval.of_ratio(static)._asdict()}
        fields |= {"over_static": Interval.of_ratio(rates, static)._asdict()}
    fields |= {
        "predicted_per_second": float(expected_rates.mean()),
        "measured_over_predicted": Interval.of_ratio(rates, expected_rates)._asdict(),
    }
    return {**fields, **_by_part(run, Turn.joined(policy), predicted, made)}


def _by_part(run: PolicyRun, policy: Turn, predicted: float, made: Sequence[PolicyBlock]) -> dict[str, Any]:
    """Where the seconds of a block of the policy go, and what passes that are repeated alone say."""
    parts = {name: seconds / policy.blocks for name, seconds in policy.parts.items() if name != "prompt"}
    context = sum(len(each.context) for each in made) // len(made)
    times = measured_times(run.setting.pair, context, run.actions)
    passes = float(np.mean([times.time(run.actions[each.action].as_dict()) for each in made]))
    return {
        "predicted_from_passes": predicted / (passes + policy.block - parts["passes"]),
        "repeated_pass_seconds": passes,
        "pass_seconds": parts["passes"],
        "step_seconds": policy.block,
        "choose_seconds": parts["choose"],
        "overhead": parts["choose"] / policy.block,
        "seconds_by_part": parts,
    }


def _turn(run: PolicyRun, chooser: Chooser, blocks: int, coin: Coin, _: int) -> Turn:
    with run.loop(chooser) as loop:
        started = loop.now()
        made = [decided for root in run.setting.roots for decided in written(loop, root, blocks, coin)]
        seconds = loop.now() - started - loop.seconds["prompt"]
    return Turn(sum(each.block.depth + 1 for each in made), len(made), seconds, loop.seconds)


@dataclass(frozen=True)
class _Always:
    action: int

    def __call__(self, known_input: Any) -> int:
        return self.action


#: Defaults: ranges of shapes for a user-defined policy, roots and blocks.
RANGES, ROOTS, BLOCKS = ("1..4", "0..2", "0..2"), 4, 200


@dataclass(frozen=True)
class Amount:
    """How much is run. blocks: from all roots together. None: the default."""

    roots: int | None
    blocks: int | None


def check_options(given: Mapping[str, Any], chosen: Sequence[str]) -> None:
    """Raises `InvalidInput` for options that do not apply to a policy, and for several verifiers."""
    wrong = [flag for flag, value in given.items() if value]
    if wrong:
        raise InvalidInput(f"--policy goes without {wrong[0]}; leave one of them out")
    if len(chosen) > 1:
        raise InvalidInput(f"--policy takes one verifier, not {len(chosen)}; run it once for each")


def validate_policy(
    spec: str,
    named: NamedVerifier,
    pair: PairOptions,
    shape: ShapeOptions,
    warp: Sampling,
    amount: Amount,
    seed: int,
    vectors: str,
) -> dict[str, Any]:
    """The report of a policy: `selector` (of `--pair`), the file of one, or `FILE.py:NAME`."""
    if "delayed" not in lossless_for(named.verifier.card):
        raise InvalidInput(f"{named.label} is not declared lossless on delayed trees; choose another verifier")
    if spec != "selector" and not from_file(spec) and not spec.endswith(SUFFIX):
        raise InvalidInput(f"unknown policy {spec!r}; give selector, the file of one, or FILE.py:NAME for your own")
    if spec == "selector" and pair.folder is None:
        raise InvalidInput("--policy selector is that of a folder; name it with --pair, or give its file")
    wanted = _actions(shape)
    with open_pair(pair.wanted(seed)) as opened:
        where = setting(opened.pair, warp, opened.roots(amount.roots, ROOTS), seed, vectors)
        if from_file(spec):
            run = _of_function(spec, where, named, wanted or shapes_of(*RANGES), amount)
        else:
            path = selector_path(str(pair.folder), named.label) if spec == "selector" else Path(spec)
            run = _of_selector(path, where, named, wanted, amount)
        return {"policy": spec, **_about(opened, where), **report_of(run)}


def report_of(run: PolicyRun) -> dict[str, Any]:
    """Everything about a policy in the loop, as plain data."""
    setting = run.setting
    coin = setting.coin(setting.seed)
    each = max(1, -(-run.blocks // len(setting.roots)))
    with named_errors(run.label), run.loop(run.chooser) as loop:
        made = [decided for root in setting.roots for decided in written(loop, root, each, coin)]
    found = predicted_and_measured(run, made)
    return {**found, **timed(run, each, coin, found["predicted"], made)}


def _actions(shape: ShapeOptions) -> list[Delayed] | None:
    given = (shape.K, shape.L1, shape.L2)
    if not any(given):
        return None
    K, L1, L2 = (text or other for text, other in zip(given, RANGES, strict=True))
    return shapes_of(K, L1, L2)


def _of_selector(
    path: Path, where: Setting, named: NamedVerifier, wanted: list[Delayed] | None, amount: Amount
) -> PolicyRun:
    use = Use(named.label, where.digest, where.pair.vocab_size, hidden_widths(where.pair), where.warp)
    selector = load_selector(path, use, wanted)
    chooser = by_network(selector.network, where.warp)
    return _contest(where, named, selector.actions, chooser, selector.times, selector.base, amount)


def _of_function(
    spec: str, where: Setting, named: NamedVerifier, actions: Sequence[Delayed], amount: Amount
) -> PolicyRun:
    chooser = by_function(user_policy(spec), named, actions)
    times = measured_times(where.pair, CONTEXT_TOKENS, actions)
    return _contest(where, named, actions, chooser, times, None, amount)


def _contest(
    where: Setting,
    named: NamedVerifier,
    actions: Sequence[Delayed],
    chooser: Chooser,
    times: TimeModel,
    base: int | None,
    amount: Amount,
) -> PolicyRun:
    blocks = amount.blocks or BLOCKS
    return PolicyRun(where, named.verifier, named.label, tuple(actions), chooser, times, base, blocks)


def _about(opened: Opened, where: Setting) -> dict[str, Any]:
    names = {"target": opened.pair.names[0], "draft": opened.pair.names[1], "text": opened.corpus.name}
    return {**names, **opened.root_source, **where.fields, "roots": len(where.roots), "after": str(where.root_set)}


def deliver(console: Console, report: dict[str, Any], json_target: str | None) -> int:
    """Print it, write it, and the exit code: 0 where the blocks are as predicted."""
    console.print(
        f"{report['policy']} for {report['verifier']}: {report['blocks']:,} blocks after {report['after']}, "
        f"V = {report['V']}, one sequence at a time",
        soft_wrap=True,
    )
    console.print(
        f"tokens a block: predicted {report['predicted']:.4f}, measured {report['measured']:.4f}, standard error "
        f"{report['standard_error']:.4f}, z {report['z']:+.2f}",
        soft_wrap=True,
    )
    used = "; ".join(f"{shape}: {count}" for shape, count in report["actions"].items())
    console.print(f"K, L1, L2 and blocks: {used}", soft_wrap=True)
    if "groups" in report:
        table = Table(title="tokens a block by group of prompts", title_justify="left", caption_justify="left")
        table.add_column("")
        by_group.group_columns(table, report["groups"]["predicted"])
        for name, means in report["groups"].items():
            table.add_row(name, *map(by_group.interval_text, means))
        console.print(table)
    elif report["roots"] < by_group.FEWEST:
        console.print(by_group.few_text("roots"))
    console.print(
        f"tokens a second: {_interval(report['policy_per_second'], '.1f')}; predicted from its shapes, each alone in "
        f"turn, and choosing: {report['predicted_per_second']:.1f}; measured over predicted: "
        f"{_interval(report['measured_over_predicted'], '.3f')}",
        soft_wrap=True,
    )
    if "static_per_second" in report:
        console.print(
            f"the best static action: {_interval(report['static_per_second'], '.1f')}; the policy over it in rounds "
            f"taken in turn: {_interval(report['over_static'], '.3f')}",
            soft_wrap=True,
        )
    step, parts = report["step_seconds"], report["seconds_by_part"]
    around = parts["draft"] + parts["target"] - parts["passes"]
    named = {"passes": parts["passes"], "around passes": around, **{n: parts[n] for n in ("verify", "cache", "choose")}}
    console.print(
        f"a step of {step * 1e3:.2f} ms: {', '.join(f'{name} {time / step:.1%}' for name, time in named.items())}; "
        f"passes repeated alone are {report['repeated_pass_seconds'] / report['pass_seconds']:.2f} times those in the "
        "loop: "
        f"{report['predicted_from_passes']:.1f} tokens a second",
        soft_wrap=True,
    )
    console.print(
        f"choosing takes {report['choose_seconds'] * 1e6:.0f} us a step: {report['overhead']:.2%}",
        soft_wrap=True,
    )
    console.print("as predicted" if report["agrees"] else "NOT as predicted: tokens a block")
    write_json(json_target, report)
    return 0 if report["agrees"] else 1


def _interval(found: Mapping[str, float], digits: str) -> str:
    return f"{found['mean']:{digits}} (95 %: {found['low']:{digits}} to {found['high']:{digits}})"
