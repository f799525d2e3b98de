"""How much of the optimum each verifier attains, over families, V, K, L1 and L2.

`python -m draftproof.experiments.studies.share_of_optimum --resume runs/share.db --plot runs/share.png`

For every instance the optimum is bounded from both sides, exactly, and the block efficiency of every verifier
that is lossless on delayed trees comes from its structured engine. The share is efficiency over the upper bound, so it
is never overstated. One row an instance; a second run computes only what is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import typer

from draftproof import verifiers
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Executor, Task, rows_of, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import check_files, number_fields, write_json, write_pages
from draftproof.experiments.shared.progress import INTERRUPTED, cut_short
from draftproof.experiments.studies import share_views
from draftproof.experiments.studies.best_a import best_mixture
from draftproof.experiments.studies.share_claims import claims
from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.structured import TableRows, structure_of
from draftproof.simulator.laws.structured.layered import sampled_depths
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.structures import Layered
from draftproof.simulator.verdicts.lossless import Evaluator

#: Family and parameters.
FAMILIES_STUDIED: tuple[tuple[str, dict[str, float]], ...] = (
    ("dirichlet", {}),
    ("perturbed", {"s": 0.5}),
    ("perturbed", {"s": 1.0}),
    ("temperature", {}),
)
#: (L1, L2), and the vocabularies that each is studied at.
DEPTHS = ((0, 1), (0, 2), (1, 1), (0, 3), (1, 2), (2, 1), (0, 4))
VOCABULARIES = (2, 3, 4, 8)
PATHS = (2, 3, 4)
#: Shapes of more paths `V**L` are left out.
MOST_PATHS = 256
#: Certified gap of every optimum, and the common denominator of all probabilities.
GAP, DENOMINATOR = 1e-6, 2**16
#: For verifiers of layers: where a layer has too many states to be listed, so many are drawn.
SAMPLED = 20_000
#: The time of all instances is estimated from that of so many.
TRIAL = 12


@dataclass(frozen=True)
class Point:
    """One point of the grid that is studied, which defines an instance."""

    family: str
    parameters: dict[str, float]
    vocab_size: int
    K: int
    L1: int
    L2: int
    seed: int

    @property
    def strong_id(self) -> str:
        """Hash of what defines it, of the verifiers and of the gap."""
        return strong_id(
            {
                **asdict(self),
                "gap": GAP,
                "denominator": DENOMINATOR,
                "verifiers": studied(),
                "package": versions()["draftproof"],
            }
        )


def cases(seeds: int) -> Iterator[Point]:
    """All cases, `seeds` instances each, so that an interrupted run has some of everything."""
    for seed in range(seeds):
        for (family, parameters), size, K, (L1, L2) in product(FAMILIES_STUDIED, VOCABULARIES, PATHS, DEPTHS):
            if size ** (L1 + L2) <= MOST_PATHS:
                yield Point(family, parameters, size, K, L1, L2, seed)


def studied() -> list[str]:
    """The verifiers that are lossless on delayed trees and need no plan; all have a structured engine."""
    return [name for name in verifiers.STANDALONE if "delayed" in lossless_for(verifiers.REGISTRY[name].card)]


def compute(case: Point) -> dict[str, Any]:
    """The row of one case."""
    started = time.perf_counter()
    scheme = Delayed(case.K, case.L1, case.L2)
    generator = np.random.default_rng((case.seed, case.vocab_size, case.K, case.L1, case.L2))
    instance = FAMILIES[case.family].instance(
        case.vocab_size, scheme.depth, generator, DENOMINATOR, RATIONAL, **case.parameters
    )
    bounds = optimum(instance.target, instance.draft, scheme, gap=GAP)
    upper = float(bounds.upper)
    reach, errors = {}, {}
    for name in studied():
        reach[name], error = _reach(verifiers.make(name), instance, scheme, case.seed)
        if error:
            errors[name] = error / upper
    mixed = verifiers.make("mixed_order", a=best_mixture(instance.target, instance.draft, scheme)[0])
    reach["mixed_order, best a"] = _reach(mixed, instance, scheme)[0]
    planned = verifiers.make("optimum", plan=bounds.plan, draft_tables=instance.draft.tables)
    best, _ = _reach(planned, instance, scheme)
    return {
        **asdict(case),
        **number_fields("lower", bounds.lower),
        **number_fields("upper", bounds.upper),
        "gap_float": float(bounds.gap),
        "method": bounds.method,
        "shares": {name: sum(masses) / upper for name, masses in reach.items()},
        "errors": errors,
        "lost": {name: [b - d for b, d in zip(best, masses, strict=True)] for name, masses in reach.items()},
        "strong_id": case.strong_id,
        "kind": "share",
        "versions": versions(),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _reach(verifier: Verifier, instance: Instance, scheme: Delayed, seed: int = 0) -> tuple[list[float], float]:
    """`P(tau >= d)` for `d = 0..L`, whose sum is the block efficiency, and its standard error, 0 where it is exact."""
    structure = structure_of(verifier, scheme)
    try:
        check = Evaluator(verifier, "float64").check(instance.target, instance.draft, scheme)
    except TooLarge:
        if not isinstance(structure, Layered):
            raise
        floats = Instance.of(instance.target, instance.draft, scheme.depth, FLOAT64)
        generator = np.random.default_rng((seed, scheme.K, scheme.L1, scheme.L2))
        return sampled_depths(structure, TableRows.of(floats.target, floats.draft), scheme, SAMPLED, generator)
    masses = [float(mass) for mass in check.metrics.depth_distribution]
    return [sum(masses[depth:]) for depth in range(scheme.depth + 1)], 0.0


def main(
    seeds: Annotated[int, typer.Option(min=1, help="Instances of every case.")] = 8,
    resume: Annotated[str | None, typer.Option(help="Store of rows: kept as they come, reused next time.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    plot_file: Annotated[str | None, typer.Option("--plot", help="PNG of the shares.")] = None,
    markdown_file: Annotated[str | None, typer.Option("--markdown", help="Markdown tables and figures.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Share of the optimum attained by each verifier, with quantiles."""
    from draftproof.experiments.shared.progress import console_for

    check_files((), {"--resume": resume, "--plot": plot_file, "--markdown": markdown_file, "--json": json_target})
    wanted = list(cases(seeds))
    kept = Store(resume)
    tasks = [Task((case.strong_id,), case) for case in wanted]
    complete = run(tasks, kept, Executor(compute, jobs), "instance", trial=TRIAL)
    rows = rows_of(tasks, kept)
    if not rows:
        return INTERRUPTED
    console = console_for(json_target)
    summary = share_views.summarise(rows)
    console.print(share_views.table(summary, rows))
    if not complete:
        return cut_short(len(rows), len(wanted), "instances", resume)
    write_json(json_target, {"summary": summary, "rows": rows})
    write_pages(
        console,
        markdown_file,
        lambda: share_views.markdown(summary, rows) + "\n" + claims(rows),
        plot_file,
        lambda: share_views.figure(rows),
    )
    return 0


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
