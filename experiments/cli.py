"""The command line: `draftproof list`, `check` and `compare`."""

from __future__ import annotations

import os
import sys
import traceback
from functools import partial
from importlib.metadata import version
from itertools import combinations
from typing import Annotated

import typer
from rich.console import Console

import verifiers
from experiments import options as opt
from experiments.names import NamedVerifier, find_verifier, parse_range
from experiments.output import check_files, write_json
from experiments.problem import FileProblem
from experiments.progress import INTERRUPTED, remark
from experiments.rows import RowFile
from simulator.arithmetic import arithmetic_named
from simulator.errors import DraftproofError, InvalidInput
from simulator.lossless import choose_engine
from simulator.schemes import SCHEMES

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Exact answers about speculative-decoding verifiers: is it lossless, and how many tokens does a block bring?",
)

INTERNAL = 70


def main() -> None:
    """Run a command: exit 0 on success, 1 when a verifier is refuted, 2 on bad input, 130 on Ctrl-C, 70 on a fault."""
    sys.set_int_max_str_digits(0)  # exact averages can have many thousand digits
    try:
        code = app(standalone_mode=False)
    except DraftproofError as error:
        code = _complain(str(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except typer.Abort:
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not hasattr(error, "format_message"):  # not one of the command-line parser's: a fault of our own
            traceback.print_exc()
            sys.exit(INTERNAL)
        message = error.format_message()  # empty where the help was shown instead
        code = _complain(message) if message else 2
    sys.exit(code)


def _complain(message: str) -> int:
    remark(f"draftproof: {' '.join(message.split())}")
    return 2


def _console(json_target: str | None) -> Console:
    """Standard output, silent where JSON goes there; wide when it is no terminal, so that tables do not wrap."""
    width = None if sys.stdout.isatty() else 140
    return Console(width=width, markup=False, highlight=False, quiet=json_target == "-")


def _verifiers(chosen: list[str] | None) -> list[NamedVerifier]:
    """Those asked for, or the whole registry; raises `InvalidInput` where two bear one name."""
    named = [find_verifier(spec) for spec in (dict.fromkeys(chosen) if chosen else verifiers.REGISTRY)]
    for other, each in combinations(named, 2):
        if each.label == other.label:
            raise InvalidInput(f"{other.spec} and {each.spec} are both called {each.label!r}; rename one card")
    return named


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"draftproof {version('draftproof')}\n")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command("list")
def list_command(json_target: opt.JsonTarget = None) -> int:
    """Verifiers, schemes and processes, with their cards."""
    from experiments.catalogue import catalogue_fields, show_catalogue

    check_files((), {"--json": json_target})
    write_json(json_target, catalogue_fields())
    show_catalogue(_console(json_target))
    return 0


@app.command()
def check(
    verifier: Annotated[
        str, typer.Argument(help="A name from `list` (relaxed:w=1/2 sets a parameter), or FILE.py:NAME.")
    ],
    instance: opt.InstanceFile = None,
    text: opt.TextFile = None,
    family: opt.Family = None,
    vocab: opt.Vocab = None,
    seed: opt.Seed = 0,
    target_order: opt.TargetOrder = None,
    draft_order: opt.DraftOrder = None,
    root: opt.RootText = None,
    roots: opt.Roots = None,
    denominator: opt.Denominator = None,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Check N random instances of the family; a failure is shrunk.")
    ] = None,
    exhaustive: Annotated[
        int | None, typer.Option(min=1, help="Check every instance whose probabilities are multiples of 1/D.")
    ] = None,
    scheme: opt.Scheme = None,
    tree: opt.Tree = None,
    confidence: opt.Confidence = None,
    K: Annotated[int | None, typer.Option("--K", help="Branches (default 2).", rich_help_panel="Scheme")] = None,
    L1: Annotated[int | None, typer.Option("--L1", help="Trunk length (default 0).", rich_help_panel="Scheme")] = None,
    L2: Annotated[int | None, typer.Option("--L2", help="Branch length (default 2).", rich_help_panel="Scheme")] = None,
    arithmetic: opt.ArithmeticName = "rational",
    engine: opt.Engine = "auto",
    max_runs: opt.MaxRuns = 20_000_000,
    witness: Annotated[
        str | None, typer.Option(help="Where to save a witness (default: a name made from its content).")
    ] = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is VERIFIER lossless? Exit 0: lossless on every instance; 1: refuted, with a witness; 2: bad input."""
    from experiments import checking, verdicts

    check_files((instance, text), {"--json": json_target, "--witness": witness or "witness.json"})
    named = find_verifier(verifier)
    problem = opt.choose_problem(
        instance=instance,
        text=text,
        family=family,
        vocab=vocab,
        seed=seed,
        target_order=target_order,
        draft_order=draft_order,
        root=root,
        roots=roots,
        denominator=20 if instances is not None and denominator is None else denominator,
    )
    shape = opt.choose_scheme(scheme, tree, confidence, problem, K=K, L1=L1, L2=L2)
    arithmetic_named(arithmetic)
    if exhaustive is not None and (family or seed or denominator):
        raise InvalidInput(
            "--exhaustive takes every instance of its grid; leave out --family, --seed and --denominator"
        )
    stream = checking.choose_stream(problem, shape.depth, instances, exhaustive)
    source = {**problem.source, "instances": instances} if exhaustive is None else {"exhaustive": exhaustive}
    report = checking.Report(
        named,
        shape,
        arithmetic,
        choose_engine(named.verifier, engine),
        stream,
        source,
    )
    checking.announce(report, max_runs)
    checking.run(report)
    return verdicts.deliver(_console(json_target), report, problem, witness, json_target)


@app.command()
def compare(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    instance: opt.InstanceFile = None,
    text: opt.TextFile = None,
    family: opt.Family = None,
    vocab: opt.Vocab = None,
    seed: opt.Seed = 0,
    target_order: opt.TargetOrder = None,
    draft_order: opt.DraftOrder = None,
    root: opt.RootText = None,
    roots: opt.Roots = None,
    denominator: opt.Denominator = None,
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
    max_runs: opt.MaxRuns = 20_000_000,
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

    outputs = {"--csv": csv_file, "--latex": latex_file, "--markdown": markdown_file, "--plot": plot_file}
    check_files((instance, text), {"--resume": resume, "--json": json_target, **outputs})
    named = _verifiers(chosen)
    problem = opt.choose_problem(
        instance=instance,
        text=text,
        family=family,
        vocab=vocab,
        seed=seed,
        target_order=target_order,
        draft_order=draft_order,
        root=root,
        roots=roots,
        denominator=denominator,
    )
    if not any((scheme, tree, confidence, K, L1, L2)) and isinstance(problem, FileProblem) and problem.instance.scheme:
        scheme, K, L1, L2, tree, confidence = opt.flags_of(problem.instance.scheme)
    ranges = {flag: parse_range(text, f"--{flag}") for flag, text in (("K", K), ("L1", L1), ("L2", L2)) if text}
    schemes = comparing.shapes(
        partial(opt.build_scheme, scheme or "delayed", tree, confidence), ranges, budget, max_nodes
    )
    settings = comparing.Settings(arithmetic, engine, jobs, max_runs)
    kept = RowFile(resume)
    tasks = comparing.plan(problem, named, schemes, settings)
    complete = comparing.compute_all(problem, tasks, settings, kept)
    rows = [kept.rows[task.strong_id] for task in tasks if task.strong_id in kept.rows]
    if not rows:
        remark("interrupted before the first row was done")
        return INTERRUPTED
    console = _console(json_target)
    console.print(tables.compare_table(rows, f"{problem}, {arithmetic}"))
    if by_root:
        console.print(tables.roots_table(rows))
    if not complete:
        where = f"; they are kept in {resume}" if resume else "; --resume FILE would keep them for next time"
        remark(f"interrupted after {len(rows)} of {len(tasks)} rows{where}; no other file was written")
        return INTERRUPTED
    write_json(json_target, {"rows": rows})
    for line in write_files(rows, str(problem), outputs):
        console.print(line)
    return 0


@app.command()
def matrix(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Random instances a case, beside the corner cases.")] = 8,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every draft scheme: lossless (proved on n instances), a witness, or not defined."""
    from experiments import matrix as cells_of

    check_files((), {"--json": json_target})
    named = _verifiers(chosen)
    cells = cells_of.compute(named, instances)
    rows = [each for each in named for _ in SCHEMES]
    write_json(json_target, {"cells": [cells_of.cell_fields(cell, row) for cell, row in zip(cells, rows, strict=True)]})
    cells_of.show(_console(json_target), named, cells)
    return 0
