"""`draftproof policies`: the exact value of every policy with every verifier on one Markov pair."""

import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.cli.compare import planning, tables, work
from draftproof.experiments.cli.compare.policies import policy_rows, wanted_policies
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.policies import UserPolicy, markov_pair_of, shapes_of, user_policy
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings, chosen_verifiers, from_file
from draftproof.experiments.models.policies.baselines import BASELINES, Baseline
from draftproof.experiments.models.policies.roots import AT_ROOTS
from draftproof.experiments.models.policies.values import actions_of, tables_of, valued_rows
from draftproof.experiments.shared.output import check_files, short, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, bar, console_for, named_errors, remark
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

#: Number of most used actions in the table.
MAX_NAMED = 3
#: The label of policies that also choose the verifier.
ANY_VERIFIER = "any of them"


def table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """One line a policy, in the order given, by verifier."""
    checked = any(row["lossless"] is not None for row in rows)
    view = Table(title=title, title_justify="left", caption_justify="left")
    view.add_column("verifier")
    view.add_column("policy")
    for heading in ("tokens per time", "over static", "regret", "held out", "tokens a block", "used"):
        view.add_column(heading, justify="right")
    view.add_column("most used: K, L1, L2 and % of the blocks")
    if checked:
        view.add_column("lossless")
    for number, row in enumerate(rows):
        begins = number == 0 or rows[number - 1]["verifier"] != row["verifier"]
        if begins and number:
            view.add_section()
        cells = [row["verifier"] if begins else "", row["policy"], *(_numbers(row) if row["used"] else [""] * 7)]
        view.add_row(*cells, *([_verdict(row)] if checked else []))
    view.caption = (
        "over static: against the best static action. regret: share lost to the best of all policies; "
        "held out: regret where the\nlearner has not seen the state. used: number of actions in use."
    )
    return view


def _numbers(row: dict[str, Any]) -> list[str]:
    return [
        f"{row['tokens_per_time_float']:.6f}",
        f"{row['over_static']:+.2%}",
        f"{row['regret']:.3%}",
        "" if row["held_out_regret"] is None else f"{row['held_out_regret']:.3%}",
        short(row["block_efficiency_float"]),
        str(row["used"]),
        _shares_text(row["actions"], several=row["verifier"] == ANY_VERIFIER),
    ]


def _shares_text(actions: dict[str, float], several: bool) -> str:
    parts = []
    for action, share in list(actions.items())[:MAX_NAMED]:
        verifier, _, scheme = action.partition(" on ")
        name, _, shape = scheme.rstrip(")").partition("(")
        numbers = ", ".join(part.partition("=")[2] for part in shape.split(", ")[:3])
        numbers = numbers if name == "delayed" else f"{name} {numbers}"
        which = f"{verifier} " if several else ""
        parts.append(f"{which}{numbers} {share:.0%}")
    return "; ".join(parts)


def _verdict(row: dict[str, Any]) -> str:
    if row["lossless"] is None:
        return ""
    return f"{row['blocks_checked']} blocks" if row["lossless"] else "REFUTED"


_SHAPE: Any = {"rich_help_panel": "Shapes to choose from"}

#: The verifiers if none are named.
DEFAULT_VERIFIERS = ["specinfer", "block", "traversal"]

Chosen = Annotated[
    list[str] | None, typer.Argument(metavar="[VERIFIER]...", help=f"Default: {', '.join(DEFAULT_VERIFIERS)}.")
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help=f"{', '.join(BASELINES)} or FILE.py:NAME; of models {', '.join(AT_ROOTS)}, selector. May be repeated.",
    ),
]
BranchRange = Annotated[str, typer.Option("--K", help="Branches, as 2 or 1..4.", **_SHAPE)]
TrunkRange = Annotated[str, typer.Option("--L1", help="Trunk lengths.", **_SHAPE)]
LengthRange = Annotated[str, typer.Option("--L2", help="Branch lengths.", **_SHAPE)]
SchemeSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--scheme",
        metavar="SPEC",
        help="Branches beside the delayed trees, as stratified:K=2,L1=0,L2=1, for verifiers that declare to be "
        "lossless on them. May be repeated.",
        **_SHAPE,
    ),
]
MaxNodes = Annotated[int | None, typer.Option(min=0, help="Only shapes of at most N drafted tokens.", **_SHAPE)]
Times = Annotated[str, typer.Option(help="Times as draft=1,branch=.1,target=10,node=.1 or a JSON file.", **_SHAPE)]
Overhead = Annotated[float, typer.Option(min=0, help="Time that choosing takes in every block.", **_SHAPE)]
Together = Annotated[bool, typer.Option("--together", help="Also choose among the verifiers, block by block.")]
Blocks = Annotated[
    int, typer.Option("--check", min=0, help="Number of blocks of every policy that are checked for losslessness.")
]


@with_groups()
def policies(
    chosen: Chosen = None,
    *,
    wanted: PolicyNames = None,
    given: Given,
    K: BranchRange = "1..3",
    L1: TrunkRange = "0..2",
    L2: LengthRange = "0..2",
    max_nodes: MaxNodes = None,
    scheme: SchemeSpecs = None,
    cost: Times = "draft=1,branch=.1,target=10,node=.1",
    overhead: Overhead = 0.0,
    together: Together = False,
    blocks: Blocks = 0,
    arithmetic: opt.ArithmeticName = "float64",
    json_target: opt.JsonTarget = None,
) -> int:
    """Exact tokens per time of policies that choose a shape for every block, beside the best one there is.

    With models, the value is a mean over the first blocks after the roots of a text or after prompts.
    """
    check_files(given.inputs, {"--json": json_target})
    named = chosen_verifiers(chosen or DEFAULT_VERIFIERS)
    if given.models:
        others = {"--together": together, "--check": blocks, "--overhead": overhead, "--scheme": scheme}
        if wrong := [flag for flag, value in others.items() if value]:
            raise InvalidInput(f"{wrong[0]} is for sequences of blocks; with models leave it out")
        return _at_roots(named, wanted, given, shapes_of(K, L1, L2, max_nodes), cost, arithmetic, json_target)
    baselines = _baselines(wanted, arithmetic)
    problem = choose_problem(given)
    world = markov_pair_of(problem, arithmetic_named(arithmetic))
    schemes = [*shapes_of(K, L1, L2, max_nodes), *map(find_scheme, dict.fromkeys(scheme or ()))]
    times = time_model(cost)
    times.check(schemes)
    groups = [(verifier.label, [verifier]) for verifier in named]
    if together and len(named) > 1:
        groups.append((ANY_VERIFIER, named))
    remark(
        f"{len(schemes)} shapes, {world.histories:,} states of {world.order} tokens, "
        f"{sum(len(g) for _, g in groups)} x {len(schemes)} tables of {world.histories * world.states:,} numbers"
    )
    rows: list[dict[str, Any]] = []
    with bar("tables", sum(len(actions_of(group, schemes)) for _, group in groups)) as tick:
        for label, group in groups:
            with named_errors(label):
                valued = tables_of(world, group, schemes, times, tick)
                rows += valued_rows(label, valued, baselines, overhead, blocks)
    write_json(json_target, {"rows": rows})
    console = console_for(json_target)
    console.print(
        table(rows, f"{getattr(problem, 'without_roots', problem)}, {arithmetic}, {len(schemes)} shapes, {cost}")
    )
    refuted = [row for row in rows if row["lossless"] is False]
    for row in refuted:
        console.print(f"{row['policy']} with {row['verifier']}: REFUTED, {row['violation']}")
    return 1 if refuted else 0


def _at_roots(
    named: Sequence[NamedVerifier],
    wanted: Sequence[str] | None,
    given: Given,
    schemes: Sequence[DraftScheme],
    cost: str,
    arithmetic: str,
    json_target: str | None,
) -> int:
    """Policies of a pair of models, computed as `compare --policy` does."""
    times, problem = time_model(cost), choose_problem(given)
    times.check(schemes)
    policies = wanted_policies(wanted or list(AT_ROOTS), problem, given.pair, named, schemes, arithmetic, times)
    assert policies is not None
    settings = Settings(arithmetic, "auto", jobs=os.cpu_count() or 1)
    cells = planning.all_cells(problem, policies.verifiers, policies.schemes, settings, False)
    store = Store(None, ("law",))
    if not work.compute_all(problem, cells, settings, store, given.options):
        return INTERRUPTED
    rows = policy_rows(policies, [store[cell.strong_id] for cell in cells])
    write_json(json_target, {"rows": rows})
    console = console_for(json_target)
    console.print(f"{problem}, {arithmetic}, {len(policies.schemes)} shapes, {cost}", soft_wrap=True)
    console.print(tables.policies_table(rows))
    if "groups" in rows[0]:
        console.print(tables.groups_table(rows))
    refuted = list(dict.fromkeys(row["verifier"] for row in rows if not row["lossless"]))
    for label in refuted:
        console.print(f"{label}: REFUTED; draftproof check {label} has the witness")
    return 1 if refuted else 0


def _baselines(wanted: Sequence[str] | None, arithmetic: str) -> list[Any]:
    """The policies by name or file; raises `InvalidInput` for unknown ones and for learners in exact arithmetic."""
    exact = arithmetic_named(arithmetic).exact
    if not wanted:
        return [baseline for baseline in BASELINES.values() if not (exact and baseline.learner)]
    chosen: list[Baseline | UserPolicy] = []
    for spec in dict.fromkeys(wanted):
        if from_file(spec):
            chosen.append(user_policy(spec))
        elif spec not in BASELINES:
            raise InvalidInput(f"unknown policy {spec!r}; known: {', '.join(BASELINES)}, or FILE.py:NAME for your own")
        elif exact and BASELINES[spec].learner:
            raise InvalidInput(f"policy {spec} is fitted in floats; use --arithmetic float64")
        else:
            chosen.append(BASELINES[spec])
    return chosen
