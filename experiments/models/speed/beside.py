"""Ways of writing with `generate` of transformers beside each other: alone, with its own assistant, with our verifiers.

All are called through the same door, `generate`, and timed from call to return, the prompt included; they take turns
in every round, so that what else the machine does slows all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from experiments.models.drop_in.generate_with import Generating
from experiments.models.loop.coins import text_seed
from experiments.models.loop.timing import Stopwatch
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.speed.paired import geometric_mean, ratio
from experiments.shared.progress import remark
from simulator.protocol import Context

#: What `generate` of transformers reads from the assistant: how many tokens it drafts at a time, always as many.
_CONSTANT = {"num_assistant_tokens_schedule": "constant", "assistant_confidence_threshold": 0.0}


@dataclass(frozen=True)
class Writer:
    """One way of writing.

    ours: what `generate_with` made; None for that of transformers. assisted: whether the draft model takes part.
    drafts: how many tokens the assistant of transformers drafts at a time; None leaves it to its own schedule.
    """

    label: str
    ours: Generating | None = None
    assisted: bool = True
    drafts: int | None = None


ALONE = Writer("generate", assisted=False)
ASSISTED = Writer("generate, assistant, its own schedule")


def assisted_by(drafts: int) -> Writer:
    """The assistant of transformers with a path of this length in every block."""
    return Writer(f"generate, assistant, {drafts} at a time", drafts=drafts)


@dataclass
class Passes:
    """What the two models did: passes, and the seconds in them."""

    count: dict[str, int] = field(default_factory=lambda: {"target": 0, "draft": 0})
    seconds: dict[str, float] = field(default_factory=lambda: {"target": 0.0, "draft": 0.0})


def beside(
    pair: Pair, writers: Sequence[Writer], roots: Sequence[Context], warp: Warp, tokens: int, rounds: int, seed: int
) -> list[dict[str, Any]]:
    """One row a writer: tokens a second, how many times those of `ALONE` and of `ASSISTED` that is, and a profile.

    Where no `ASSISTED` takes part, nothing is said of it. Each writes a text to warm up: the first call of an assistant
    imports what it needs. Then a round is watched, and the others are timed. tokens: after each root, at most.
    """
    for each in writers:
        written(pair, each, roots[0], warp, tokens, seed)
    watched = [_watched(pair, each, roots, warp, tokens, seed) for each in writers]
    rates: list[list[float]] = [[] for _ in writers]
    for round_ in range(rounds):
        order = range(len(writers)) if round_ % 2 == 0 else range(len(writers) - 1, -1, -1)
        for number in order:
            count, seconds = _timed(pair, writers[number], roots, warp, tokens, seed + 1 + round_)
            rates[number].append(count / seconds)
        remark(f"round {round_ + 1} of {rounds}")
    alone = rates[writers.index(ALONE)]
    assisted = rates[writers.index(ASSISTED)] if ASSISTED in writers else None
    return [
        {
            "writer": each.label,
            "tokens_per_second": geometric_mean(own),
            "times_alone": ratio(own, alone),
            "times_assisted": None if assisted is None else ratio(own, assisted),
            **profile,
        }
        for each, own, profile in zip(writers, rates, watched, strict=True)
    ]


def written(pair: Pair, writer: Writer, root: Context, warp: Warp, tokens: int, seed: int) -> list[int]:
    """The tokens that it writes after one root."""
    torch.manual_seed(seed)
    ids = torch.tensor([root], device=pair.device)
    asked: dict[str, Any] = {"do_sample": not warp.greedy, "max_new_tokens": tokens}
    if not warp.greedy:
        top_p = 1.0 if warp.top_p is None else warp.top_p
        asked |= {"temperature": warp.temperature, "top_k": warp.top_k or 0, "top_p": top_p}
    if writer.assisted:
        asked |= {"assistant_model": pair.draft}
    if writer.ours is not None:
        asked |= {"custom_generate": writer.ours}
    theirs = writer.assisted and writer.ours is None
    with _drafting(pair.draft, writer.drafts) if theirs else nullcontext():
        text = pair.target.generate(ids, attention_mask=torch.ones_like(ids), **asked)
    return list(text[0, len(root) :].tolist())


@contextmanager
def _drafting(draft: Any, drafts: int | None) -> Iterator[None]:
    """The settings of the assistant for the time of the body; what it has learnt in it is forgotten."""
    config = draft.generation_config
    settings = {"num_assistant_tokens": drafts, **(_CONSTANT if drafts is not None else {})}
    names = {*settings, *_CONSTANT}
    before = {name: getattr(config, name) for name in names}
    try:
        for name, value in settings.items():
            if value is not None:
                setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def _timed(
    pair: Pair, writer: Writer, roots: Sequence[Context], warp: Warp, tokens: int, seed: int
) -> tuple[int, float]:
    """Tokens after all roots, and seconds."""
    watch = Stopwatch(pair.device)
    count, started = 0, watch.now()
    for number, root in enumerate(roots):
        count += len(written(pair, writer, root, warp, tokens, text_seed(seed, number)))
    return count, watch.now() - started


def _watched(
    pair: Pair, writer: Writer, roots: Sequence[Context], warp: Warp, tokens: int, seed: int
) -> dict[str, float]:
    """Tokens a pass of the target, passes of the draft a token, the shares of time in passes and around them, and how
    long a pass takes, in milliseconds.
    """
    with _counting(pair) as passes:
        count, seconds = _timed(pair, writer, roots, warp, tokens, seed)
    shares = {f"{name}_share": spent / seconds for name, spent in passes.seconds.items()}
    return {
        "tokens_per_target_pass": count / passes.count["target"],
        "draft_passes_per_token": passes.count["draft"] / count,
        **shares,
        **{f"{name}_ms": 1e3 * spent / max(passes.count[name], 1) for name, spent in passes.seconds.items()},
        "around_share": 1 - sum(shares.values()),
    }


@contextmanager
def _counting(pair: Pair) -> Iterator[Passes]:
    """Watch both models."""
    passes, begun, watch = Passes(), dict[str, float](), Stopwatch(pair.device)
    hooks = []
    for name, model in (("target", pair.target), ("draft", pair.draft)):

        def before(*_: Any, name: str = name) -> None:
            begun[name] = watch.now()

        def after(*_: Any, name: str = name) -> None:
            passes.count[name] += 1
            passes.seconds[name] += watch.now() - begun[name]

        hooks += [model.register_forward_pre_hook(before), model.register_forward_hook(after)]
    try:
        yield passes
    finally:
        for hook in hooks:
            hook.remove()
