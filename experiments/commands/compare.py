"""`draftproof compare`."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

import typer

from experiments import options as opt
from experiments.commands._common import chosen_verifiers, console_for
from experiments.names import parse_range
from experiments.output import check_files, write_json
from experiments.problem import FileProblem
from experiments.progress import INTERRUPTED, remark
from experiments.rows import RowFile
from simulator.errors import InvalidInput


@opt.with_instance()
def compare(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    *,
    given: opt.Given,
    scheme: opt.Scheme = None,
    tree: opt.Tree = None,
    confidence: opt.Confidence = None,
    K: Annotated[str | None, typer.Option("--K", help="Branches, as 2 or 1..4.", rich_help_panel="Scheme")] = None,
    L1: Annotated[str | None, typer.Option("--L1", help="Trunk lengths.", rich_help_panel="Scheme")] = None,
    L2: Annotated[str | None, typer.Option("--L2", help="Branch lengths.", rich_help_panel="Scheme")] = None,
    budget: Annotated[
        int | None, typer.Option(min=0, help="Only shapes of exactly N drafted tokens.", rich_help_panel="Scheme")
    ] = None,
    max_nodes: Annotated[
        int | None, typer.Option(min=0, help="Only shapes of at most N drafted tokens.", rich_help_panel="Scheme")
    ] = None,
    arithmetic: opt.ArithmeticName = "float64",
    engine: opt.Engine = "auto",
    jobs: Annotated[int, typer.Option(min=1, help="Processes.", rich_help_panel="How to compute")] = os.cpu_count()
    or 1,
    backend: opt.Backend = "numpy",
    max_runs: opt.MaxRuns = 20_000_000,
    max_memory: opt.MaxMemory = 4.0,
    steady: Annotated[
        bool, typer.Option("--steady-state", help="Also tokens a target pass in the long run (texts).")
    ] = False,
    cost: Annotated[
        str | None,
        typer.Option(
            help="Times as draft=1,branch=.1,target=10,node=.05 or a JSON file: the best shape of each.",
            rich_help_panel="Scheme",
        ),
    ] = None,
    best: Annotated[
        bool | None,
        typer.Option("--optimum/--no-optimum", help="The optimum and the gap to it (default: where that is quick)."),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="File of rows: kept as they come, reused next time.", rich_help_panel="Output")
    ] = None,
    by_root: Annotated[
        bool, typer.Option("--by-root", help="A second table, root by root.", rich_help_panel="Output")
    ] = False,
    json_target: opt.JsonTarget = None,
    csv_file: Annotated[str | None, typer.Option("--csv", help="CSV file.", rich_help_panel="Output")] = None,
    latex_file: Annotated[str | None, typer.Option("--latex", help="LaTeX table.", rich_help_panel="Output")] = None,
    markdown_file: Annotated[
        str | None, typer.Option("--markdown", help="Markdown table.", rich_help_panel="Output")
    ] = None,
    plot_file: Annotated[
        str | None, typer.Option("--plot", help="PNG of the delay curve.", rich_help_panel="Output")
    ] = None,
) -> int:
    """Exact block efficiency of verifiers over shapes, each checked for losslessness on the way."""
    from experiments import compare as comparing
    from experiments import tables
    from experiments.files import write_files
    from experiments.latency import cost_model

    outputs = {"--csv": csv_file, "--latex": latex_file, "--markdown": markdown_file, "--plot": plot_file}
    check_files((given.instance, given.text), {"--resume": resume, "--json": json_target, **outputs})
    named = chosen_verifiers(chosen)
    problem = opt.choose_problem(given)
    if not any((scheme, tree, confidence, K, L1, L2)) and isinstance(problem, FileProblem) and problem.instance.scheme:
        scheme, K, L1, L2, tree, confidence = opt.flags_of(problem.instance.scheme)
    ranges = {flag: parse_range(text, f"--{flag}") for flag, text in (("K", K), ("L1", L1), ("L2", L2)) if text}
    schemes = comparing.shapes(
        partial(opt.build_scheme, scheme or "delayed", tree, confidence), ranges, budget, max_nodes
    )
    settings = opt.choose_settings(arithmetic, engine, max_runs, max_memory, backend, jobs, steady)
    if steady and given.text is None:
        raise InvalidInput("--steady-state needs processes that go on for ever; add --text FILE")
    costs = cost_model(cost) if cost else None
    if costs:
        costs.check(schemes)
    kept = RowFile(resume)
    tasks = comparing.plan(problem, named, schemes, settings)
    bounding = comparing.plan_bounds(problem, schemes, best)
    complete = comparing.compute_all(problem, [*tasks, *bounding], settings, kept)
    rows = [kept.rows[task.strong_id] for task in tasks if task.strong_id in kept.rows]
    if not rows:
        remark("interrupted before the first row was done")
        return INTERRUPTED
    console = console_for(json_target)
    bounds = [kept.rows[task.strong_id] for task in bounding if task.strong_id in kept.rows]
    rows = comparing.with_optimum(rows, bounds)
    if costs:
        rows = [{**row, **costs.row_fields(row)} for row in rows]
    title = f"{problem}, {arithmetic}"
    if len(rows) <= tables.LONGEST:
        console.print(tables.compare_table(rows, title))
    else:
        console.print(f"{title}\n{len(rows):,} rows are too many to print; --csv or --json FILE has them all")
    if costs or len(rows) > tables.LONGEST:
        console.print(tables.best_table(rows))
    if by_root:
        console.print(tables.roots_table(rows))
    if not complete:
        where = f"; they are kept in {resume}" if resume else "; --resume FILE would keep them for next time"
        remark(f"interrupted after {len(rows)} of {len(tasks)} rows{where}; no other file was written")
        return INTERRUPTED
    write_json(json_target, {"rows": rows, "bounds": bounds})
    for line in write_files(rows, str(problem), outputs):
        console.print(line)
    return 0
