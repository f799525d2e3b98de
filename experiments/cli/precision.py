"""`draftproof precision`: the exact bias, as total variation, of verifiers that compute in low precision."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftproof.experiments.grid.cost import check_runs
from draftproof.experiments.grid.rows import largest, strong_id, versions
from draftproof.experiments.grid.run import Executor, Task, rows_of, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings, chosen_verifiers
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.output import check_files, number_fields, write_json
from draftproof.experiments.shared.progress import Tick, bar, console_for, cut_short, named_errors
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.precision import (
    Breakdown,
    Precision,
    estimate_precision_size,
    low_precision_law,
    precision_named,
    rows_bias,
)
from draftproof.simulator.protocol import DraftScheme

_LEGEND = (
    "bias: exact total variation of the first L + 1 tokens from the target, continued by the target after the block.\n"
    "deviation: largest violation of the balance equation. Both are the largest over all roots.\n"
    "Draft trees and coins are exact: the errors are those of the rounded rows and of the rounded arithmetic.\n"
    "rounded rows alone: L + 1 tokens drawn from the rounded target; where exact, all bias comes from the arithmetic."
)


#: Draft trees on which the cost of a row is estimated.
_SAMPLES = 6


@dataclass(frozen=True)
class RowPlan:
    """One row to compute: a verifier in a precision. trees: how many draft trees the roots have."""

    verifier: NamedVerifier
    precision: Precision
    strong_id: str
    trees: int
    runs: float
    seconds: float


def parse_precisions(text: str) -> list[Precision]:
    """The precisions of a text such as `"float32,float16"`; raises `InvalidInput`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InvalidInput(f"--precision {text!r} names none; write one or more, as float32,float16")
    return [precision_named(name) for name in dict.fromkeys(names)]


def cases(problem: World, scheme: DraftScheme) -> list[Case]:
    """The roots of a problem with their exact rows; raises `TooLarge` where there are too many."""
    roots = [root.on(scheme) for root in problem.cases(scheme.depth, RATIONAL)]
    for root in roots:
        _ = root.instance  # too large ones are refused here
    return roots


def planned_rows(
    problem: World,
    roots: Sequence[Case],
    chosen: Sequence[NamedVerifier],
    scheme: DraftScheme,
    precisions: Sequence[Precision],
    settings: Settings,
) -> list[RowPlan]:
    """Every row to compute with its estimated cost; raises `TooLarge` for a verifier that has too many runs."""
    plans = []
    instance = roots[0].instance
    for named in chosen:
        for precision in precisions:
            started = time.perf_counter()
            with named_errors(f"{named.label} on {scheme}"):
                size = estimate_precision_size(
                    named.verifier,
                    instance.target,
                    instance.draft,
                    scheme,
                    precision,
                    np.random.default_rng(0),
                    _SAMPLES,
                )
            seconds_a_run = (time.perf_counter() - started) / (_SAMPLES * size.runs_per_tree)
            runs = size.runs * len(roots)
            check_runs(named, scheme, settings, runs * len(precisions), instance.vocab_size)
            fields = {
                "roots": [case.identity(scheme.depth, problem.source) for case in roots],
                "version": version("draftproof"),
                "verifier": named.identity,
                "scheme": scheme.as_dict(),
                "precision": precision.name,
            }
            plans.append(
                RowPlan(named, precision, strong_id(fields), size.trees * len(roots), runs, runs * seconds_a_run)
            )
    return plans


def compute_all(
    problem: World, roots: Sequence[Case], scheme: DraftScheme, plans: Sequence[RowPlan], resume: str | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The rows, with a bar over draft trees, and whether they are complete: Ctrl-C ends it early. resume: a store."""
    store, tasks = Store(resume, ("precision",)), [Task((plan.strong_id,), plan, plan.seconds) for plan in plans]
    with bar("draft trees", sum(plan.trees for plan in plans)) as tick:
        executor = Executor[RowPlan](lambda plan: _row(problem, roots, scheme, plan, tick))
        runs = f"about {sum(plan.runs for plan in plans):,.0f} runs"
        complete = run(tasks, store, executor, message=runs, shown=False)
    return rows_of(tasks, store), complete


def _row(problem: World, roots: Sequence[Case], scheme: DraftScheme, plan: RowPlan, tick: Tick) -> dict[str, Any]:
    started = time.perf_counter()
    by_root = [_root_fields(case, scheme, plan, tick) for case in roots]
    breaks = next((fields["breaks"] for fields in by_root if fields["breaks"]), None)
    known = by_root if breaks is None else []
    return {
        "kind": "precision",
        "verifier": plan.verifier.label,
        "scheme": scheme.as_dict(),
        "precision": plan.precision.name,
        "status": "breaks" if breaks else "measured",
        **_largest("total_variation", known),
        **_largest("max_deviation", known),
        "breaks": breaks,
        "roots": by_root,
        "source": problem.source,
        "strong_id": plan.strong_id,
        "versions": {**versions(), **({"torch": version("torch")} if plan.precision.of_torch else {})},
        "seconds": round(time.perf_counter() - started, 3),
    }


def _largest(name: str, by_root: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return number_fields(name, largest([Fraction(fields[name]) for fields in by_root]) if by_root else None)


def _root_fields(case: Case, scheme: DraftScheme, plan: RowPlan, tick: Tick) -> dict[str, Any]:
    target, draft = case.instance.target, case.instance.draft
    variation = deviation = breaks = None
    with named_errors(f"{plan.verifier.label} at {plan.precision.name} on {scheme}, root {case.name!r}"):
        try:
            law = low_precision_law(plan.verifier.verifier, target, draft, scheme, plan.precision, tick)
            variation, deviation = law.total_variation(target), law.max_deviation(target)
        except Breakdown as broken:
            breaks = {
                "root": case.name,
                "tree": {",".join(map(str, context)): list(tokens) for context, tokens in broken.tree.items()},
                "reason": broken.reason,
                **number_fields("probability", broken.probability),
            }
    return {
        "root": case.name,
        **number_fields("weight", case.weight),
        **number_fields("total_variation", variation),
        **number_fields("max_deviation", deviation),
        "breaks": breaks,
    }


def precision_fields(roots: Sequence[Case], precisions: Sequence[Precision]) -> list[dict[str, Any]]:
    """For each precision whether it represents the rows exactly, and the bias of rounding the rows alone."""
    return [
        {
            "precision": precision.name,
            "significant_bits": precision.bits,
            "rows_exact": all(
                precision.holds(process) for case in roots for process in (case.instance.target, case.instance.draft)
            ),
            **number_fields("rows_bias", max(rows_bias(case.instance.target, precision) for case in roots)),
        }
        for precision in precisions
    ]


def show(console: Console, title: str, precisions: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> None:
    """Print a line for each verifier with two columns for each precision, then the verifiers that break down."""
    table = Table(title=title, title_justify="left")
    table.add_column("verifier")
    for each in precisions:
        table.add_column(f"{each['precision']}\nbias", justify="right")
        table.add_column("\ndeviation", justify="right")
    alone = [("exact" if each["rows_exact"] else _rounded(each["rows_bias_float"]), "") for each in precisions]
    table.add_row("rounded rows alone", *(cell for pair in alone for cell in pair), style="dim", end_section=True)
    for name in dict.fromkeys(row["verifier"] for row in rows):
        by_precision = {row["precision"]: row for row in rows if row["verifier"] == name}
        table.add_row(name, *(cell for each in precisions for cell in _cells(by_precision.get(each["precision"]))))
    console.print(table)
    console.print(_LEGEND, style="dim", soft_wrap=True)
    for line in _broken(rows):
        console.print(line, soft_wrap=True)


def _cells(row: dict[str, Any] | None) -> tuple[str | Text, str | Text]:
    if row is None:  # not computed before Ctrl-C
        return "", ""
    if row["status"] == "breaks":
        return Text("breaks", style="red"), ""
    return _rounded(row["total_variation_float"]), _rounded(row["max_deviation_float"])


def _rounded(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _broken(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["breaks"] is not None:
            breaks = row["breaks"]
            drafted = "; ".join(f"after ({context}) {tokens}" for context, tokens in breaks["tree"].items())
            yield (
                f"{row['verifier']} breaks at {row['precision']}, root {breaks['root']!r}, "
                f"on draft trees of probability {breaks['probability_float']:.2g}; the first: {drafted or 'empty'}; "
                f"{breaks['reason']}"
            )


Denominator = Annotated[
    int | None,
    typer.Option(
        help="Common denominator of all probabilities (default 256: exact in every precision).",
        rich_help_panel="Instance",
    ),
]


@with_groups(denominator=Denominator)
def precision(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all that are lossless on the scheme.")
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    names: Annotated[
        str,
        typer.Option(
            "--precision", help="Of float64, float32, float16, bfloat16 (torch).", rich_help_panel="How to compute"
        ),
    ] = "float64,float32,float16",
    max_runs: opt.MaxRuns = 20_000_000,
    resume: opt.Resume = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """The exact bias of verifiers that compute in low precision, with exact draft trees and exact coins."""
    from draftproof.simulator.laws.precision import EXACT_DENOMINATOR

    check_files(given.inputs, {"--json": json_target, "--resume": resume})
    precisions = parse_precisions(names)
    if given.denominator is None and given.instance is None:
        given = replace(given, denominator=EXACT_DENOMINATOR)
    problem = choose_problem(given)
    scheme = opt.choose_scheme(shape, problem)
    named = [one for one in chosen_verifiers(chosen) if chosen or scheme.name in lossless_for(one.verifier.card)]
    if not named:
        raise InvalidInput(f"no verifier of the registry is lossless on {scheme}; name the verifiers")
    settings = opt.choose_settings("rational", "enumerate", max_runs, 4.0, "numpy", 1)
    roots = cases(problem, scheme)
    plans = planned_rows(problem, roots, named, scheme, precisions, settings)
    rows, complete = compute_all(problem, roots, scheme, plans, resume)
    fields = precision_fields(roots, precisions)
    show(console_for(json_target), f"{problem}, {scheme}", fields, rows)
    if not complete:
        return cut_short(len(rows), len(plans), "rows", resume)
    write_json(json_target, {"precisions": fields, "rows": rows})
    return 0
