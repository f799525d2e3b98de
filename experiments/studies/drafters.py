"""Drafts for one target side by side: rows, acceptance by depth, block efficiency, the optimum, and tokens a second.

`python -m draftproof.experiments.studies.drafters --store runs/drafters.db --timed --markdown runs/drafters.md`

The grid is a file in the folder `drafters`. Laws and optima are exact up to rounding, from tables of both models; times
are those of texts written in turns with `generate_with`, in seconds of the processor.
"""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from draftproof.experiments.cli.compare.by_depth import means_of
from draftproof.experiments.cli.sweep import sweep_file, work
from draftproof.experiments.cli.sweep.sweep_file import World
from draftproof.experiments.grid.depths import depth_rows
from draftproof.experiments.grid.report.section import lines_of
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import Settings, find_verifier
from draftproof.experiments.models.pair.hidden import drafts_blocks
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for, cut_short
from draftproof.experiments.studies.drafters_views import BRANCHES, PATH, Drafter, fields, figure, sections

#: The folder of the grid.
HERE = Path(__file__).with_suffix("")
#: Which verifiers write texts on which schemes.
WRITING = {"naive": PATH, "layer_transport": BRANCHES}
#: Tokens of a text that is timed, and the rounds of them.
TOKENS, ROUNDS = 48, 3


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


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
