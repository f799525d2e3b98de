"""Train an EAGLE-style head for a target on text: its features and its rows, for one and two passes of the head.

A step reads windows with the target, and then twice with the head: first with the target's features as input, then with
the features that the head predicted in the first pass, as in a tree. Loss: cross-entropy to the target's rows, and what
the features miss (smooth L1), as the paper weighs them but with rows first.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.corpus import Corpus
from draftproof.experiments.models.pair.devices import libraries, model_versions, within_memory
from draftproof.experiments.models.pair.folder import check_same, new_folder, read_record, saving
from draftproof.experiments.models.pair.hidden import features_of, shifted
from draftproof.experiments.models.pair.pair import Pair, target_digest
from draftproof.experiments.models.pair.training import LARGEST_GRADIENT, Plan, rate_at
from draftproof.simulator.errors import InvalidInput

#: Windows, steps and learning rate; the weight of the loss of features relative to the cross-entropy.
PLAN, REGRESSION = Plan(steps=600, rate=3e-3), 0.1


def make_head(
    pair: Pair, corpus: Corpus, steps: int, seed: int, folder: str | Path, tick: Callable[[int], None]
) -> tuple[dict[str, Any], bool]:
    """Train and save a head for the target, or use the one in the folder; returns its record, and whether it was there.

    The folder gets the head as `save_pretrained` writes it, and `head.json`. tick: called with 1 after every step.
    Raises `InvalidInput` for a text shorter than a window, and where the folder holds anything else or cannot be
    written.
    """
    asked = {"target": target_digest(pair), "text_hash": corpus.digest, "steps": steps, "seed": seed}
    path = Path(folder)
    found = read_record(path, "head", "head")
    if found is not None:
        check_same(path, "head", found, asked)
        return found, True
    tokens, plan = np.array(pair.encode(corpus.training)), replace(PLAN, steps=steps)
    if len(tokens) <= plan.window + 1:
        raise InvalidInput(
            f"{len(tokens)} training tokens are too few for windows of {plan.window}; give a longer text"
        )
    with new_folder(path) as new, within_memory("training a head", pair.device):
        record = asked | _saved(pair.target, tokens, plan, seed, new, tick)
        (new / "head.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    record = read_record(path, "head", "head") or record
    check_same(path, "head", record, asked)
    return record, False


def _saved(
    target: Any, tokens: Any, plan: Plan, seed: int, folder: Path, tick: Callable[[int], None]
) -> dict[str, Any]:
    from draftproof.experiments.models.pair.eagle import new_head

    head = new_head(target, seed)
    losses = _trained(head, target, tokens, plan, seed, tick)
    with saving("the head"):
        head.save_pretrained(folder)
    return {
        "parameters": sum(weights.numel() for weights in head.parameters()),
        "loss_bits_per_token": fmean(losses[-max(1, len(losses) // 10) :]),
        "versions": model_versions(),
    }


def _trained(head: Any, target: Any, tokens: Any, plan: Plan, seed: int, tick: Callable[[int], None]) -> list[float]:
    """The cross-entropy of the first pass of every step, in bits per token."""
    torch, _ = libraries()
    generator = np.random.default_rng(seed)
    text = torch.as_tensor(np.asarray(tokens), device=target.device)
    offsets = torch.arange(plan.window, device=target.device)
    head.train()
    optimizer = torch.optim.AdamW(head.parameters(), lr=plan.rate, betas=(0.9, 0.95), weight_decay=plan.decay)
    losses: list[float] = []
    for step in range(plan.steps):
        starts = torch.as_tensor(generator.integers(0, len(tokens) - plan.window, plan.batch), device=target.device)
        windows = text[starts[:, None] + offsets]
        with torch.no_grad(), features_of(target) as found:
            rows = target(windows, use_cache=False).logits.softmax(-1)
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * rate_at(step, step / plan.steps)
        first, missed, expected = _loss(head, windows, found[0], found[0], rows)
        again, missed_again, _ = _loss(head, windows, expected.detach(), found[0], rows)
        optimizer.zero_grad()
        (first + again + REGRESSION * (missed + missed_again)).backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), LARGEST_GRADIENT)
        optimizer.step()
        losses.append(float(first.detach()) / float(np.log(2)))
        tick(1)
    head.eval()
    return losses


def _loss(head: Any, windows: Any, read: Any, wanted: Any, rows: Any) -> tuple[Any, Any, Any]:
    """The losses of a pass of the head: cross-entropy in nats, distance of the features, and the predicted features.

    windows: shape `(B, n)`; read, wanted: shape `(B, n, H)`; rows: the target's, shape `(B, n, V)`.
    """
    torch, _ = libraries()
    output = head(windows, features=shifted(read), use_cache=False)
    expected = output.hidden_states[0]
    crossed = -(rows * output.logits.log_softmax(-1)).sum(-1).mean()
    return crossed, torch.nn.functional.smooth_l1_loss(expected, wanted), expected
