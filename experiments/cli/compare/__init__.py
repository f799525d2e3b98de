"""`draftproof compare`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.console import Console

from draftproof.experiments.cli.compare import by_depth as depths
from draftproof.experiments.cli.compare import planning, tables, work
from draftproof.experiments.cli.compare.policies import RANGES, PolicyRequest, policy_rows, wanted_policies
from draftproof.experiments.cli.compare.roots import AT_ROOTS
from draftproof.experiments.cli.compare.tables import as_csv, as_markdown
from draftproof.experiments.grid.figures import delay_figure
from draftproof.experiments.grid.groups import mean_by_group
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.grammar import parse_range
from draftproof.experiments.inputs.latency import TimeModel, time_model
from draftproof.experiments.inputs.schemes import planned, scheme_spec
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.inputs.worlds import FileWorld, World, told_note
from draftproof.experiments.shared.output import check_files, number_fields, write_json, write_whole
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.files import printable
from draftproof.simulator.protocol import DraftScheme

_TEXTS = {"--csv": as_csv, "--markdown": as_markdown}


def write_files(rows: Sequence[dict[str, Any]], caption: str, outputs: Mapping[str, str | None]) -> Iterator[str]:
    """Write the output files, by flag; yields lines to print."""
    for flag, path in outputs.items():
        if path is None:
            continue
        if flag in _TEXTS:
            write_whole(path, _TEXTS[flag](rows))
        elif picture := delay_figure(rows, caption):
            write_whole(path, picture)
            yield f"picture: {printable(path)}"
        else:
            reason = "there is no delayed tree, or no verifier that is neither control nor refuted"
            yield f"{printable(path)} was not drawn: {reason}"


def with_optimum(stored: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Split the stored rows of a comparison into `rows`, `bounds` and `failures`.

    Each row gets the optimum of its shape; a lossless one its gap too, the most by which it can be below the optimum.
    """
    bounds = [row for row in stored if row.get("kind") == "bound"]
    known = {strong_id(bound["scheme"]): bound for bound in bounds}
    failures = [row for row in stored if row.get("kind") == work.FAILURE]
    rows = [row for row in stored if row not in bounds and row not in failures]
    return {
        "rows": [{**row, **_fields(row, known.get(strong_id(row["scheme"])))} for row in rows],
        "bounds": bounds,
        "failures": failures,
    }


def _fields(row: dict[str, Any], bound: dict[str, Any] | None) -> dict[str, Any]:
    if bound is None:
        return {key: None for name in ("optimum", "optimum_upper", "gap") for key in (name, f"{name}_float")}
    names = (("optimum", "lower"), ("optimum_upper", "upper"))
    optimum = {f"{name}{end}": bound[f"{side}{end}"] for name, side in names for end in ("", "_float")}
    if bound.get("cut"):  # the bounds of a cut vocabulary differ by more than the gap of the solver
        optimum["at_most_float"] = bound["upper_float"]
    if not row["lossless"]:
        return {**optimum, **number_fields("gap", None)}
    if row["arithmetic"] == "rational":
        return {**optimum, **number_fields("gap", Fraction(bound["upper"]) - Fraction(row["block_efficiency"]))}
    return {**optimum, **number_fields("gap", bound["upper_float"] - row["block_efficiency_float"])}


_CORES = os.cpu_count() or 1
_SCHEME: Any = {"rich_help_panel": "Scheme"}
_OUTPUT: Any = {"rich_help_panel": "Output"}

Chosen = Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all made for the scheme.")]
BranchRange = Annotated[str | None, typer.Option("--K", help="Branches, as 2 or 1..4.", **_SCHEME)]
TrunkRange = Annotated[str | None, typer.Option("--L1", help="Trunk lengths.", **_SCHEME)]
LengthRange = Annotated[str | None, typer.Option("--L2", help="Branch lengths.", **_SCHEME)]
Budget = Annotated[int | None, typer.Option(min=0, help="Only shapes of exactly N drafted tokens.", **_SCHEME)]
MaxNodes = Annotated[int | None, typer.Option(min=0, help="Only shapes of at most N drafted tokens.", **_SCHEME)]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.", rich_help_panel="How to compute")]
Steady = Annotated[
    bool, typer.Option("--steady-state", help="Also the mean tokens of a block in the long run (texts).")
]
Times = Annotated[
    str | None,
    typer.Option(
        help="Times as draft=1,branch=.1,target=10,node=.05 or a JSON file; prints the best shape of each.", **_SCHEME
    ),
]
Best = Annotated[
    bool | None,
    typer.Option("--optimum/--no-optimum", help="The optimum, and the gap (default: where quick)."),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help=f"Also choose among the shapes at every root: {', '.join(AT_ROOTS)}, selector (of --pair), or "
        "FILE.py:NAME; may be repeated. Shapes are then K 1..4, L1 0..2, L2 0..2 by default.",
        **_SCHEME,
    ),
]
By = Annotated[str | None, typer.Option(help="More tables: depth, root or depth,root.", **_OUTPUT)]
Csv = Annotated[str | None, typer.Option("--csv", help="CSV file.", **_OUTPUT)]
Markdown = Annotated[str | None, typer.Option("--markdown", help="Markdown table.", **_OUTPUT)]
Plot = Annotated[str | None, typer.Option("--plot", help="PNG of the delay curve.", **_OUTPUT)]


@with_groups()
def compare(
    chosen: Chosen = None,
    *,
    given: Given,
    scheme: opt.Scheme = None,
    tree: opt.Tree = None,
    confidence: opt.Confidence = None,
    K: BranchRange = None,
    L1: TrunkRange = None,
    L2: LengthRange = None,
    budget: Budget = None,
    max_nodes: MaxNodes = None,
    arithmetic: opt.ArithmeticName = "float64",
    engine: opt.Engine = "auto",
    jobs: Jobs = _CORES,
    backend: opt.Backend = "numpy",
    max_runs: opt.MaxRuns = 20_000_000,
    max_memory: opt.MaxMemory = 4.0,
    steady: Steady = False,
    cost: Times = None,
    policy: Policies = None,
    best: Best = None,
    resume: opt.Resume = None,
    by: By = None,
    json_target: opt.JsonTarget = None,
    csv_file: Csv = None,
    markdown_file: Markdown = None,
    plot_file: Plot = None,
) -> int:
    """Exact block efficiency of verifiers over shapes, each checked for losslessness on the way."""
    files = {"--csv": csv_file, "--markdown": markdown_file, "--plot": plot_file}
    check_files(given.inputs, {"--resume": resume, "--json": json_target, **files})
    sides = by.split(",") if by else []
    if not set(sides) <= {"depth", "root"}:
        raise InvalidInput(f"--by {by}: give depth, root or depth,root")
    named = chosen_verifiers(chosen) if chosen else None
    problem = choose_problem(given, told=True)
    kind = (scheme, tree, confidence)
    sizes = tuple(RANGES.values()) if policy and not any((K, L1, L2, *kind)) else (K, L1, L2)
    schemes = planning.shapes(*_ranges(problem, kind, sizes), budget, max_nodes)
    settings = opt.choose_settings(arithmetic, engine, max_runs, max_memory, backend, jobs, steady)
    costs = _costs(cost, schemes)
    wanted = wanted_policies(policy, problem, given.pair, named or chosen_verifiers(None), schemes, arithmetic, costs)
    if policy and given.told is not None:
        raise InvalidInput("--policy goes without --told, which makes verifiers lossy; leave one of them out")
    if policy and steady:
        raise InvalidInput("--policy is valued at roots, not in the long run of --steady-state; leave one of them out")
    if steady and given.text is None:
        raise InvalidInput("--steady-state needs n-gram processes; add --text FILE")
    cells = planning.all_cells(problem, named, schemes, settings, best)
    store = Store(resume, ("law", "bound", work.FAILURE))
    complete = work.compute_all(problem, cells, settings, store, given.options)
    results = with_optimum([store[cell.strong_id] for cell in cells if cell.strong_id in store])
    rows = [{**row, **costs.row_fields(row)} for row in results["rows"]] if costs else results["rows"]
    if groups := getattr(problem, "groups", ()):  # of prompts
        rows = [{**row, "groups": mean_by_group(groups, tables.root_efficiencies(row))} for row in rows]
    for failure in results["failures"] if wanted else ():  # a policy chooses among rows of every shape
        raise InvalidVerifier(failure["error"])
    policies, complete = _policies(wanted, rows) if complete else ([], False)
    console = console_for(json_target)
    _show(console, rows, policies, f"{problem}, {arithmetic}", "root" in sides)
    for failure in results["failures"]:
        console.print(printable(f"REFUTED, no row: {failure['error']}"), soft_wrap=True)
    if note := told_note(problem):
        console.print(note)
    if not complete:
        return cut_short(len(rows), len(cells), "rows", resume)
    results |= {"rows": rows, "policies": policies}
    if "depth" in sides:
        failed = {failure["spec"] for failure in results["failures"]}
        verifiers = [each for each in named or chosen_verifiers(None) if each.spec not in failed]
        found = depths.of_shapes(problem, rows, verifiers, schemes, settings, store, given.options)
        if found is None:
            return cut_short(len(rows), len(cells), "rows", resume)
        for shape, lines in found:
            console.print(depths.table(lines, f"{problem}, {shape}, {arithmetic}", getattr(shape, "L1", 0)))
        results["by_depth"] = [line for _, lines in found for line in lines]
    return _write(console, results, str(problem), json_target, files)


def _ranges(
    problem: World, kind: tuple[str | None, ...], sizes: tuple[str | None, ...]
) -> tuple[Callable[..., DraftScheme], dict[str, Sequence[int]]]:
    """The function that builds a scheme from K, L1 and L2, and their ranges; by default those of an instance file."""
    if not any((*kind, *sizes)) and isinstance(problem, FileWorld) and problem.instance.scheme:
        kind = (scheme_spec(problem.instance.scheme), None, None)
    scheme, tree, confidence = kind
    named = zip(("K", "L1", "L2"), sizes, strict=True)
    return (
        lambda **shape: planned(opt.build_scheme(scheme or "delayed", tree, confidence, **shape), problem),
        {flag: parse_range(text, f"--{flag}") for flag, text in named if text},
    )


def _costs(cost: str | None, schemes: Sequence[DraftScheme]) -> TimeModel | None:
    """The times of passes, if `--cost` gives them."""
    costs = time_model(cost) if cost else None
    if costs:
        costs.check(schemes)
    return costs


def _policies(wanted: PolicyRequest | None, rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """The rows of policies, and False if Ctrl-C ended it early."""
    try:
        return ([] if wanted is None else policy_rows(wanted, rows)), True
    except KeyboardInterrupt:
        return [], False


def _show(
    console: Console, rows: Sequence[dict[str, Any]], policies: Sequence[dict[str, Any]], title: str, by_root: bool
) -> None:
    """Print the tables; nothing if there is no row."""
    if not rows:
        return
    short = len(rows) <= tables.MAX_ROWS
    console.print(printable(title), soft_wrap=True)
    if short:
        console.print(tables.compare_table([*rows, *policies]))
    else:
        console.print(f"{len(rows):,} rows are too many to print; --csv or --json FILE has them all")
    if "speedup" in rows[0] or not short:
        console.print(tables.best_table(rows))
    if policies:
        console.print(tables.policies_table(policies))
    if "groups" in rows[0] and short:
        console.print(tables.groups_table(rows))
        if policies:
            console.print(tables.groups_table(policies))
    if by_root:
        console.print(tables.roots_table(rows))


def _write(
    console: Console, results: dict[str, Any], caption: str, json_target: str | None, files: Mapping[str, str | None]
) -> int:
    """Write the output files. files: path by flag."""
    write_json(json_target, results)
    for line in write_files(results["rows"], caption, files):
        console.print(line)
    return 0
