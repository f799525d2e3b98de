"""`draftproof validate --policy`: the tree of every block chosen by a policy, in the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from draftproof.experiments.models.options import PairOptions, ShapeOptions
from draftproof.experiments.models.pair.opened import Opened, open_pair
from draftproof.experiments.models.pair.roots import CONTEXT, roots_of
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.selector.at_roots import check_sampling
from draftproof.experiments.models.selector.contest import PolicyContest, agreement, written
from draftproof.experiments.models.selector.deciding import ByFunction, BySelector, Chooser
from draftproof.experiments.models.selector.features import hidden_widths
from draftproof.experiments.models.selector.saved import load_selector, selector_path
from draftproof.experiments.models.selector.timed import timed
from draftproof.experiments.models.speed.latency_fit import measured_times
from draftproof.experiments.models.validation.contest import Setting, setting
from draftproof.experiments.policies.actions import shapes_of
from draftproof.experiments.policies.own import own_policy
from draftproof.experiments.shared.latency import TimeModel
from draftproof.experiments.shared.names import NamedVerifier, from_file
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import named_errors
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.policy import Action

#: Ranges of shapes for a policy of one's own, and how much is run, where nobody says.
RANGES, ROOTS, BLOCKS = ("1..4", "0..2", "0..2"), 4, 200


@dataclass(frozen=True)
class Amount:
    """roots, blocks: from all roots together; None where it is not said."""

    roots: int | None
    blocks: int | None


def check_options(given: Mapping[str, Any], chosen: Sequence[str]) -> None:
    """Raises `InvalidInput` for options that mean nothing with a policy, and for several verifiers."""
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
    warp: Warp,
    amount: Amount,
    seed: int,
    vectors: str,
) -> dict[str, Any]:
    """The report of a policy: `selector` (of `--pair`), the JSON file of one, or `FILE.py:NAME`."""
    if "delayed" not in lossless_for(named.verifier.card):
        raise InvalidInput(f"{named.label} is not declared lossless on delayed trees; choose another verifier")
    if spec != "selector" and not from_file(spec) and not spec.endswith(".json"):
        raise InvalidInput(
            f"unknown policy {spec!r}; give selector, the JSON file of one, or FILE.py:NAME for your own"
        )
    if spec == "selector" and pair.folder is None:
        raise InvalidInput("--policy selector is that of a folder; name it with --pair, or give its JSON file")
    wanted = _actions(shape)
    with open_pair(pair.wanted(seed)) as opened:
        where = setting(opened.pair, warp, roots_of(opened.held_out, amount.roots or ROOTS), seed, vectors)
        if from_file(spec):
            contest = _of_function(spec, where, named, wanted or shapes_of(*RANGES), amount)
        else:
            path = selector_path(str(pair.folder), named.label) if spec == "selector" else Path(spec)
            contest = _of_selector(path, where, named, wanted, amount)
        return {"policy": spec, **_about(opened, where), **report_of(contest)}


def report_of(contest: PolicyContest) -> dict[str, Any]:
    """Everything about a policy in the loop, as plain data."""
    setting = contest.setting
    coin = setting.coin(setting.seed)
    each = max(1, -(-contest.blocks // len(setting.roots)))
    with named_errors(contest.label), contest.loop(contest.chooser) as loop:
        made = [decided for root in setting.roots for decided in written(loop, root, each, coin)]
    found = agreement(contest, made)
    return {**found, **timed(contest, each, coin, found["predicted"], made)}


def _actions(shape: ShapeOptions) -> list[Delayed] | None:
    given = (shape.K, shape.L1, shape.L2)
    if not any(given):
        return None
    K, L1, L2 = (text or other for text, other in zip(given, RANGES, strict=True))
    return shapes_of(K, L1, L2)


def _of_selector(
    path: Path, where: Setting, named: NamedVerifier, wanted: list[Delayed] | None, amount: Amount
) -> PolicyContest:
    widths = hidden_widths(where.pair)
    found = load_selector(path, named.label, where.digest, where.pair.vocab_size, widths, wanted)
    number = check_sampling(path, found, where.warp)
    base = found.base[number]
    chooser = BySelector(found.network, where.warp)
    return _contest(where, named, found.actions, chooser, found.times, base, amount)


def _of_function(
    spec: str, where: Setting, named: NamedVerifier, actions: Sequence[Delayed], amount: Amount
) -> PolicyContest:
    chooser = ByFunction(own_policy(spec), tuple(Action(scheme, named.verifier) for scheme in actions))
    times = measured_times(where.pair, CONTEXT, actions)
    return _contest(where, named, actions, chooser, times, None, amount)


def _contest(
    where: Setting,
    named: NamedVerifier,
    actions: Sequence[Delayed],
    chooser: Chooser,
    times: TimeModel,
    base: int | None,
    amount: Amount,
) -> PolicyContest:
    blocks = amount.blocks or BLOCKS
    return PolicyContest(where, named.verifier, named.label, tuple(actions), chooser, times, base, blocks)


def _about(opened: Opened, where: Setting) -> dict[str, Any]:
    names = {"target": opened.pair.names[0], "draft": opened.pair.names[1], "text": opened.corpus.name}
    return {**names, **where.fields, "roots": len(where.roots)}


def deliver(console: Console, report: dict[str, Any], json_target: str | None) -> int:
    """Print it, write it, and the exit code: 0 where the blocks are as predicted."""
    console.print(
        f"{report['policy']} for {report['verifier']}: {report['blocks']:,} blocks after {report['roots']} roots, V = "
        f"{report['V']}, one sequence at a time",
        soft_wrap=True,
    )
    console.print(
        f"tokens a block: predicted {report['predicted']:.4f}, measured {report['measured']:.4f}, standard error "
        f"{report['standard_error']:.4f}, z {report['z']:+.2f}",
        soft_wrap=True,
    )
    used = "; ".join(f"{shape}: {count}" for shape, count in report["actions"].items())
    console.print(f"K, L1, L2 and blocks: {used}", soft_wrap=True)
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
        f"fitted passes are {report['fitted_pass_seconds'] / report['pass_seconds']:.2f} times those in the loop: "
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
