"""The best draft scheme by budget of tokens and draft passes, distance of the draft and temperature.

`python -m draftproof.experiments.studies.map_of_trees --resume runs/map.db --plot runs/map.png`

For every instance and every scheme that fits a budget it computes the optimum over all lossless verifiers where that is
possible, and the exact block efficiency of some verifiers; and, for comparison, of the best trees of each kind if the
target were known when drafting. One row an instance; a second run computes only what is missing.
"""

import os
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Executor, Task
from draftproof.experiments.inputs.options import grouped
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.studies import StudyFiles, Views, conduct, map_schemes, map_views
from draftproof.experiments.studies.map_instances import KINDS, TEMPERATURES, MapInstance, distance, trained_instances
from draftproof.experiments.studies.map_points import points
from draftproof.lp_analysis.oracles.growth import Growth
from draftproof.lp_analysis.oracles.sets import most_probable, set_efficiency
from draftproof.lp_analysis.oracles.topologies import best_topology
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.instances.instance import Instance

#: By vocabulary size the budgets of tokens and draft passes.
BUDGETS: dict[int, tuple[tuple[int, int], ...]] = {
    3: ((4, 2), (4, 4), (8, 2), (8, 4), (16, 4)),
    2: ((8, 8),),
}
#: The largest topology that is searched, and the most tokens of a tree that grows, when the target is known.
MOST_PLACES, MOST_GROWN = 8, 8
#: Roots of a trained pair.
PAIR_ROOTS = 3
#: Instances that are computed first, to estimate the time of all.
TRIAL = 6


def instances(seeds: int, quick: bool = False) -> Iterator[MapInstance]:
    """All instances, `seeds` of every kind, so that an interrupted run has some of each. quick: four small ones."""
    if quick:
        yield from (MapInstance("perturbed", value, t, 0, 2, 2) for value in (0.25, 2.0) for t in (0.5, 1.0))
        return
    for seed in range(seeds):
        for size, budgets in BUDGETS.items():
            depth = max(passes for _, passes in budgets)
            for kind, values in KINDS.items() if size == 3 else [("perturbed", KINDS["perturbed"][::2])]:
                for value in values:
                    for temperature in TEMPERATURES:
                        yield MapInstance(kind, value, temperature, seed, size, depth)


def budgets_of(case: MapInstance) -> tuple[tuple[int, int], ...]:
    """The budgets at which an instance is studied."""
    fitting = tuple(budget for budget in BUDGETS[case.vocab_size] if budget[1] <= case.depth)
    return fitting or ((4, case.depth),)


def identity(case: MapInstance) -> str:
    """The `strong_id` of the row of an instance."""
    settings = {
        name: getattr(map_schemes, name)
        for name in ("GAP", "MOST_LISTED", "SAMPLED", "MOST_ENUMERATED", "MOST_LAYERS", "KINDS", "VERIFIERS")
    }
    thresholds = [str(value) for value in map_schemes.THRESHOLDS]
    about = {**case.about, **settings, "thresholds": thresholds, "budgets": budgets_of(case)}
    return strong_id({**about, "package": versions()["draftproof"]})


def compute(case: MapInstance) -> dict[str, Any]:
    """The row of one instance."""
    started = time.perf_counter()
    exact = case.instance()
    floats = exact.converted(FLOAT64, case.depth)
    fitting: dict[str, map_schemes.Candidate] = {}
    for nodes, passes in budgets_of(case):
        for candidate in map_schemes.candidates(floats, nodes, passes):
            fitting.setdefault(scheme_spec(candidate.scheme), candidate)
    return {
        **case.about,
        "distance": distance(floats, min(case.depth, 4)),
        "schemes": [map_schemes.evaluated(value, exact, floats, case.seed) for value in fitting.values()],
        "known": [_known(floats, nodes, passes) for nodes, passes in budgets_of(case)],
        "strong_id": identity(case),
        "versions": versions(),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _known(floats: Instance, nodes: int, passes: int) -> dict[str, Any]:
    """Block efficiencies of the best trees if the target were known, and of the most probable nodes by the draft."""
    target, draft = floats.target, floats.draft
    sets = {name: most_probable(rows, nodes, passes) for name, rows in (("target", target), ("draft", draft))}
    gains: dict[str, Any] = {
        f"set by {name}": float(set_efficiency(target, [context for context, _ in some])) for name, some in sets.items()
    }
    if nodes <= MOST_PLACES:
        gains["topology"] = float(best_topology(target, draft, nodes, passes)[0])
    if nodes <= min(passes, MOST_GROWN):
        gains["growth"] = float(Growth(target, draft, passes).best(nodes))
    return {"nodes": nodes, "passes": passes, **gains}


@grouped(files=StudyFiles)
def main(
    seeds: Annotated[int, typer.Option(min=1, help="Instances of every kind, distance and temperature.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Four small instances, to see that it works.")] = False,
    pair: Annotated[str | None, typer.Option(help="Folder of `train --vocab 3`: its instances, too.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    *,
    files: StudyFiles,
) -> int:
    """The schemes best by optimum, by block efficiency of verifiers and by speed, for distances and temperatures."""
    files.check()
    wanted = list(instances(seeds, quick))
    if pair is not None:
        wanted += trained_instances(pair, 3, 4, PAIR_ROOTS)
    tasks = [Task((identity(case),), case) for case in wanted]
    views = Views(
        map_views.table,
        lambda rows: {"points": points(rows), "rows": rows},
        lambda rows: map_views.markdown(rows) + "\n" + map_views.claims(rows),
        map_views.figure,
    )
    return conduct(tasks, Executor(compute, jobs), files, views, "instance", TRIAL)


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
