"""`draftproof model validate --policy`: a policy in the loop, tokens a block, predicted and measured, and a second.

The policy and the best static action write in turn. The same blocks are timed, and compared with the law of their
action after their context, as those of a cell are (`agreement`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.policies import shapes_of, user_policy
from draftproof.experiments.inputs.verifiers import NamedVerifier, Verifiers, as_verifiers, from_file
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import POLICY_BUDGET, expected
from draftproof.experiments.models.loop.choosing import BlockStart, Chooser
from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.measure.rounds import Interval, Turn, timed_rounds
from draftproof.experiments.models.measure.setting import Setting
from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS
from draftproof.experiments.models.selector.features import hidden_widths, pass_times
from draftproof.experiments.models.selector.file import SUFFIX, Use, load_selector, selector_path
from draftproof.experiments.models.validate.agreement import MOST_ERRORS, agreement
from draftproof.experiments.models.validate.views import by_group, title
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.protocol import Coin, Context

#: Turns of the policy and of the action that it is timed against, after a warm-up.
ROUNDS = 5
#: Defaults: ranges of shapes for a user-defined policy, roots and blocks of all roots together.
RANGES, ROOTS, BLOCKS = {"K": "1..4", "L1": "0..2", "L2": "0..2"}, 4, 200
_COLUMNS = (
    Column("policy"),
    Column("verifier"),
    Column("verdict", "verdict"),
    Column("blocks", "count"),
    Column("predicted", "exact", "tokens a block, predicted"),
    Column("measured", "exact", "measured"),
    Column("standard_error", "exact", "standard error"),
    Column("z", "exact"),
    Column("used", title="K, L1, L2 and blocks"),
    Column("tokens_per_second", "exact", "tokens a second"),
    Column("tokens_per_second_interval", "interval", "95 %"),
    Column("static_per_second", "exact", "tokens a second of the best static action"),
    Column("over_static_interval", "interval", "over it, 95 %"),
    Column("parts", title="a step"),
    Column("overhead", "percent", "of which choosing"),
)


@dataclass(frozen=True)
class PolicyRequest:
    """A policy as it is asked for. path: of a selector, None for a function; wanted: whether shapes are asked for."""

    spec: str
    named: NamedVerifier
    actions: Sequence[Delayed]
    path: Path | None
    wanted: bool


def policy_request(
    spec: str, verifiers: Verifiers | None, folder: str | None, ranges: Mapping[str, Any]
) -> PolicyRequest:
    """`selector` (of the folder of a pair), the file of one, or `FILE.py:NAME`; raises `InvalidInput`."""
    several = as_verifiers(verifiers or "specinfer")
    if len(several) > 1:
        raise InvalidInput(f"policy takes one verifier, not {len(several)}; run it once for each")
    named = several[0]
    if "delayed" not in lossless_for(named.verifier.card):
        raise InvalidInput(f"{named.label} is not declared lossless on delayed trees; choose another verifier")
    if spec != "selector" and not from_file(spec) and not spec.endswith(SUFFIX):
        raise InvalidInput(f"unknown policy {spec!r}; give selector, the file of one, or FILE.py:NAME for your own")
    if spec == "selector" and folder is None:
        raise InvalidInput("policy selector is that of a folder; give the world models:FOLDER, or its file")
    given = {name: value for name, value in ranges.items() if value is not None}
    K, L1, L2 = (given.get(name, usual) for name, usual in RANGES.items())
    actions = shapes_of(K, L1, L2)
    path = None if from_file(spec) else selector_path(str(folder), named.label) if spec == "selector" else Path(spec)
    return PolicyRequest(spec, named, actions, path, bool(given))


def policy_result(request: PolicyRequest, where: Setting, blocks: int | None) -> Result:
    """The policy in the loop, refuted where its blocks are not as predicted. blocks: from all roots; None: the default.

    Raises `InvalidInput` for a selector of something else.
    """
    run = _run_of(request, where)
    coin, base, positions, notes = where.coin(where.seed), run.base, [run.position], list[str]()
    if base is not None:
        positions.append(lambda _: base)
        notes.append("a policy is measured in turn with the best static action")
    after_each_root = max(1, -(-(blocks or BLOCKS) // (len(where.roots) * ROUNDS)))
    with named_errors(run.named.label):
        written = timed_rounds([partial(run.texts, position, after_each_root, coin) for position in positions], ROUNDS)
    row = {
        "policy": request.spec,
        **where.fields,
        **predicted_and_measured(run, [texts for texts, _ in written[0]]),
        **speeds([[turn for _, turn in turns] for turns in written]),
        "roots": len(where.roots),
    }
    grouped, how_sure = by_group(where, [row], Column("policy"))
    tables = [Table.whole(_COLUMNS, [row]), *grouped]
    return Result(f"{title(where)}, one sequence at a time", tables, [*notes, *how_sure], 0 if row["agrees"] else 1)


@dataclass(frozen=True)
class PolicyRun:
    """The validation of a policy.

    position: maps what is known before a block to the position of an action. base: the position of the action that the
    policy is timed against, or None.
    """

    setting: Setting
    named: NamedVerifier
    actions: tuple[Delayed, ...]
    position: Callable[[BlockStart], int]
    times: TimeModel
    base: int | None = None

    def texts(
        self, position: Callable[[BlockStart], int], blocks: int, coin: Coin
    ) -> tuple[list[tuple[Context, Block]], Turn]:
        """So many blocks after each root, each with the tokens before it, and how long they took.

        The text begins again where positions end.
        """
        setting, written = self.setting, list[tuple[Context, Block]]()
        chooser = Chooser(self.actions, position, pass_times(self.times))
        loop = Loop(setting.pair, setting.sampling, setting.vectors)
        started = loop.watch.now()
        for root in setting.roots:
            state = loop.start(root, chooser.depth)
            for number in range(blocks):
                if number and not loop.fits(len(state.texts[0].tokens), chooser.depth):
                    state = loop.start(root, chooser.depth)
                context = state.texts[0].tokens
                (block,), state = loop.step(state, self.named.verifier, chooser, coin)
                written.append((context, block))
        seconds = loop.watch.now() - started - loop.watch.seconds["prompt"]
        tokens = sum(len(block.tokens) for _, block in written)
        return written, Turn(tokens, len(written), seconds, loop.watch.seconds)


def _run_of(request: PolicyRequest, where: Setting) -> PolicyRun:
    named, actions = request.named, tuple(request.actions)
    if request.path is None:
        times = measured_times(where.pair, CONTEXT_TOKENS, actions)
        own, told = user_policy(request.spec), [Action(scheme, named.verifier) for scheme in actions]
        return PolicyRun(where, named, actions, lambda start: own.position(start.known, told), times)
    use = Use(named.label, where.digest, where.pair.vocab_size, hidden_widths(where.pair), where.sampling)
    selector = load_selector(request.path, use, actions if request.wanted else None)
    position = partial(selector.network.chosen, sampling=where.sampling)
    return PolicyRun(where, named, selector.actions, position, selector.times, selector.base)


def predicted_and_measured(run: PolicyRun, turns: Sequence[Sequence[tuple[Context, Block]]]) -> dict[str, Any]:
    """Tokens a block as predicted and as measured, and which actions were taken.

    turns: the blocks of each with the tokens before them, equally many after every root, root by root.
    """
    written, setting = [pair for turn in turns for pair in turn], run.setting
    taken = [run.actions[block.action] for _, block in written if block.action is not None]
    predictions = []
    with bar("predictions", len(written)) as tick:
        for (context, _), action in zip(written, taken, strict=True):
            contexts = Contexts(setting.pair, setting.sampling, [context])
            generator = np.random.default_rng([setting.seed, *context[-64:]])
            predictions.append(expected(run.named.verifier, action, contexts, POLICY_BUDGET, generator))
            tick(1)
    compared = agreement(predictions, [[block] for _, block in written])
    agrees = abs(compared.z) <= MOST_ERRORS
    tokens = [prediction.mean for prediction in predictions], [block.depth + 1 for _, block in written]
    means = [np.array(of).reshape(len(turns), len(setting.roots), -1).mean(axis=(0, 2)).tolist() for of in tokens]
    counts = {f"{shape.K}, {shape.L1}, {shape.L2}": count for shape, count in Counter(taken).most_common()}
    return {
        "verifier": run.named.label,
        "blocks": compared.blocks,
        "predicted": compared.predicted,
        "measured": compared.measured,
        "standard_error": compared.standard_error,
        "z": compared.z,
        "agrees": agrees,
        "verdict": "as predicted" if agrees else "NOT as predicted",
        "by_root": dict(zip(("predicted", "measured"), means, strict=True)),
        "actions": counts,
        "used": "; ".join(f"{shape}: {count}" for shape, count in counts.items()),
    }


def speeds(turns: Sequence[Sequence[Turn]]) -> dict[str, Any]:
    """Tokens a second, and where the seconds of a block go. turns: of the policy, and of what it is timed against."""
    own, *others = [np.array([turn.rate for turn in of_writer]) for of_writer in turns]
    blocks = sum(turn.blocks for turn in turns[0])
    step = sum(turn.seconds for turn in turns[0]) / blocks
    parts = {
        name: sum(turn.parts[name] for turn in turns[0]) / blocks
        for name in ("draft", "choose", "target", "verify", "cache")
    }
    fields = Interval.of_ratio(own).fields("tokens_per_second")
    for static in others:
        fields |= Interval.of_ratio(static).fields("static_per_second")
        fields |= Interval.of_ratio(own, static).fields("over_static")
    return {
        **fields,
        "step_seconds": step,
        "overhead": parts["choose"] / step,
        "seconds_by_part": parts,
        "parts": f"{step * 1e3:.2f} ms: " + ", ".join(f"{name} {time / step:.1%}" for name, time in parts.items()),
    }
