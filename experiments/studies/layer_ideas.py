"""Other races for layer transport, as lossless as its own: `python -m experiments.studies.layer_ideas`.

Every race gives a verifier, so its own can be replaced by what might leave more for the next depth. Share of
the certified optimum, on instances of the study of shares that are three or four deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import mean
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from experiments.shared.output import check_files, write_json
from experiments.shared.progress import bar
from experiments.studies.share_of_optimum import DENOMINATOR, GAP, Point
from lp_analysis import optimum
from simulator.arithmetic import FLOAT64, RATIONAL
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES
from simulator.instances.instance import Instance
from simulator.laws.structured import MetricsSink, TableRows
from simulator.laws.structured.layered import layered_law
from simulator.structures import Layered
from simulator.vectors import minimum
from verifiers._equalised import equalised
from verifiers._layer_outcomes import race_outcomes
from verifiers._race import SPAN, Race, race_law

#: Makes the race of many layers from what is owed, draft masses and branches.
Racing = Callable[[Any, Any, tuple[int, ...]], Race]
#: (V, K, L2), each with two families and three seeds.
SHAPES = ((2, 2, 3), (2, 3, 3), (2, 4, 3), (2, 2, 4), (2, 3, 4), (2, 4, 4), (3, 2, 3), (3, 4, 4))
FAMILIES_TRIED: tuple[tuple[str, dict[str, float]], ...] = (("dirichlet", {}), ("perturbed", {"s": 1.0}))
SEEDS = (1, 3, 5)


def owed_to_the_power(power: float) -> Racing:
    """Large tokens count for more than their mass, or for less."""

    def racing(owed: Any, draft: Any, branches: tuple[int, ...]) -> Race:
        total = np.maximum((owed**power).sum(axis=(1, 2), keepdims=True), 1e-300)
        return equalised(owed**power * owed.sum(axis=(1, 2), keepdims=True) / total, draft, branches)

    return racing


def more_for_branches(share: float) -> Racing:
    """A node counts for more the more branches go on from it: they have the better next depth."""
    return lambda owed, draft, branches: equalised(
        owed * (1 + share * (np.array(branches) - 1.0)[None, :, None]), draft, branches
    )


def weights_to_the_power(power: float) -> Racing:
    """Within a block further from the first branch, or nearer to it, than equal shares ask for."""

    def racing(owed: Any, draft: Any, branches: tuple[int, ...]) -> Race:
        race = equalised(owed, draft, branches)
        changed = np.rint(2.0**30 * (race.weights / 2.0**30) ** power).astype(np.int64)
        return race._replace(weights=np.where(race.weights > 0, np.maximum(changed, changed.max() >> SPAN), 0))

    return racing


def leaning_on_the_draft(share: float) -> Racing:
    """A part of what is owed follows the draft, so that scores vary less with the siblings."""

    def racing(owed: Any, draft: Any, branches: tuple[int, ...]) -> Race:
        drawn = draft * np.array(branches, dtype=float)[None, :, None] / sum(branches)
        return equalised((1 - share) * owed + share * owed.sum(axis=(1, 2), keepdims=True) * drawn, draft, branches)

    return racing


def all_in_strict_order(owed: Any, draft: Any, branches: tuple[int, ...]) -> Race:
    """The equalised law for what can have more than it is owed, too, as if it were owed more; then it is cut down."""
    return equalised(owed * 2.0**20, draft, branches)


IDEAS: Mapping[str, Racing] = {
    "as it is": equalised,
    "all in strict order": all_in_strict_order,
    "owed to the power 0.8": owed_to_the_power(0.8),
    "owed to the power 1.2": owed_to_the_power(1.2),
    "20 % more a branch": more_for_branches(0.2),
    "10 % less a branch": more_for_branches(-0.1),
    "weights to the power 0.7": weights_to_the_power(0.7),
    "weights to the power 1.3": weights_to_the_power(1.3),
    "3 % by the draft": leaning_on_the_draft(0.03),
    "10 % by the draft": leaning_on_the_draft(0.1),
}


def structure(racing: Racing) -> Layered:
    """Layer transport with a race of its own."""

    def step(scores: Any, target: Any, draft: Any, branches: tuple[int, ...]) -> Any:
        owed = scores * target
        races = racing(owed, draft, branches)
        law = race_law(races, draft, branches)
        met = minimum(owed, law)
        parts = zip(races.layers(), draft, met / (law + (law <= 0)), strict=True)
        return met, (race_outcomes(race, q.tolist(), branches, kept.tolist()) for race, q, kept in parts)

    return Layered(step)


def instances() -> Iterator[tuple[Delayed, Instance]]:
    """Those of the study of shares."""
    for family, parameters in FAMILIES_TRIED:
        for size, K, L2 in SHAPES:
            for seed in SEEDS:
                point, scheme = Point(family, parameters, size, K, 0, L2, seed), Delayed(K, 0, L2)
                generator = np.random.default_rng((point.seed, size, K, 0, L2))
                yield (
                    scheme,
                    FAMILIES[family].instance(size, L2, generator, DENOMINATOR, RATIONAL, **parameters),
                )


def shares(scheme: Delayed, instance: Instance) -> dict[str, float]:
    """The share of every idea."""
    upper = float(optimum(instance.target, instance.draft, scheme, gap=GAP).upper)
    floats = Instance.of(instance.target, instance.draft, scheme.depth, FLOAT64)
    rows = TableRows.of(floats.target, floats.draft)
    return {name: _efficiency(racing, rows, scheme) / upper for name, racing in IDEAS.items()}


def _efficiency(racing: Racing, rows: TableRows, scheme: Delayed) -> float:
    sink = MetricsSink(rows, scheme.depth)
    layered_law(structure(racing), rows, scheme, sink)
    return float(sink.metrics(0).block_efficiency)


def table(found: list[dict[str, float]]) -> Table:
    """One line an idea."""
    view = Table(title=f"share of the optimum on {len(found)} instances of depth 3 and 4", title_justify="left")
    for heading in ("race", "mean", "worst", "better than as it is"):
        view.add_column(heading, justify="left" if heading == "race" else "right")
    for name in IDEAS:
        values = [each[name] for each in found]
        better = sum(each[name] > each["as it is"] + 1e-6 for each in found)
        view.add_row(name, f"{mean(values):.4f}", f"{min(values):.4f}", str(better))
    return view


def main(
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Only so many instances.")] = None,
) -> int:
    """Races that look further down, or less far, than its own."""
    from experiments.shared.consoles import console_for

    check_files((), {"--json": json_target})
    wanted = list(instances())[:first]
    found = []
    with bar("instances", len(wanted)) as tick:
        for scheme, instance in wanted:
            found.append(shares(scheme, instance))
            tick(1)
    write_json(json_target, {"rows": found})
    console_for(json_target).print(table(found))
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
