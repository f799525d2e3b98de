"""`draftproof depths`: acceptance at each depth, and the gain of one more branch that begins there."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, cast

import typer
from rich.table import Table

from draftproof.experiments.cli.compare import planning, work
from draftproof.experiments.cli.compare.tables import verdict_text
from draftproof.experiments.grid.depths import depth_rows, depths_figure, mean_distances, trees
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.sources import FileProblem, Problem
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings, chosen_verifiers
from draftproof.experiments.shared.output import check_files, short, write_json, write_whole
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.files import printable

#: Where no verifier is named: a transport at every node, and one from the leaves to the root.
USUAL = ("specinfer", "traversal")


def computed(
    problem: Problem,
    chosen: Sequence[NamedVerifier],
    branches: int,
    length: int,
    settings: Settings,
    kept: Store,
    options: Sequence[str],
) -> list[dict[str, Any]] | tuple[int, int]:
    """The rows of one problem; how many laws there are, of how many, where Ctrl-C ended it early."""
    fewer, more = trees(branches, length)
    schemes = list(dict.fromkeys([*fewer, *more]))
    cells = planning.law_cells(problem, chosen, schemes, settings)
    if not work.compute_all(problem, cells, settings, kept, options):
        return sum(cell.strong_id in kept for cell in cells), len(cells)
    laws = {(cell.verifier.spec, cell.scheme): kept[cell.strong_id] for cell in cells if cell.verifier is not None}
    numbers = arithmetic_named(settings.arithmetic)
    roots = [root.converted(numbers, length) for root in problem.roots(length, numbers)]
    means, met = (mean_distances(roots, length, accepted) for accepted in (False, True))
    rows = []
    for named in chosen:
        one, other = ([laws[named.spec, scheme] for scheme in side] for side in (fewer, more))
        rows += depth_rows(one, other, means, met)
    return rows


def table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """One line a verifier and depth."""
    branches = rows[0]["K"]
    view = Table(title=title, title_justify="left", caption_justify="left")
    for heading in ("verifier", "lossless"):
        view.add_column(heading)
    for heading in (
        "depth d",
        "L1(p, q)\ndrafted",
        "\naccepted",
        f"accepted\nK = {branches - 1}",
        f"\nK = {branches}",
        f"P(tau ≥ d)\nK = {branches - 1}",
        f"\nK = {branches}",
        "gain",
        "gain\na token",
    ):
        view.add_column(heading, justify="right")
    names = (
        "distance",
        "distance_accepted",
        "accepted_fewer",
        "accepted",
        "reached_fewer",
        "reached",
        "gain",
        "gain_per_token",
    )
    for row in rows:
        first = row["depth"] == 1
        if first and row is not rows[0]:
            view.add_section()
        numbers = (row[f"{name}_float"] for name in names)
        view.add_row(
            row["verifier"] + " (control)" * row["control"] if first else "",
            verdict_text(row) if first else "",
            str(row["depth"]),
            *("-" if number is None else short(number, 4) for number in numbers),
        )
    view.caption = (
        "L1(p, q): mean of sum |p - q| for the token of depth d, over contexts drawn from the draft, and over those\n"
        "of them that token-by-token verification of one path accepts.\n"
        "accepted: P(tau ≥ d | tau ≥ d - 1) on K paths that branch at the root.\n"
        f"gain: E[tau+1] of K = {branches} minus that of K = {branches - 1}, both with a trunk of d - 1 tokens; "
        "a token: per added token."
    )
    return view


@with_groups(sampling=opt.Samplings)
def depths(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help=f"Default: {', '.join(USUAL)}.")
    ] = None,
    *,
    given: Given,
    branches: Annotated[
        int, typer.Option("--K", min=2, help="The branch that is added is the K-th.", rich_help_panel="Scheme")
    ] = 2,
    length: Annotated[
        int | None,
        typer.Option(
            "--L",
            min=1,
            help="Drafted tokens of every path, trunk included (default 3, or what an instance file has rows for).",
            rich_help_panel="Scheme",
        ),
    ] = None,
    arithmetic: opt.ArithmeticName = "float64",
    engine: opt.Engine = "auto",
    jobs: Annotated[int, typer.Option(min=1, help="Processes.", rich_help_panel="How to compute")] = os.cpu_count()
    or 1,
    max_runs: opt.MaxRuns = 20_000_000,
    max_memory: opt.MaxMemory = 4.0,
    resume: Annotated[
        str | None,
        typer.Option(help="Store of rows: kept as they come, reused next time.", rich_help_panel="Output"),
    ] = None,
    json_target: opt.JsonTarget = None,
    plot_file: Annotated[
        str | None, typer.Option("--plot", help="PNG: a line for each --sampling.", rich_help_panel="Output")
    ] = None,
) -> int:
    """By depth: acceptance, P(tau >= d), L1(p, q) and the gain in E[tau+1] of one more branch that begins there.

    With several --sampling there is a table for each, and one picture.
    """
    check_files(given.inputs, {"--resume": resume, "--json": json_target, "--plot": plot_file})
    samplings = cast("list[str | None] | None", given.sampling) or [None]
    named = chosen_verifiers(chosen or list(USUAL))
    settings = opt.choose_settings(arithmetic, engine, max_runs, max_memory, "numpy", jobs)
    sampled = [replace(given, sampling=sampling) for sampling in samplings]
    sampled = list({str(each.samplings): each for each in sampled}.values())
    problems = [choose_problem(each) for each in sampled]
    if length is None:
        length = min([3, *(each.instance.depth for each in problems if isinstance(each, FileProblem))])
    kept, console = Store(resume, ("law",)), console_for(json_target)
    rows: list[dict[str, Any]] = []
    for each, problem in zip(sampled, problems, strict=True):
        found = computed(problem, named, branches, length, settings, kept, each.options)
        if isinstance(found, tuple):
            return cut_short(*found, "rows", resume)
        console.print(table(found, f"{problem}, L = {length}, {arithmetic}"))
        rows += [{"sampling": str(each.samplings), "source": problem.source, **row} for row in found]
    write_json(json_target, {"rows": rows})
    if plot_file is not None:
        where = " ".join(replace(given, sampling=None).options) or str(problems[0])
        write_whole(plot_file, depths_figure(rows, f"{where}, L = {length}, {arithmetic}"))
        console.print(f"picture: {printable(plot_file)}")
    return 0
