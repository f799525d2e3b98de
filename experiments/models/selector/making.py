"""`draftproof model train --kind selector`: labels of roots in a store, a grid of networks, the best one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.run import computed_rows
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.expect.expected import LABELS, deepest, labels
from draftproof.experiments.models.loop.drafter import check_pair
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.pair.devices import model_versions
from draftproof.experiments.models.pair.opened import Opened, PairRequest, load_wanted, suitable_threads
from draftproof.experiments.models.pair.pair import Pair, pair_digest
from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS, Roots
from draftproof.experiments.models.selector.features import Inputs, hidden_widths, selector_inputs
from draftproof.experiments.models.selector.network import HIDDEN, PROJECTED
from draftproof.experiments.models.selector.saved import save_selector, times_fields
from draftproof.experiments.models.selector.training import (
    BATCH,
    DECAY,
    EPOCHS,
    GRID,
    Labelled,
    best_static,
    chosen_by,
    gain_over,
    judged,
    search,
)
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
    """What a selector is trained for. roots: of the held-out text. trees: for each label; None for exact ones."""

    verifier: NamedVerifier
    actions: tuple[Delayed, ...]
    warps: tuple[Sampling, ...]
    times: TimeModel
    roots: int
    trees: int | None
    seed: int


def planned(
    pair: Pair,
    named: NamedVerifier,
    actions: Sequence[Delayed],
    warps: Sequence[Sampling],
    times: TimeModel,
    roots: int,
    trees: int,
    seed: int,
    exact: bool | None = None,
) -> Plan:
    """The plan; raises `InvalidInput` for too few roots, and for a verifier that is not declared lossless.

    exact: whether labels are exact; None: exact where that takes milliseconds.
    """
    if named.from_file or "delayed" not in lossless_for(named.verifier.card):
        raise InvalidInput(
            f"{named.label} is no verifier of the list that is declared lossless on delayed trees, so its tokens per "
            "time do not count; choose another"
        )
    if roots < FEWEST:
        raise InvalidInput(f"{roots} roots cannot be shared out; --roots takes at least {FEWEST}")
    if exact is None:
        exact = LABELS.exact(named.verifier, pair.vocab_size, deepest(actions))
    return Plan(named, tuple(actions), tuple(warps), times, roots, None if exact else trees, seed)


def make_selector(opened: Opened, folder: str, plan: Plan, kept: Store) -> dict[str, Any]:
    """Label, train, judge and save; the report as plain data."""
    started = time.perf_counter()
    pair, digest = opened.pair, pair_digest(opened.pair)
    roots = opened.many_roots(plan.roots, plan.seed, plan.warps[0])
    groups = list(dict(zip(roots.names, roots.groups, strict=True)).values())
    if groups and len(groups) < FEWEST:
        raise InvalidInput(f"{len(groups)} prompts cannot be shared out; give at least {FEWEST}")
    given = labelled(pair, digest, plan, roots, kept)
    parts = split_roots(given)
    training, validating, held_out = (given.of(each) for each in parts)
    with bar("networks", len(GRID)) as tick:
        found = search(training, validating, given.widths, plan.seed, tick)
    best, base = found[0], best_static(training)
    rows = judged(best.network, given.of(parts[0] | parts[1]), held_out, base, plan.seed, groups)
    fields = {
        **_about(opened, plan, digest),
        **opened.root_source,
        "roots_of": roots.origin,
        "widths": list(given.widths),
        "outputs": len(plan.actions),
        "roots": {
            name: int(each.sum()) for name, each in zip(("training", "validating", "held_out"), parts, strict=True)
        },
        "base": [list(_shape(plan.actions[base[number]])) for number in given.settings],
        "hyperparameters": {
            **best.fields(),
            "optimiser": "AdamW",
            "weight_decay": DECAY,
            "batch": BATCH,
            "most_epochs": EPOCHS,
            "projected": PROJECTED,
            "hidden": list(HIDDEN),
            "chosen_by": "tokens per time of the arg-max action on the validating roots, over the best static action",
        },
        "grid": [each.fields() for each in found],
        "held_out_gain": gain_over(base, held_out, chosen_by(best.network, held_out.inputs)),
        "rows": rows,
    }
    path = save_selector(folder, best.network, fields)
    return {**fields, "file": str(path), "seconds": round(time.perf_counter() - started, 1)}


def split_roots(given: Labelled) -> tuple[Any, Any, Any]:
    """The positions of the training, validation and held-out roots, in their order.

    All roots of a prompt are in the same part.
    """
    place = given.prompt / (given.prompt.max() + 1)
    learning, judging = place < TRAINING, place >= TRAINING + VALIDATING
    return learning, ~learning & ~judging, judging


def labelled(pair: Pair, digest: str, plan: Plan, roots: Roots, kept: Store) -> Labelled:
    """All roots under every sampling setting, with labels and the inputs of the network."""
    common: dict[str, Any] = {"pair": digest, "dtype": str(pair.dtype), "verifier": plan.verifier.identity}
    common |= {"kind": "label", "actions": [list(_shape(each)) for each in plan.actions], "versions": model_versions()}
    common |= {"labels": plan.trees, "seed": 0 if plan.trees is None else plan.seed}
    given = [(warp, root) for warp in plan.warps for root in roots.contexts]
    keys = [strong_id({**common, "warp": warp.as_dict(), "root": list(root)}) for warp, root in given]
    verifier = plan.verifier.verifier
    work = {
        key: partial(label_row, key, pair, verifier, plan.actions, warp, root, plan.trees)
        for key, (warp, root) in zip(keys, given, strict=True)
    }
    what = "exact" if plan.trees is None else f"the mean over {plan.trees} sampled trees"
    with named_errors(plan.verifier.label):
        computed_rows(work, kept, "label", f"{len(plan.actions)} actions, {what}", TRIAL)
    inputs = [each for warp in plan.warps for each in selector_inputs(pair, roots.contexts, warp, plan.times)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(roots.names))}
    prompts = [numbers[name] for name in roots.names] if roots.names else range(len(roots.contexts))
    return Labelled(
        Inputs.of(inputs, [warp for warp, _ in given], hidden_widths(pair)),
        np.array([kept[key]["tokens"] for key in keys]),
        np.array([plan.times.time(action.as_dict()) for action in plan.actions]),
        np.repeat(np.arange(len(plan.warps)), len(roots.contexts)),
        np.tile(np.array(prompts), len(plan.warps)),
    )


def label_row(
    key: str,
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    warp: Sampling,
    root: Context,
    trees: int | None,
) -> dict[str, Any]:
    """The labels of one root as a row of the store. trees: None for exact labels. The key decides the seed."""
    started = time.perf_counter()
    found = labels(pair, verifier, actions, warp, root, trees, np.random.default_rng(int(key[:15], 16)))
    return {
        "strong_id": key,
        "tokens": [mean for mean, _ in found],
        "variances": [variance for _, variance in found],
        "seconds": round(time.perf_counter() - started, 4),
    }


def _about(opened: Opened, plan: Plan, digest: str) -> dict[str, Any]:
    return {
        "verifier": plan.verifier.label,
        "pair": digest,
        "vocab_size": opened.pair.vocab_size,
        "text": opened.corpus.name,
        "text_hash": opened.corpus.digest,
        "actions": [list(_shape(each)) for each in plan.actions],
        "settings": [warp.as_dict() for warp in plan.warps],
        "times": times_fields(plan.times),
        "labels": "exact" if plan.trees is None else f"mean over {plan.trees} trees",
        "seed": plan.seed,
        "versions": model_versions(),
    }


def _shape(scheme: Delayed) -> tuple[int, int, int]:
    return scheme.K, scheme.L1, scheme.L2


def train(
    wanted: PairRequest,
    folder: str,
    named: NamedVerifier,
    actions: Sequence[Delayed],
    warps: Sequence[Sampling],
    times: TimeModel | None,
    amount: tuple[int, int, int],
    exact: bool | None,
    kept: Store,
) -> dict[str, Any]:
    """Train the selector and write it to `folder`; the report as plain data.

    amount: roots, trees for a label, seed. times: None to measure them. exact: see `planned`.

    Raises `InvalidInput`.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make {folder}: {error.strerror}; name another folder with --out") from None
    opened = load_wanted(wanted)
    pair = opened.pair
    with suitable_threads(pair):
        check_pair(pair)
        if times is None:
            remark("times of passes")
            times = measured_times(pair, 2 * CONTEXT_TOKENS, actions)
        plan = planned(pair, named, actions, warps, times, *amount, exact)
        return make_selector(opened, folder, plan, kept)
