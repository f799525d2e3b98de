"""Train a head for a target on text: on its features and its rows, each kind with the losses of its paper.

A step reads windows with the target, then with the head. Cross-entropy is always to the target's rows. There are two
recipes: passes of the head over its own outputs (`OwnOutputs`), and blocks of several places (`specblock`).

- `eagle`: two passes, with the target's features and with those that the head predicted in the first; cross-entropy,
  and what the features miss (smooth L1), as the paper weighs them but with rows first.
- `eagle3`: four passes as in a tree, cross-entropy alone, each pass weighs less.
- `griffin`: the same passes with the losses of `eagle`, only where the tokens that the head read since the text were
  each among the likeliest of the pass before.
- `specblock`: blocks at some tokens, and second blocks after these; cross-entropy of a place only where the tokens
  before it in the block were the likeliest (the valid-prefix mask).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.folder import check_same, made_once, read_record, saving
from draftproof.experiments.models.pair.head import Head, new_head
from draftproof.experiments.models.pair.hidden import additive, shifted
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.pair.training import Plan, fitted
from draftproof.simulator.progress import Progress

#: Windows, steps and learning rate of each kind: about a minute or two of one processor for a small target.
PLANS: Mapping[str, Plan] = {
    "eagle": Plan(steps=600, rate=3e-3),
    "eagle3": Plan(steps=400, rate=3e-3),
    "griffin": Plan(steps=400, rate=3e-3),
    "specblock": Plan(steps=400, rate=3e-3),
}
#: The weight of the loss of features relative to the cross-entropy.
REGRESSION = 0.1
#: GRIFFIN: a token is aligned where it is among so many likeliest ones.
LIKELIEST = 3


@dataclass(frozen=True)
class OwnOutputs:
    """Training by passes over the head's own outputs.

    fading: the weight of each pass relative to the one before. as_in_trees: whether a pass sees what the passes before
    it read (`outputs_of_passes`). features: whether the features that are missed count, and no gradient goes through
    them. aligned: whether only tokens count that were each among the likeliest of the pass before.
    """

    passes: int
    fading: float = 1.0
    as_in_trees: bool = True
    features: bool = True
    aligned: bool = False


#: How each kind is trained; other kinds by their blocks.
OWN_OUTPUTS: Mapping[str, OwnOutputs] = {
    "eagle": OwnOutputs(2, as_in_trees=False),
    "eagle3": OwnOutputs(4, fading=0.8, features=False),
    "griffin": OwnOutputs(4, aligned=True),
}


def make_head(
    pair: Pair,
    corpus: Corpus,
    kind: str,
    steps: int,
    seed: int,
    folder: str | Path,
    tick: Progress,
    places: int | None = None,
) -> tuple[dict[str, Any], bool]:
    """Train and save a head for the target, or use the one in the folder; returns its record, and whether it was there.

    The folder gets the head as `save_pretrained` writes it, and `head.json`. kind: of `PLANS`. places: of a
    block of `specblock`. tick: called with 1 after every step.
    Raises `InvalidInput` for a text shorter than a window, and where the folder holds anything else or cannot be
    written.
    """
    sizes = {} if places is None else {"places": places}
    asked = {
        "kind": kind,
        "target": pair_digest(pair, ["target"]),
        "text_hash": corpus.digest,
        "steps": steps,
        "seed": seed,
    }
    asked |= sizes
    path = Path(folder)

    def make(new: Path) -> dict[str, Any]:
        tokens, window = np.array(pair.encode(corpus.training)), pair.room(0, PLANS[kind].window)
        head = new_head(pair.target, seed, kind, **sizes)
        loss = _fit(head, tokens, replace(PLANS[kind], steps=steps, window=window), seed, tick)
        with saving("the head"):
            head.save_pretrained(new)
        parameters = sum(weights.numel() for weights in head.parameters())
        return asked | {"parameters": parameters, "loss_bits_per_token": loss, "versions": model_versions()}

    record, there = made_once(path, "head", lambda folder: read_record(folder, "head", "head"), make)
    check_same(path, "head", record, asked)
    return record, there


def _fit(head: Head, tokens: Any, plan: Plan, seed: int, tick: Progress) -> float:
    """Train the head; its loss in bits per token. tick: called with 1 after every step."""

    def losses_of(windows: Any) -> tuple[Any, Any]:
        with torch.no_grad(), head.watching() as seen:
            rows = head.target(windows, use_cache=False).logits.softmax(-1)
        return _loss(head, windows, seen[0], rows)

    return fitted(head, tokens, plan, np.random.default_rng(seed), plan.window, losses_of, tick)


def _loss(head: Head, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    """The loss of a step, and the cross-entropy of the rows right after the text in nats.

    windows: shape `(B, n)`; seen: what the head watches of the target; rows: the target's, shape `(B, n, V)`.
    """
    if head.places > 1:
        return _loss_of_blocks(head, windows, seen, rows)
    return _loss_of_passes(head, windows, seen, rows, OWN_OUTPUTS[head.config.kind])


def _loss_of_passes(head: Head, windows: Any, seen: Any, rows: Any, recipe: OwnOutputs) -> tuple[Any, Any]:
    crossed, losses, aligned = [], [], torch.ones_like(windows, dtype=rows.dtype)
    likeliest = None
    for number, output in enumerate(outputs_of_passes(head, windows, head.taken(seen), recipe)):
        if recipe.aligned and likeliest is not None:
            right = (windows[:, 1:, None] == likeliest[:, :-1]).any(-1)
            aligned = pad(aligned[:, :-1] * right, (1, 0))
        share = aligned / aligned.sum().clamp(min=1)
        unseen = number if recipe.as_in_trees else 0

        def mean(values: Any, share: Any = share, unseen: int = unseen) -> Any:
            return (share * values).sum() if recipe.aligned else values[:, unseen:].mean()

        crossed.append(mean(_crossed(output.logits, rows)))
        missed = mean(_missed(output, seen)) if recipe.features else 0.0
        losses.append(recipe.fading**number * (crossed[-1] + REGRESSION * missed))
        likeliest = output.logits.detach().topk(min(LIKELIEST, rows.shape[-1]), -1).indices
    return sum(losses), crossed[0]


def outputs_of_passes(head: Head, windows: Any, features: Any, recipe: OwnOutputs) -> Iterator[Any]:
    """The output of the head in each pass over its own outputs, for all places of a text at once.

    In pass `j` the token at `t` reads the feature that pass `j - 1` expects at `t - 1`. As in trees it sees the tokens
    up to `t - j` as pass 0 read them, with the target's features, and the token at `t - j + i` as pass `i` read it. So
    its row is the one that the head gives where a tree begins after the token at `t - j` and the text goes on along the
    tree: the training-time test of EAGLE-3 ([2503.01840](https://arxiv.org/abs/2503.01840)), whose passes GRIFFIN has,
    too. Otherwise it sees the tokens of its own pass.
    windows: tokens, shape `(B, n)`; features: the target's, shape `(B, n, H)`.
    """
    cache, places = DynamicCache(), torch.arange(windows.shape[1], device=windows.device)
    behind, read = places[:, None] - places, shifted(features)
    for number in range(recipe.passes):
        inputs: dict[str, Any] = {"use_cache": False}
        if recipe.as_in_trees:
            sees = torch.cat([behind >= number, *(behind == number - later for later in range(1, number + 1))], 1)
            mask = additive(sees[None], read.dtype)
            inputs = {
                "attention_mask": mask,
                "position_ids": places[None],
                "past_key_values": cache,
                "use_cache": True,
            }
        output = head(windows, features=read, **inputs)
        yield output
        expected = output.hidden_states[0]
        read = shifted(expected.detach() if recipe.features else expected)


def _loss_of_blocks(head: Head, windows: Any, seen: Any, rows: Any) -> tuple[Any, Any]:
    size, length = head.places, windows.shape[1]
    starts = torch.arange(0, length - 2 * size, 2 * size, device=windows.device)
    tokens, first, second = blocks(head, windows, head.taken(seen), starts)
    crossed = _crossed(tokens, rows).mean()
    return crossed + _of_blocks(first, starts, windows, rows, 1) + _of_blocks(
        second, starts + size, windows, rows
    ), crossed


def blocks(
    head: Head, windows: torch.Tensor, features: torch.Tensor, starts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The logits of a SpecBlock drafter after every token, in the blocks at some, and in the blocks that follow these.

    Shapes `(B, n, V)`, `(B, m, K, V)` and `(B, m, K, V)`. starts: tokens where blocks start, in order, shape `(m,)`, at
    most `n - 1 - K`; the next block starts `K` tokens later and reads what these inherit.
    """
    size, (count, length), device = head.places, windows.shape, windows.device
    cache, within = DynamicCache(), torch.arange(size, device=device)
    entries_of = torch.ones(length, dtype=torch.long, device=device)
    entries_of[starts] = size
    at = torch.arange(length, device=device).repeat_interleave(entries_of)
    begins = entries_of.cumsum(0) - entries_of
    places = torch.arange(len(at), device=device) - begins[at]
    own = (at[:, None] == at) & (places[:, None] >= places)
    first = head(
        windows[:, at],
        attention_mask=additive((own | ((at[:, None] > at) & (places == 0)))[None], features.dtype),
        position_ids=(at + places)[None],
        past_key_values=cache,
        use_cache=True,
        features=shifted(features)[:, at],
        places=places.expand(count, -1),
    )
    there = begins[starts][:, None] + within
    states = first.hidden_states[0][:, there]
    # A group: the K tokens after a start, then the places of the block that starts at the last of them.
    tokens = windows[:, starts[:, None] + 1 + within]
    entries = torch.cat([torch.zeros_like(within), within[1:]])
    numbers = torch.arange(len(entries), device=device).repeat(len(starts))
    group = torch.arange(len(starts), device=device).repeat_interleave(len(entries))
    begun = starts[group]
    before = (at <= begun[:, None]) & (places == 0)
    same = (group[:, None] == group) & (numbers[:, None] >= numbers)
    second = head(
        pad(tokens, (0, size - 1)).flatten(1),
        attention_mask=additive(torch.cat([before, same], 1)[None], features.dtype),
        position_ids=(begun + 1 + numbers)[None],
        past_key_values=cache,
        use_cache=True,
        features=torch.cat([states, states[:, :, -1:].expand(-1, -1, size - 1, -1)], 2).flatten(1, 2),
        places=entries.repeat(len(starts)).expand(count, -1),
    )
    later = second.logits.view(count, len(starts), len(entries), -1)[:, :, size - 1 :]
    return first.logits[:, begins], first.logits[:, there], later


def _of_blocks(logits: Any, starts: Any, windows: Any, rows: Any, least: int = 0) -> Any:
    """The loss of the places of blocks at these tokens, from the place `least` on. logits: `(B, m, K, V)`."""
    at = starts[:, None] + torch.arange(logits.shape[2], device=starts.device)
    right = (logits.argmax(-1) == windows[:, at + 1]).to(rows.dtype)
    valid = pad(right[..., :-1], (1, 0), value=1.0).cumprod(-1)
    means = (valid * _crossed(logits, rows[:, at])).sum((0, 1)) / valid.sum((0, 1)).clamp(min=1)
    return means[least:].sum()


def _crossed(logits: Any, rows: Any) -> Any:
    return -(rows * logits.log_softmax(-1)).sum(-1)


def _missed(output: Any, wanted: Any) -> Any:
    """What the expected features miss at every token."""
    return torch.nn.functional.smooth_l1_loss(output.hidden_states[0], wanted, reduction="none").mean(-1)
