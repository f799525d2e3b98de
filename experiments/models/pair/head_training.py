"""Train a head for a target on text: on its features and its rows, each kind with the losses of its paper.

A step reads windows with the target, then with the head. Cross-entropy is always to the target's rows.

- `eagle`: two passes, with the target's features and with those that the head predicted in the first; cross-entropy,
  and what the features miss (smooth L1), as the paper weighs them but with rows first.
- `eagle3`: several passes over the head's own outputs (`unrolled`), cross-entropy alone, each pass weighs less.
- `griffin`: the same passes with the losses of `eagle`, only where the tokens that the head read since the text were
  each among the likeliest of the pass before.
- `specblock`: blocks at some tokens, and second blocks after these; cross-entropy of a place only where the tokens
  before it in the block were the likeliest (the valid-prefix mask).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.devices import libraries, model_versions, within_memory
from draftproof.experiments.models.pair.folder import check_same, new_folder, read_record, saving
from draftproof.experiments.models.pair.heads import new_head
from draftproof.experiments.models.pair.hidden import shifted
from draftproof.experiments.models.pair.pair import Pair, target_digest
from draftproof.experiments.models.pair.training import LARGEST_GRADIENT, Plan, rate_at
from draftproof.simulator.errors import InvalidInput

#: Windows, steps and learning rate of each kind: about a minute or two of one processor for a small target.
PLANS: Mapping[str, Plan] = {
    "eagle": Plan(steps=600, rate=3e-3),
    "eagle3": Plan(steps=400, rate=3e-3),
    "griffin": Plan(steps=400, rate=3e-3),
    "specblock": Plan(steps=400, rate=3e-3),
}
#: The weight of the loss of features relative to the cross-entropy.
REGRESSION = 0.1
#: Passes over the head's own outputs, and the weight of each relative to the one before.
PASSES, FADING = 4, 0.8
#: GRIFFIN: a token is aligned where it is among so many likeliest ones.
LIKELIEST = 3


def make_head(
    pair: Pair,
    corpus: Corpus,
    kind: str,
    steps: int,
    seed: int,
    folder: str | Path,
    tick: Callable[[int], None],
    places: int | None = None,
) -> tuple[dict[str, Any], bool]:
    """Train and save a head for the target, or use the one in the folder; returns its record, and whether it was there.

    The folder gets the head as `save_pretrained` writes it, and `head.json`. kind: of `PLANS`. places: of a
    block of `specblock`. tick: called with 1 after every step.
    Raises `InvalidInput` for a text shorter than a window, and where the folder holds anything else or cannot be
    written.
    """
    sizes = {} if places is None else {"places": places}
    asked = {"kind": kind, "target": target_digest(pair), "text_hash": corpus.digest, "steps": steps, "seed": seed}
    asked |= sizes
    path = Path(folder)
    found = read_record(path, "head", "head")
    if found is not None:
        check_same(path, "head", found, asked)
        return found, True
    tokens, window = np.array(pair.encode(corpus.training)), pair.room(0, PLANS[kind].window)
    plan = replace(PLANS[kind], steps=steps, window=window)
    if len(tokens) <= plan.window + 1:
        raise InvalidInput(
            f"{len(tokens)} training tokens are too few for windows of {plan.window}; give a longer text"
        )
    with new_folder(path) as new, within_memory("training a head", pair.device):
        head = new_head(pair.target, seed, kind, **sizes)
        record = asked | _saved(head, tokens, plan, seed, new, tick)
        (new / "head.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    record = read_record(path, "head", "head") or record
    check_same(path, "head", record, asked)
    return record, False


def _saved(head: Any, tokens: Any, plan: Plan, seed: int, folder: Path, tick: Callable[[int], None]) -> dict[str, Any]:
    losses = _trained(head, tokens, plan, seed, tick)
    with saving("the head"):
        head.save_pretrained(folder)
    return {
        "parameters": sum(weights.numel() for weights in head.parameters()),
        "loss_bits_per_token": fmean(losses[-max(1, len(losses) // 10) :]),
        "versions": model_versions(),
    }


def _trained(head: Any, tokens: Any, plan: Plan, seed: int, tick: Callable[[int], None]) -> list[float]:
    """The cross-entropy of the rows right after the text in every step, in bits per token."""
    torch, _ = libraries()
    generator, target = np.random.default_rng(seed), head.target
    text = torch.as_tensor(np.asarray(tokens), device=target.device)
    offsets = torch.arange(plan.window, device=target.device)
    head.train()
    optimizer = torch.optim.AdamW(head.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=plan.decay)
    loss_of = _LOSSES[head.config.model_type.removeprefix("draftproof_")]
    losses: list[float] = []
    for step in range(plan.steps):
        starts = torch.as_tensor(generator.integers(0, len(tokens) - plan.window, plan.batch), device=target.device)
        windows = text[starts[:, None] + offsets]
        with torch.no_grad(), head.watching() as seen:
            rows = target(windows, use_cache=False).logits.softmax(-1)
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * rate_at(step, step / plan.steps)
        loss, first = loss_of(head, windows, seen[0], rows)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), LARGEST_GRADIENT)
        optimizer.step()
        losses.append(float(first.detach()) / float(np.log(2)))
        tick(1)
    head.eval()
    return losses


# Each of these gives the loss of a step, and the cross-entropy of the rows right after the text in nats.
# windows: shape `(B, n)`; seen: what the head watches of the target; rows: the target's, shape `(B, n, V)`.


def _eagle(head: Any, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    losses, read = [], head.taken(seen)
    for _ in range(2):
        output = head(windows, features=shifted(read), use_cache=False)
        crossed = _crossed(output.logits, rows).mean()
        losses.append((crossed, _missed(output, seen).mean()))
        read = output.hidden_states[0].detach()
    return sum(crossed + REGRESSION * missed for crossed, missed in losses), losses[0][0]


def _eagle3(head: Any, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    from draftproof.experiments.models.pair.unrolled import unrolled

    outputs = unrolled(head, windows, head.taken(seen), PASSES, detached=False)
    crossed = [_crossed(output.logits, rows)[:, number:].mean() for number, output in enumerate(outputs)]
    return sum(FADING**number * each for number, each in enumerate(crossed)), crossed[0]


def _griffin(head: Any, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    torch, _ = libraries()
    from draftproof.experiments.models.pair.unrolled import unrolled

    losses, aligned, likeliest = [], torch.ones_like(windows, dtype=rows.dtype), None
    for output in unrolled(head, windows, head.taken(seen), PASSES, detached=True):
        if likeliest is not None:
            kept = (windows[:, 1:, None] == likeliest[:, :-1]).any(-1)
            aligned = torch.nn.functional.pad(aligned[:, :-1] * kept, (1, 0))
        share = aligned / aligned.sum().clamp(min=1)
        losses.append(((share * _crossed(output.logits, rows)).sum(), (share * _missed(output, seen)).sum()))
        likeliest = output.logits.detach().topk(min(LIKELIEST, rows.shape[-1]), -1).indices
    return sum(crossed + REGRESSION * missed for crossed, missed in losses), losses[0][0]


def _specblock(head: Any, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    torch, _ = libraries()
    from draftproof.experiments.models.pair.unrolled import blocks

    size, length = head.places, windows.shape[1]
    starts = torch.arange(0, length - 2 * size, 2 * size, device=windows.device)
    tokens, first, second = blocks(head, windows, head.taken(seen), starts)
    crossed = _crossed(tokens, rows).mean()
    return crossed + _of_blocks(first, starts, windows, rows, 1) + _of_blocks(
        second, starts + size, windows, rows
    ), crossed


def _of_blocks(logits: Any, starts: Any, windows: Any, rows: Any, least: int = 0) -> Any:
    """The loss of the places of blocks at these tokens, from the place `least` on. logits: `(B, m, K, V)`."""
    torch, _ = libraries()
    at = starts[:, None] + torch.arange(logits.shape[2], device=starts.device)
    right = (logits.argmax(-1) == windows[:, at + 1]).to(rows.dtype)
    valid = torch.nn.functional.pad(right[..., :-1], (1, 0), value=1.0).cumprod(-1)
    means = (valid * _crossed(logits, rows[:, at])).sum((0, 1)) / valid.sum((0, 1)).clamp(min=1)
    return means[least:].sum()


def _crossed(logits: Any, rows: Any) -> Any:
    return -(rows * logits.log_softmax(-1)).sum(-1)


def _missed(output: Any, wanted: Any) -> Any:
    """What the expected features miss at every token."""
    torch, _ = libraries()
    return torch.nn.functional.smooth_l1_loss(output.hidden_states[0], wanted, reduction="none").mean(-1)


_LOSSES: Mapping[str, Callable[[Any, Any, Any, Any], tuple[Any, Any]]] = {
    "eagle": _eagle,
    "eagle3": _eagle3,
    "griffin": _griffin,
    "specblock": _specblock,
}
