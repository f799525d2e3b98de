"""`draftproof depths`: acceptance at each depth, and the gain of one more branch that begins there."""

import os
from dataclasses import replace
from typing import Annotated, Any, cast

import typer

from draftproof.experiments.cli.compare.by_depth import computed, means_of, table
from draftproof.experiments.grid.depths import depths_figure, trees
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.inputs.worlds import FileWorld
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.files import printable

#: Where no verifier is named: a transport at every node, and one from the leaves to the root.
USUAL = ("specinfer", "traversal")


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
    problems = [choose_problem(each, told=True) for each in sampled]
    if length is None:
        length = min([3, *(each.instance.depth for each in problems if isinstance(each, FileWorld))])
    kept, console = Store(resume, ("law",)), console_for(json_target)
    rows: list[dict[str, Any]] = []
    for each, problem in zip(sampled, problems, strict=True):
        found = computed(
            problem, named, *trees(branches, length), settings, kept, each.options, means_of(problem, settings)
        )
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
