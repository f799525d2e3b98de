"""Drafts for one target side by side: rows, acceptance by depth, block efficiency, the optimum, and tokens a second.

`python -m draftproof.experiments.studies.drafters --store runs/drafters.db --timed --markdown runs/drafters.md`

The grid is a file in the folder `drafters`. Laws and optima are exact up to rounding, from tables of both models; times
are those of texts written in turns with `generate_with`, in seconds of the processor.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from draftproof.experiments.cli.compare.by_depth import means_of
from draftproof.experiments.cli.sweep import sweep_file, work
from draftproof.experiments.cli.sweep.sweep_file import World
from draftproof.experiments.grid.depths import depth_rows
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.report.section import Section, lines_of, number, text
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import Settings, find_verifier
from draftproof.experiments.models.pair.hidden import drafts_blocks
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for, cut_short

#: The folder of the grid.
HERE = Path(__file__).with_suffix("")
#: The path, the branches and the tree whose laws are told; and which verifiers write texts on which of them.
PATH, BRANCHES, TREE = "delayed:K=1,L1=0,L2=4", "delayed:K=2,L1=0,L2=2", "specblock:places=2,blocks=2,nodes=6,cover=3/4"
WRITING = {"naive": PATH, "layer_transport": BRANCHES}
#: Tokens of a text that is timed, and the rounds of them.
TOKENS, ROUNDS = 48, 3


@dataclass
class Drafter:
    """A draft at one temperature. rows: by scheme and verifier; bounds: by scheme; depths: on the path.

    passes: of the drafter for a path of four. rates: tokens a second by verifier, where they are measured.
    """

    name: str
    temperature: float
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    depths: list[dict[str, Any]] = field(default_factory=list)
    passes: int = 0
    rates: dict[str, float] = field(default_factory=dict)

    def mean(self, scheme: str, verifier: str) -> float | None:
        """The block efficiency."""
        row = self.rows.get((scheme, verifier))
        return None if row is None else row["block_efficiency_float"]


def main(
    store: Annotated[str, typer.Option(help="Where rows are kept as they come, and found again.")] = "drafters.db",
    timed: Annotated[bool, typer.Option("--timed", help="Write texts, too, and tell tokens a second.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    markdown: Annotated[str | None, typer.Option(help="The tables, as Markdown.")] = None,
    plot: Annotated[str | None, typer.Option(help="PNG: acceptance by depth.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Compare the drafts of a grid for one target, and print the tables."""
    check_files((), {"--store": store, "--markdown": markdown, "--plot": plot, "--json": json_target})
    grid = sweep_file.read(str(HERE / "grid.toml"))
    tasks, kept = work.plan(grid).tasks, Store(store)
    names = [name for task in tasks for name in task.ids]
    if not run(tasks, kept, Executor(work.compute, jobs)):
        return cut_short(sum(name in kept for name in names), len(names), "rows", store)
    found = drafters(grid.worlds, [(task.argument, kept[name]) for task in tasks for name in task.ids])
    kept.close()
    if timed:
        measure(grid.worlds, found)
    shown = "".join(f"{line}\n" for section in sections(found) for line in lines_of(section))
    console_for(json_target).print(shown, soft_wrap=True, markup=False, highlight=False)
    if markdown is not None:
        write_whole(markdown, shown)
    if plot is not None:
        write_whole(plot, figure(found))
    write_json(json_target, {"drafters": [fields(each) for each in found]})
    return 0


def drafters(worlds: Sequence[World], rows: Sequence[tuple[work.Group, Row]]) -> list[Drafter]:
    """The drafts of a grid with their rows and what tables tell by depth."""
    found = []
    for world in worlds:
        made = Drafter(label(world), temperature(world))
        for group, row in rows:
            if group.world == world and "upper_float" in row:
                made.bounds[group.scheme] = row["upper_float"]
            elif group.world == world:
                made.rows[group.scheme, row["verifier"]] = row
        path = made.rows[PATH, "naive"]
        depth = len(path["depth_distribution"]) - 1
        distances, met = means_of(world.problem, Settings("float64", "auto"))(depth)
        made.depths = depth_rows([], [path], distances, met)
        made.passes = passes(getattr(world.problem, "pair", None), depth)
        found.append(made)
    return found


def passes(pair: Any, depth: int) -> int:
    """How many passes of the draft a path of this depth takes, one after the other."""
    draft = getattr(pair, "draft", None)
    return 1 if drafts_blocks(draft) else -(-depth // getattr(draft, "places", 1))


def label(world: World) -> str:
    """The draft in a word: its kind with its options, or the last part of its folder."""
    draft = world.given.draft or "small model"
    return Path(draft).name if "/" in draft else draft


def temperature(world: World) -> float:
    """That of both models."""
    return float(world.given.samplings.temperature)


def measure(worlds: Sequence[World], found: Sequence[Drafter]) -> None:
    """Time texts of every draft, of each verifier of `WRITING`, and of plain generation, in turns."""
    from draftproof.experiments.models.loop.setting import setting
    from draftproof.experiments.models.loop.timing import measured_by
    from draftproof.experiments.models.measure.rounds import Turn, timed_rounds
    from draftproof.experiments.models.measure.writers import GENERATE, ignored_generation_settings, timed_text

    ways: dict[str, Any] = {name: (find_verifier(name), find_scheme(scheme)) for name, scheme in WRITING.items()}
    ways[GENERATE] = GENERATE

    def write(shared: Any, way: Any, round_: int) -> Turn:
        with ignored_generation_settings(shared):
            return timed_text(shared, way, TOKENS, abs(round_), abs(round_) % len(shared.roots))

    problems: list[Any] = [world.problem for world in worlds]
    settings = [setting(problem.pair, problem.warp, problem.contexts, 0) for problem in problems]
    places = [(which, name) for which in range(len(found)) for name in ways]
    calls = [partial(write, settings[which], ways[name]) for which, name in places]
    with bar("texts", len(calls) * (ROUNDS + 1)) as tick, measured_by("processor", settings[0].pair.device):
        turns = timed_rounds(calls, ROUNDS, warm_up=1, progress=tick)
    for (which, name), each in zip(places, turns, strict=True):
        found[which].rates[name] = Turn.joined(each).rate


def sections(found: Sequence[Drafter]) -> Iterator[Section]:
    """The tables: by depth, and what the drafts bring; the lowest temperature first."""
    found = sorted(found, key=lambda each: each.temperature)
    depths = range(1, 1 + max(len(each.depths) for each in found))
    for key, title in (("distance", "Mean L1(p, q) of the token of depth d"), ("accepted", "P(tau ≥ d | tau ≥ d - 1)")):
        headings = ("temperature", "draft", *(f"d = {depth}" for depth in depths))
        rows = [
            [text(f"{each.temperature:g}"), text(each.name), *(number(row[f"{key}_float"]) for row in each.depths)]
            for each in found
        ]
        yield Section(key, title, headings, rows)
    headings = (
        "temperature", "draft", "passes", "naive, path", "naive", "layer_transport", "optimum", "nss, tree",
        *(f"tokens/s, {name}" for name in (found[0].rates if found else ())),
    )  # fmt: skip
    rows = [
        [
            text(f"{each.temperature:g}"),
            text(each.name),
            text(each.passes),
            number(each.mean(PATH, "naive")),
            *(number(each.mean(BRANCHES, name)) for name in ("naive", "layer_transport")),
            number(each.bounds.get(BRANCHES)),
            number(each.mean(TREE, "nss")),
            *(text(f"{rate:.0f}") for rate in each.rates.values()),
        ]
        for each in found
    ]
    yield Section("brings", "Tokens a block, and tokens a second", headings, rows)


def figure(found: Sequence[Drafter]) -> bytes:
    """A PNG: acceptance by depth on the path, a panel for each temperature and a line for each draft."""
    warmths = sorted({each.temperature for each in found})
    drawn, panels = matplotlib_pyplot().subplots(
        1, len(warmths), figsize=(3.4 * len(warmths) + 1.6, 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, warmth in zip(panels[0], warmths, strict=True):
        lines = [each for each in found if each.temperature == warmth]
        for place, each in enumerate(lines):
            points = [(row["depth"], row["accepted_float"]) for row in each.depths]
            axes.plot(*zip(*points, strict=True), **line_style(place), markersize=5, label=each.name)
        axes.set_title(f"temperature {warmth:g}", loc="left", fontsize=10)
        axes.set_xlabel("depth d of the drafted token")
        axes.set_xticks([row["depth"] for row in lines[0].depths])
        style_axes(axes)
    panels[0][0].set_ylabel("P(tau ≥ d | tau ≥ d - 1)")
    drawn.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return as_png(drawn, 140)


def fields(each: Drafter) -> dict[str, Any]:
    """A draft as plain data."""
    means = {f"{verifier} on {scheme}": row["block_efficiency_float"] for (scheme, verifier), row in each.rows.items()}
    return {
        "draft": each.name,
        "temperature": each.temperature,
        "passes": each.passes,
        "block_efficiency": means,
        "optimum": each.bounds,
        "depths": [{key: row[f"{key}_float"] for key in ("distance", "accepted", "reached")} for row in each.depths],
        "tokens_per_second": each.rates,
    }


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
