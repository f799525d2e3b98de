"""The share of the optimum that each verifier attains, over families, V, K, L1 and L2.

`python -m draftproof.experiments.studies.share_of_optimum --resume runs/share.db --plot runs/share.png`

For every instance it computes certified bounds of the optimum, and the block efficiency of every verifier that is
lossless on delayed trees. The share is block efficiency over the upper bound, so it is never overstated. One row an
instance; a second run computes only what is missing.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Annotated, Any

import numpy as np
import typer

from draftproof import verifiers
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Executor, Task
from draftproof.experiments.inputs.options import grouped
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.studies import StudyFiles, Views, conduct, share_views
from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.structured import TableRows, structure_of
from draftproof.simulator.laws.structured.layered import sampled_depths
from draftproof.simulator.protocol import DraftScheme, TokenProcess, Verifier
from draftproof.simulator.structures import Layered
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers.mixed_order import MixedOrder

#: The best `a` is found among multiples of 1/256.
GRID = 256
#: The search in float64 evaluates multiples of 2^-30.
_FINE = 2**30
#: The search ends at an interval of this length, in which block efficiency is constant up to rounding.
_SHORT = 1e-6


def best_mixture(target: TokenProcess, draft: TokenProcess, scheme: DraftScheme) -> tuple[Fraction, Fraction]:
    """The multiple `a` of 1/256 with the largest block efficiency of `mixed_order`, and that efficiency, exact.

    The selection law of `mixed_order` is linear in `a`, and the reach `D(c, y) = min(r(c, y), D(c) p(y|c))` of block
    verification is concave in it. So its block efficiency is a concave function of `a`, and a bounded search finds its
    maximum. target, draft: exact processes; scheme: one that `mixed_order` runs on.
    """
    from scipy.optimize import minimize_scalar

    def lost(a: float) -> float:
        verifier = MixedOrder(Fraction(round(a * _FINE), _FINE))
        return -float(Evaluator(verifier, "float64").check(target, draft, scheme).block_efficiency)

    def exact(a: Fraction) -> Fraction:
        return Fraction(Evaluator(MixedOrder(a), "rational").check(target, draft, scheme).block_efficiency)

    top = float(minimize_scalar(lost, bounds=(0, 1), method="bounded", options={"xatol": _SHORT}).x)
    # a concave function on a grid is largest next to its maximum, or at an end where rounding hides it
    units = {0, floor(max(top - _SHORT, 0) * GRID), round(top * GRID), ceil(min(top + _SHORT, 1) * GRID), GRID}
    efficiencies = {Fraction(unit, GRID): exact(Fraction(unit, GRID)) for unit in sorted(units)}
    best = max(efficiencies, key=efficiencies.__getitem__)
    return best, efficiencies[best]


#: Family and parameters.
FAMILIES_STUDIED: tuple[tuple[str, dict[str, float]], ...] = (
    ("dirichlet", {}),
    ("perturbed", {"s": 0.5}),
    ("perturbed", {"s": 1.0}),
    ("temperature", {}),
)
#: Pairs (L1, L2), and the vocabulary sizes.
DEPTHS = ((0, 1), (0, 2), (1, 1), (0, 3), (1, 2), (2, 1), (0, 4))
VOCABULARIES = (2, 3, 4, 8)
PATHS = (2, 3, 4)
#: Trees with more paths `V**L` are left out.
MOST_PATHS = 256
#: Certified gap of every optimum, and the common denominator of all probabilities.
GAP, DENOMINATOR = 1e-6, 2**16
#: States of a layer that are sampled where there are too many to list, for verifiers of layers.
SAMPLED = 20_000
#: Instances that are computed first, to estimate the time of all.
TRIAL = 12


@dataclass(frozen=True)
class Point:
    """One point of the studied grid, which defines an instance."""

    family: str
    parameters: dict[str, float]
    vocab_size: int
    K: int
    L1: int
    L2: int
    seed: int

    @property
    def strong_id(self) -> str:
        """Hash of the point, the verifiers and the gap."""
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
    """All cases, `seeds` instances of each, ordered such that an interrupted run has some of every kind."""
    for seed in range(seeds):
        for (family, parameters), size, K, (L1, L2) in product(FAMILIES_STUDIED, VOCABULARIES, PATHS, DEPTHS):
            if size ** (L1 + L2) <= MOST_PATHS:
                yield Point(family, parameters, size, K, L1, L2, seed)


def studied() -> list[str]:
    """The verifiers that are lossless on delayed trees, but `optimum`; all have a structured engine."""
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


@grouped(files=StudyFiles)
def main(
    seeds: Annotated[int, typer.Option(min=1, help="Instances of every case.")] = 8,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    *,
    files: StudyFiles,
) -> int:
    """Share of the optimum attained by each verifier, with quantiles."""
    files.check()
    tasks = [Task((case.strong_id,), case) for case in cases(seeds)]
    views = Views(
        lambda rows: share_views.table(share_views.summarise(rows), rows),
        lambda rows: {"summary": share_views.summarise(rows), "rows": rows},
        lambda rows: share_views.markdown(share_views.summarise(rows), rows) + "\n" + share_views.claims(rows),
        share_views.figure,
    )
    return conduct(tasks, Executor(compute, jobs), files, views, "instance", TRIAL)


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
