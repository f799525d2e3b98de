"""What it is worth to choose the tree of every block on a trained pair: nothing, numbers, hidden states, the oracle.

`python -m experiments.studies.selectors --pair runs/pair8 --resume runs/selectors.jsonl --plot runs/selectors.png`

For each verifier labels of all roots, exact laws unless `--sampled`, then the network of appendix E of 2602.16994 for
each time of a target pass, one for all temperatures. On held-out roots it stands beside one action for all
temperatures, the best for each, rules on a few numbers and the oracle, so that regret is exact. What is missing is
computed; runs can share a file. `--roots`, `--max-nodes` and `--networks` make it larger.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import typer

from experiments.models import options as opt
from experiments.policies.actions import shapes_of
from experiments.shared.latency import time_model
from experiments.shared.names import find_verifier
from experiments.shared.options import JsonTarget
from experiments.shared.output import check_files, write_json, write_pages
from experiments.shared.progress import INTERRUPTED, bar, cut_short
from experiments.shared.rows import RowFile, check_rows, strong_id, versions
from experiments.shared.text import EMBEDDED, text_files
from experiments.studies import selectors_views

VERIFIERS = ("specinfer", "block", "traversal", "path_transport", "layer_transport")
#: Times of a target pass in draft passes; a branch more adds a tenth to a draft pass, a node to a target pass.
TARGET_TIMES = (4, 10)

Chosen = Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help=f"Default: {', '.join(VERIFIERS)}.")]
Folder = Annotated[str, typer.Option("--pair", help="Folder of `train`.")]
Temperatures = Annotated[list[float] | None, typer.Option("--temperature", help="Default 1 and 0.6; may be repeated.")]
Roots = Annotated[int, typer.Option(min=20, help="Root contexts of the held-out text, a fifth of them held out.")]
MaxNodes = Annotated[int, typer.Option(min=1, help="Shapes of at most so many tokens; K 1..3, L1 and L2 0..2.")]
Networks = Annotated[int, typer.Option(min=1, max=12, help="Networks that one is chosen of; 12 are all of the grid.")]
Exact = Annotated[bool, typer.Option("--exact/--sampled", help="Labels: laws, or means over 16 sampled trees.")]


def main(
    chosen: Chosen = None,
    *,
    folder: Folder,
    temperature: Temperatures = None,
    roots: Roots = 200,
    max_nodes: MaxNodes = 5,
    networks: Networks = 4,
    exact: Exact = True,
    text: opt.TextName = EMBEDDED,
    device: opt.Device = "auto",
    seed: opt.Seed = 0,
    resume: Annotated[str | None, typer.Option(help="File of rows: kept as they come, reused next time.")] = None,
    plot_file: Annotated[str | None, typer.Option("--plot", help="PNG of the gains.")] = None,
    markdown_file: Annotated[str | None, typer.Option("--markdown", help="Markdown tables.")] = None,
    json_target: JsonTarget = None,
) -> int:
    """What choosing the tree of every block is worth on a trained pair, for each verifier."""
    from experiments.shared.consoles import console_for

    files = {"--resume": resume, "--plot": plot_file, "--markdown": markdown_file, "--json": json_target}
    check_files(text_files(text), files)
    check_rows(resume)
    from experiments.models.pair.opened import Wanted, load_wanted, on_threads
    from experiments.models.pair.warp import Warp
    from experiments.models.selector.making import planned

    named = [find_verifier(spec) for spec in dict.fromkeys(chosen or VERIFIERS)]
    actions, kept, rows = shapes_of("1..3", "0..2", "0..2", max_nodes), RowFile(resume), []
    warps = [Warp(each) for each in dict.fromkeys(temperature or (1.0, 0.6))]
    pair, corpus = load_wanted(Wanted(folder=folder, device=device, text=text))
    plans = [planned(pair, each, actions, warps, _times(TARGET_TIMES[0]), roots, 16, seed, exact) for each in named]
    complete = True
    with on_threads(pair):
        try:
            for plan in plans:
                rows += _ladder(pair, pair.encode(corpus.held_out), plan, networks, kept)
        except KeyboardInterrupt:
            complete = False
    if not rows:
        return INTERRUPTED
    console = console_for(json_target)
    console.print(selectors_views.markdown(rows), soft_wrap=True)
    if not complete:
        return cut_short(len(rows), len(plans) * len(TARGET_TIMES), "rows", resume)
    write_json(json_target, {"rows": rows})
    write_pages(
        console, markdown_file, lambda: selectors_views.markdown(rows), plot_file, lambda: selectors_views.figure(rows)
    )
    return 0


def _times(target: float) -> Any:
    return time_model(f"draft=1,branch=.1,target={target},node=.1")


def _ladder(pair: Any, held_out: Sequence[int], plan: Any, networks: int, kept: RowFile) -> list[dict[str, Any]]:
    """The rows of one verifier, one for each time of a target pass."""
    from experiments.models.pair.roots import pair_digest
    from experiments.models.selector.making import labelled, spread_roots
    from experiments.models.selector.training import GRID

    grid = GRID[:: len(GRID) // networks][:networks]
    roots, digest = spread_roots(held_out, plan.roots), pair_digest(pair)
    about = {
        "study": "selectors 2",
        "pair": digest,
        "verifier": plan.verifier.identity,
        "actions": [[each.K, each.L1, each.L2] for each in plan.actions],
        "warps": [warp.as_dict() for warp in plan.warps],
        "roots": [list(root) for root in roots],
        "labels": plan.trees,
        "seed": plan.seed,
        "grid": [asdict(each) for each in grid],
        "package": versions()["draftproof"],
    }
    keys = {target: strong_id({**about, "target": target}) for target in TARGET_TIMES}
    if missing := [target for target in TARGET_TIMES if keys[target] not in kept.rows]:
        given = labelled(pair, digest, plan, roots, kept)
        with bar(f"{plan.verifier.label}, networks", len(missing) * len(grid)) as tick:
            for target in missing:
                started = time.process_time()
                fields = _judged(given, plan, target, grid, tick)
                fields |= {"strong_id": keys[target], "kind": "selectors", "verifier": plan.verifier.label}
                fields |= {"V": pair.vocab_size, "target_time": target, "shapes": about["actions"]}
                fields |= {"labels": "exact" if plan.trees is None else f"{plan.trees} trees", "versions": versions()}
                kept.add({**fields, "seconds": round(time.process_time() - started, 2)})
    return [kept.rows[key] for key in keys.values()]


def _judged(given: Any, plan: Any, target: float, grid: Any, tick: Any) -> dict[str, Any]:
    """Tokens and times of every policy at each held-out root, by temperature; what the network was chosen by."""
    from experiments.models.selector.judging import choices_of
    from experiments.models.selector.making import shared_out
    from experiments.models.selector.training import best_static, search

    model = _times(target)
    timed = replace(given, times=np.array([model.time(action.as_dict()) for action in plan.actions]))
    parts = shared_out(timed, plan)
    training, validating, held_out = (timed.of(each) for each in parts)
    base, one = best_static(training), _one_for_all(training)
    best = search(training, validating, timed.widths, plan.seed, tick, grid)[0]
    seen, settings = timed.of(parts[0] | parts[1]), []
    for number in held_out.settings:
        known, new = seen.of(seen.setting == number), held_out.of(held_out.setting == number)
        choices = {"one": np.full(len(new.tokens), one), **choices_of(best.network, known, new, base[number])}
        found = {
            name: {
                "tokens": new.tokens[np.arange(len(choice)), choice].tolist(),
                "times": new.times[choice].tolist(),
                "used": len(set(choice.tolist())),
            }
            for name, choice in choices.items()
        }
        shape = plan.actions[base[number]]
        static = {"static": [shape.K, shape.L1, shape.L2]}
        everywhere = timed.tokens[timed.setting == number].mean(0).tolist()
        about = {"temperature": plan.warps[number].temperature, "mean_tokens": everywhere, **static}
        settings.append({**about, "policies": found})
    return {"settings": settings, "chosen": best.fields(), "held_out": len(held_out.tokens) // len(settings)}


def _one_for_all(training: Any) -> int:
    """The action of the most tokens per time where every setting brings as many tokens."""
    spent = [training.times / training.tokens[training.setting == number].mean(0) for number in training.settings]
    return int(np.sum(spent, axis=0).argmin())


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
