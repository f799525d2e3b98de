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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid import groups as by_group
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import shapes_of, user_policy
from draftproof.experiments.inputs.verifiers import NamedVerifier, from_file
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import POLICY_BUDGET, expected
from draftproof.experiments.models.loop.choosing import BlockStart, Chooser
from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.experiments.models.loop.setting import Setting, setting
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.measure.rounds import Interval, Turn, timed_rounds
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS
from draftproof.experiments.models.selector.chooser import by_function, by_network
from draftproof.experiments.models.selector.features import hidden_widths, pass_times
from draftproof.experiments.models.selector.file import SUFFIX, Use, load_selector, selector_path
from draftproof.experiments.models.validate.agreement import MOST_ERRORS, agreement
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Coin, Context

if TYPE_CHECKING:
    from draftproof.experiments.models.options import PairOptions, ShapeOptions


#: Maps what is known before a block to the position of an action.
Position: TypeAlias = Callable[[BlockStart], int]


@dataclass(frozen=True)
class Decision:
    """A block of a policy. context: the tokens before it."""

    context: Context
    block: Block

    @property
    def action(self) -> int:
        """The position of its action."""
        assert self.block.action is not None
        return self.block.action


@dataclass(frozen=True)
class PolicyRun:
    """The validation of a policy. base: the position of the action that the policy is timed against, or None."""

    setting: Setting
    named: NamedVerifier
    actions: tuple[Delayed, ...]
    chooser: Position
    times: TimeModel
    base: int | None = None

    def texts(self, position: Position, blocks: int, coin: Coin) -> tuple[list[Decision], Turn]:
        """So many blocks after each root, and how long they took; the text begins again where positions end."""
        setting, decisions = self.setting, list[Decision]()
        chooser = Chooser(self.actions, position, pass_times(self.times))
        loop = Loop(setting.pair, self.named.verifier, chooser, setting.sampling, setting.vectors)
        started = loop.watch.now()
        for root in setting.roots:
            state = loop.start(root)
            for number in range(blocks):
                if number and not loop.fits(len(state.texts[0].tokens)):
                    state = loop.start(root)
                context = state.texts[0].tokens
                (block,), state = loop.step(state, coin)
                decisions.append(Decision(context, block))
        seconds = loop.watch.now() - started - loop.watch.seconds["prompt"]
        tokens = sum(len(decision.block.tokens) for decision in decisions)
        return decisions, Turn(tokens, len(decisions), seconds, loop.watch.seconds)


def predicted_and_measured(run: PolicyRun, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Tokens a block as predicted and as measured, and which actions were taken."""
    predictions, setting = [], run.setting
    with bar("predictions", len(decisions)) as tick:
        for decision in decisions:
            contexts = Contexts(setting.pair, setting.sampling, [decision.context])
            generator = np.random.default_rng([setting.seed, *decision.context[-64:]])
            predictions.append(
                expected(run.named.verifier, run.actions[decision.action], contexts, POLICY_BUDGET, generator)
            )
            tick(1)
    found = agreement(predictions, [[decision.block] for decision in decisions])
    fields: dict[str, Any] = {
        "verifier": run.named.label,
        "blocks": found.blocks,
        "predicted": found.predicted,
        "measured": found.measured,
        "standard_error": found.standard_error,
        "z": found.z,
        "agrees": abs(found.z) <= MOST_ERRORS,
    }
    if groups := setting.root_set.groups:  # of prompts, which have equally many blocks one after the other
        tokens: dict[str, list[float]] = {
            "predicted": [prediction.mean for prediction in predictions],
            "measured": [decision.block.depth + 1 for decision in decisions],
        }
        fields["groups"] = {
            name: by_group.mean_by_group(groups, np.array(values).reshape(len(groups), -1).mean(axis=1).tolist())
            for name, values in tokens.items()
        }
    counts = Counter(run.actions[decision.action] for decision in decisions)
    fields["actions"] = {f"{shape.K}, {shape.L1}, {shape.L2}": count for shape, count in counts.most_common()}
    return fields


#: Timed rounds of the policy, its base and its shapes, after a warm-up; the fewest blocks of a shape alone.
ROUNDS, FEWEST = 6, 4


def timed(run: PolicyRun, blocks: int, coin: Coin, predicted: float, decisions: Sequence[Decision]) -> dict[str, Any]:
    """blocks: after each root. predicted: tokens a block. decisions: of the policy, for the shares of its shapes."""

    def candidate(chooser: Position, blocks: int) -> Callable[[int], Turn]:
        return lambda _: run.texts(chooser, blocks, coin)[1]

    def always(action: int) -> Position:
        return lambda _: action

    counts = Counter(decision.action for decision in decisions)
    shapes = [
        candidate(always(action), max(FEWEST, -(-count // len(run.setting.roots)))) for action, count in counts.items()
    ]
    static = [] if run.base is None else [candidate(always(run.base), blocks)]
    policy, *others = timed_rounds([candidate(run.chooser, blocks), *shapes, *static], ROUNDS, warm_up=1)
    rates = np.array([turn.rate for turn in policy])
    choosing = np.array([turn.parts["choose"] / turn.blocks for turn in policy])
    steps = sum(
        count / len(decisions) * np.array([(turn.seconds - turn.parts["choose"]) / turn.blocks for turn in turns])
        for count, turns in zip(counts.values(), others, strict=False)
    )
    expected_rates = predicted / (steps + choosing)
    intervals = {"policy_per_second": Interval.of_ratio(rates)}
    if static:
        static_rates = [turn.rate for turn in others[-1]]
        intervals |= {
            "static_per_second": Interval.of_ratio(static_rates),
            "over_static": Interval.of_ratio(rates, static_rates),
        }
    intervals["measured_over_predicted"] = Interval.of_ratio(rates, expected_rates)
    return {
        **{name: interval._asdict() for name, interval in intervals.items()},
        "predicted_per_second": float(expected_rates.mean()),
        **_by_part(run, Turn.joined(policy), predicted, decisions),
    }


def _by_part(run: PolicyRun, policy: Turn, predicted: float, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Where the seconds of a block of the policy go, and what passes that are repeated alone say."""
    parts = {name: seconds / policy.blocks for name, seconds in policy.parts.items() if name != "prompt"}
    context = sum(len(decision.context) for decision in decisions) // len(decisions)
    times = measured_times(run.setting.pair, context, run.actions)
    passes = float(np.mean([times.time(run.actions[decision.action].as_dict()) for decision in decisions]))
    return {
        "predicted_from_passes": predicted / (passes + policy.block - parts["passes"]),
        "repeated_pass_seconds": passes,
        "pass_seconds": parts["passes"],
        "step_seconds": policy.block,
        "choose_seconds": parts["choose"],
        "overhead": parts["choose"] / policy.block,
        "seconds_by_part": parts,
    }


#: Defaults: ranges of shapes for a user-defined policy, roots and blocks of all roots together.
RANGES, ROOTS, BLOCKS = ("1..4", "0..2", "0..2"), 4, 200


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
    sampling: Sampling,
    amount: tuple[int | None, int | None],
    seed: int,
    vectors: str,
) -> dict[str, Any]:
    """The report of a policy: `selector` (of `--pair`), the file of one, or `FILE.py:NAME`.

    amount: roots, and blocks from all roots together; None: the default.
    """
    roots, blocks = amount
    if "delayed" not in lossless_for(named.verifier.card):
        raise InvalidInput(f"{named.label} is not declared lossless on delayed trees; choose another verifier")
    if spec != "selector" and not from_file(spec) and not spec.endswith(SUFFIX):
        raise InvalidInput(f"unknown policy {spec!r}; give selector, the file of one, or FILE.py:NAME for your own")
    if spec == "selector" and pair.folder is None:
        raise InvalidInput("--policy selector is that of a folder; name it with --pair, or give its file")
    ranges = (shape.K, shape.L1, shape.L2)
    K, L1, L2 = (text or usual for text, usual in zip(ranges, RANGES, strict=True))
    actions = shapes_of(K, L1, L2)
    with open_pair(pair.wanted(seed)) as opened:
        where = setting(opened.pair, sampling, opened.roots(roots, ROOTS), seed, vectors)
        if from_file(spec):
            times = measured_times(where.pair, CONTEXT_TOKENS, actions)
            run = PolicyRun(where, named, tuple(actions), by_function(user_policy(spec), named, actions), times)
        else:
            path = selector_path(str(pair.folder), named.label) if spec == "selector" else Path(spec)
            use = Use(named.label, where.digest, where.pair.vocab_size, hidden_widths(where.pair), sampling)
            selector = load_selector(path, use, actions if any(ranges) else None)
            chooser = by_network(selector.network, sampling)
            run = PolicyRun(where, named, selector.actions, chooser, selector.times, selector.base)
        return {"policy": spec, **_about(opened, where), **report_of(run, blocks or BLOCKS)}


def report_of(run: PolicyRun, blocks: int) -> dict[str, Any]:
    """Everything about a policy in the loop, as plain data; blocks: from all roots together."""
    coin = run.setting.coin(run.setting.seed)
    after_each_root = max(1, -(-blocks // len(run.setting.roots)))
    with named_errors(run.named.label):
        decisions, _ = run.texts(run.chooser, after_each_root, coin)
    tokens = predicted_and_measured(run, decisions)
    return {**tokens, **timed(run, after_each_root, coin, tokens["predicted"], decisions)}


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
