"""Stratified branches beside i.i.d. ones: a sweep over its grids, then tables of what they gain.

`python -m draftproof.experiments.studies.stratified --store runs/stratified.db --markdown runs/stratified.md`

The grids are files in the folder `stratified`; `draftproof sweep FILE --store STORE` can compute each of them too. A
drawing is one instance, or all roots of a source, on one shape of the tree.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from draftproof.experiments.cli.sweep import sweep_file, work
from draftproof.experiments.grid.kinds import SAMPLINGS
from draftproof.experiments.grid.report.matched import WorldOnScheme, kind, worlds_on_schemes
from draftproof.experiments.grid.report.section import Section, count, lines_of, number, percent, text
from draftproof.experiments.grid.report.summary import by_kind
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.errors import InvalidInput

#: The folder of the grids, and the grids: random families, these at depth 3, an n-gram text.
HERE = Path(__file__).with_suffix("")
GRIDS = ("random.toml", "deep.toml", "text.toml")
#: The grid of pairs that `train` made.
PAIRS = "pairs.toml"
#: The runnable verifier that comes closest to the optimum.
BEST = "layer_transport"
#: What it shall attain of the optimum of stratified branches: on average and at worst.
GOALS = {"mean": 0.995, "worst": 0.97}
#: Certified bounds are at most this far apart, so a smaller difference of two optima is none.
GAP = 1e-6


@dataclass(frozen=True)
class Drawing:
    """One source on one shape, with i.i.d. branches and with stratified ones."""

    source: Mapping[str, Any]
    shape: tuple[int, int, int]
    iid: WorldOnScheme
    stratified: WorldOnScheme

    @property
    def gain(self) -> float:
        """The optimum over that of i.i.d. branches, less 1."""
        return _upper(self.stratified) / _upper(self.iid) - 1

    def gain_of(self, verifier: str) -> float | None:
        """What a verifier brings on stratified branches over what it brings on i.i.d. ones, less 1."""
        values = [pair.values.get(verifier) for pair in (self.stratified, self.iid)]
        return None if None in values else values[0] / values[1] - 1  # type: ignore[operator]

    @property
    def share(self) -> float:
        """Of the optimum of stratified branches what `BEST` brings."""
        return self.stratified.values[BEST] / _upper(self.stratified)


def _upper(pair: WorldOnScheme) -> float:
    assert pair.upper is not None
    return pair.upper


def main(
    store: Annotated[str, typer.Option(help="Where rows are kept as they come, and found again.")] = "stratified.db",
    grid: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(GRIDS)}; may be repeated.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Pairs of models that train made, too.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    markdown: Annotated[str | None, typer.Option(help="The tables, as Markdown.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Compute what is missing of the comparison of stratified and i.i.d. branches, and print its tables."""
    check_files((), {"--store": store, "--markdown": markdown, "--json": json_target})
    chosen = list(dict.fromkeys(grid or GRIDS))
    if unknown := [name for name in chosen if name not in GRIDS]:
        raise InvalidInput(f"--grid {unknown[0]}: choose among {', '.join(GRIDS)}")
    grids = [sweep_file.read(str(HERE / name)) for name in (*chosen, *([PAIRS] if pairs else ()))]
    tasks, kept = [task for grid in grids for task in work.plan(grid).tasks], Store(store)
    names = sorted({name for task in tasks for name in task.ids})
    if not run(tasks, kept, Executor(work.compute, jobs)):
        return cut_short(sum(name in kept for name in names), len(names), "rows", store)
    rows = by_kind(kept[name] for name in names)
    kept.close()
    made = drawings(worlds_on_schemes([*rows["law"], *rows["bound"]]))
    folders = {str(world.source.get("pair")): world.given.pair for grid in grids for world in grid.worlds}
    shown = "".join(f"{line}\n" for section in sections(made, folders) for line in lines_of(section))
    console_for(json_target).print(shown, soft_wrap=True, markup=False, highlight=False)
    if markdown is not None:
        write_whole(markdown, shown)
    write_json(json_target, {"goals": reached(random_ones(made)), "drawings": [fields(drawing) for drawing in made]})
    return 0


def drawings(pairs: Iterable[WorldOnScheme]) -> list[Drawing]:
    """The rows by source and shape, where the trees of all schemes are there."""
    groups: dict[tuple[str, tuple[int, int, int]], dict[str, WorldOnScheme]] = defaultdict(dict)
    for pair in pairs:
        scheme = pair.row["scheme"]
        groups[pair.world, (scheme["K"], scheme["L1"], scheme["L2"])][scheme["name"]] = pair
    return [
        Drawing(group["delayed"].row["source"], shape, group["delayed"], group["stratified"])
        for (_, shape), group in groups.items()
        if len(group) == 2 and all(BEST in pair.values for pair in group.values())
    ]


def fields(drawing: Drawing) -> dict[str, Any]:
    """A drawing as plain data."""
    return {
        "source": dict(drawing.source),
        "shape": drawing.shape,
        "optimum": {"iid": _upper(drawing.iid), "stratified": _upper(drawing.stratified)},
        "iid": drawing.iid.values,
        "stratified": drawing.stratified.values,
    }


def random_ones(made: Iterable[Drawing]) -> list[Drawing]:
    """Those of the families."""
    return [drawing for drawing in made if "family" in drawing.source]


def reached(made: Sequence[Drawing]) -> dict[str, Any]:
    """The share that `BEST` has on average and at worst, and whether these are the goals."""
    shares = [drawing.share for drawing in made]
    found = {"instances": len(shares), "mean": fmean(shares), "worst": min(shares)}
    return {**found, "reached": all(found[name] >= goal for name, goal in GOALS.items())}


def sections(made: Sequence[Drawing], folders: Mapping[str, str | None]) -> Iterator[Section]:
    """The tables. folders: of the pairs of models, by their digest."""
    goals = reached(random_ones(made))
    losses = sum(drawing.gain < -GAP for drawing in made)
    note = (
        f"{BEST} on stratified branches of {goals['instances']:,} random instances: {goals['mean']:.4%} of the optimum "
        f"on average, {goals['worst']:.4%} at worst; goals {GOALS['mean']:.1%} and {GOALS['worst']:.0%} "
        f"{'reached' if goals['reached'] else 'missed'}. Of all {len(made):,} drawings the optimum is below that of "
        f"i.i.d. branches on {losses}."
    )
    by_source = _grouped(made, lambda drawing: source_of(drawing.source, folders))
    by_shape = _grouped(made, lambda drawing: "V = {}; {}, {}, {}".format(size_of(drawing.iid), *drawing.shape))
    yield Section("sources", "Gain of stratified branches by source", ("source", *HEADINGS), _rows(by_source), note)
    yield Section("shapes", "Gain by size and shape", ("V; K, L1, L2", *HEADINGS), _rows(by_shape))
    yield Section(
        "verifiers",
        "Gain by verifier",
        ("verifier", "drawings", "mean", "least", "largest", "below"),
        [
            [text(name), count(len(gains)), *map(percent, (fmean(gains), min(gains), max(gains))), count(losing)]
            for name, gains in _by_verifier(made).items()
            for losing in [sum(gain < -GAP for gain in gains)]
        ],
    )


def _by_verifier(made: Iterable[Drawing]) -> dict[str, list[float]]:
    """The gains of each verifier, on the drawings that have it on both schemes."""
    gains: dict[str, list[float]] = defaultdict(list)
    for drawing in made:
        for name in drawing.iid.values:
            if (gain := drawing.gain_of(name)) is not None:
                gains[name].append(gain)
    return gains


HEADINGS = (
    "drawings", "optimum", "largest", f"{BEST}", "above the i.i.d. optimum", "its share", "worst share",
)  # fmt: skip


def _rows(groups: Mapping[str, Sequence[Drawing]]) -> list[list[Any]]:
    rows = []
    for name, group in groups.items():
        gains = [drawing.gain for drawing in group]
        own = [gain for drawing in group if (gain := drawing.gain_of(BEST)) is not None]
        above = sum(drawing.stratified.values[BEST] > _upper(drawing.iid) + GAP for drawing in group)
        shares = [drawing.share for drawing in group]
        cells = [percent(fmean(gains)), percent(max(gains)), percent(fmean(own)), count(above)]
        rows.append([text(name), count(len(group)), *cells, number(fmean(shares)), number(min(shares))])
    return rows


def _grouped(made: Iterable[Drawing], key: Any) -> dict[str, list[Drawing]]:
    groups: dict[str, list[Drawing]] = defaultdict(list)
    for drawing in made:
        groups[key(drawing)].append(drawing)
    return dict(sorted(groups.items()))


def size_of(pair: WorldOnScheme) -> int:
    """`V`, as the options of a row give it."""
    options = pair.row["options"]
    return int(options[options.index("--vocab") + 1])


def source_of(source: Mapping[str, Any], folders: Mapping[str, str | None]) -> str:
    """The name of a source with its sampling."""
    name = Path(folders[source["pair"]] or "").name if "pair" in source else kind(source)
    warp: Mapping[str, Any] = next((source[key] for key in (*SAMPLINGS, "warp") if source.get(key)), {})
    return ", ".join([name, *(f"{key} {value:g}" for key, value in warp.items() if isinstance(value, float | int))])


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
