"""`draftproof model train --kind selector`: labels of roots in a store, a grid of networks, the best one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.run import Question, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import LABEL_BUDGET, deepest, labels
from draftproof.experiments.models.loop.loop import check_pair
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.measure.setting import seed_of
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.opened import Opened, PairRequest, load_wanted, suitable_threads
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS, Roots
from draftproof.experiments.models.selector.features import block_starts, hidden_widths, network_inputs
from draftproof.experiments.models.selector.file import save_selector, times_fields
from draftproof.experiments.models.selector.fitting import GRID, search
from draftproof.experiments.models.selector.rivals import Labelled, best_static, gain_over, judged
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Context, Verifier

#: Shares of the text from its beginning: for training roots, and for validation roots; the rest is held out.
TRAINING, VALIDATING = 0.6, 0.2
#: The fewest roots that can be split into three parts; the labels timed to estimate how long the rest takes.
FEWEST, TRIAL = 5, 3


@dataclass(frozen=True)
class Plan:
    """What a selector is trained for. times: None to measure them. trees: for each label that is not exact.

    exact: whether labels are exact; None: exact where that takes milliseconds. Raises `InvalidInput` for too few roots,
    and for a verifier that is not declared lossless.
    """

    verifier: NamedVerifier
    actions: tuple[Delayed, ...]
    samplings: tuple[Sampling, ...]
    times: TimeModel | None
    roots: int
    trees: int
    seed: int
    exact: bool | None = None

    def __post_init__(self) -> None:
        if self.verifier.from_file or "delayed" not in lossless_for(self.verifier.verifier.card):
            raise InvalidInput(
                f"{self.verifier.label} is no verifier of the list that is declared lossless on delayed trees, so its "
                "tokens per time do not count; choose another"
            )
        if self.roots < FEWEST:
            raise InvalidInput(f"{self.roots} roots cannot be shared out; roots takes at least {FEWEST}")


def train(wanted: PairRequest, folder: str, plan: Plan, store: Store) -> dict[str, Any]:
    """Train the selector and write it to `folder`; the report as plain data. store: of labels.

    Raises `InvalidInput`.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make {folder}: {error.strerror}; name another folder as out") from None
    opened = load_wanted(wanted)
    pair = opened.pair
    with suitable_threads(pair.target):
        check_pair(pair)
        times, exact = plan.times, plan.exact
        if times is None:
            remark("times of passes")
            times = measured_times(pair, 2 * CONTEXT_TOKENS, plan.actions)
        if exact is None:
            exact = LABEL_BUDGET.exact(plan.verifier.verifier, pair.vocab_size, deepest(plan.actions))
        return _trained(opened, folder, replace(plan, exact=exact), times, store)


def _trained(opened: Opened, folder: str, plan: Plan, times: TimeModel, store: Store) -> dict[str, Any]:
    """Label, fit, judge and save."""
    started = time.perf_counter()
    roots = opened.many_roots(plan.roots, plan.seed, plan.samplings[0])
    groups = list(dict(zip(roots.names, roots.groups, strict=True)).values())  # one for each prompt; none in a text
    if groups and len(groups) < FEWEST:
        raise InvalidInput(f"{len(groups)} prompts cannot be shared out; give at least {FEWEST}")
    digest = pair_digest(opened.pair)
    labelled = labelled_roots(opened.pair, digest, plan, times, roots, store)
    parts = split_roots(labelled)
    training, validating, held_out = (labelled.where(part) for part in parts)
    with bar("networks", len(GRID)) as tick:
        fitted = search(training, validating, hidden_widths(opened.pair), plan.seed, tick, GRID)
    best, base = fitted[0], best_static(training)  # base: for each setting its best static action
    fields = {
        **_about(opened, plan, times, digest),
        "roots_of": roots.origin,
        "roots": {
            name: int(part.sum()) for name, part in zip(("training", "validating", "held_out"), parts, strict=True)
        },
        "base": [_shape(plan.actions[base[number]]) for number in labelled.settings],
        "hyperparameters": best.fields(),
        "grid": [one.fields() for one in fitted],
        "held_out_gain": gain_over(base, held_out, best.network.choices(held_out.inputs)),
        "rows": judged(best.network, labelled.where(parts[0] | parts[1]), held_out, base, plan.seed, groups),
    }
    path = save_selector(folder, best.network, fields)
    return {**fields, "file": str(path), "seconds": round(time.perf_counter() - started, 1)}


def _about(opened: Opened, plan: Plan, times: TimeModel, digest: str) -> dict[str, Any]:
    prompts = opened.prompts
    return {
        "verifier": plan.verifier.label,
        "pair": digest,
        "vocab_size": opened.pair.vocab_size,
        "text": opened.corpus.name,
        "text_hash": opened.corpus.digest,
        **({"prompts": prompts.path, "prompts_hash": prompts.digest} if prompts is not None else {}),
        "actions": [_shape(scheme) for scheme in plan.actions],
        "settings": [sampling.as_dict() for sampling in plan.samplings],
        "times": times_fields(times),
        "labels": "exact" if plan.exact else f"mean over {plan.trees} trees",
        "seed": plan.seed,
        "versions": model_versions(),
    }


def split_roots(labelled: Labelled) -> tuple[Any, Any, Any]:
    """Which are the training, validation and held-out roots, in their order, each of shape `(n,)`.

    All roots of a prompt are in the same part.
    """
    place = labelled.prompt / (labelled.prompt.max() + 1)
    training, held_out = place < TRAINING, place >= TRAINING + VALIDATING
    return training, ~training & ~held_out, held_out


def labelled_roots(pair: Pair, digest: str, plan: Plan, times: TimeModel, roots: Roots, store: Store) -> Labelled:
    """All roots under every sampling setting, with labels and the inputs of the network."""
    trees = None if plan.exact else plan.trees
    common: dict[str, Any] = {"pair": digest, "dtype": str(pair.dtype), "verifier": plan.verifier.identity}
    common |= {"kind": "label", "actions": [_shape(scheme) for scheme in plan.actions], "versions": model_versions()}
    common |= {"labels": trees, "seed": 0 if trees is None else plan.seed}  # labels: the number of trees, None if exact
    cases = [(sampling, root) for sampling in plan.samplings for root in roots.contexts]
    # The name "warp" is part of the key, which seeds depend on.
    keys = [strong_id({**common, "warp": sampling.as_dict(), "root": list(root)}) for sampling, root in cases]
    work = [Question(key, (key, *case)) for key, case in zip(keys, cases, strict=True)]
    shared = pair, plan.verifier.verifier, plan.actions, trees
    what = "exact" if trees is None else f"the mean over {trees} sampled trees"
    with named_errors(plan.verifier.label):
        message = f"{len(plan.actions)} actions, {what}"
        run(work, store, label_row, *shared, noun="label", message=message, trial=TRIAL)
    widths = hidden_widths(pair)
    inputs = [
        network_inputs(block_starts(pair, roots.contexts, sampling, times), sampling, widths)
        for sampling in plan.samplings
    ]
    prompt_numbers = {name: number for number, name in enumerate(dict.fromkeys(roots.names))}
    prompts = [prompt_numbers[name] for name in roots.names] if roots.names else range(len(roots.contexts))
    return Labelled(
        torch.cat(inputs),
        np.array([store[key]["tokens"] for key in keys]),
        np.array([times.time(action.as_dict()) for action in plan.actions]),
        np.repeat(np.arange(len(plan.samplings)), len(roots.contexts)),
        np.tile(np.array(prompts), len(plan.samplings)),
    )


def label_row(
    where: tuple[str, Sampling, Context],
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    trees: int | None,
) -> dict[str, Any]:
    """The labels of one root as a row of the store. trees: None for exact labels. The key of the row is the seed."""
    started = time.perf_counter()
    key, sampling, root = where
    means = labels(verifier, actions, Contexts(pair, sampling, [root]), trees, seed_of(key))
    return {"tokens": means, "seconds": round(time.perf_counter() - started, 4)}


def _shape(scheme: Delayed) -> list[int]:
    return [scheme.K, scheme.L1, scheme.L2]
