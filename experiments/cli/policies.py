"""`draftproof policies`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.policies import Own, own_policy, shapes_of, world_of
from draftproof.experiments.inputs.sources import Problem
from draftproof.experiments.inputs.verifiers import chosen_verifiers, from_file
from draftproof.experiments.models.policies.rivals import RIVALS, Rival
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import bar, console_for, named_errors, remark
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import InvalidInput

_SHAPE: Any = {"rich_help_panel": "Shapes to choose from"}

#: Verifiers without being asked.
USUAL = ["specinfer", "block", "traversal"]

Chosen = Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help=f"Default: {', '.join(USUAL)}.")]
Wanted = Annotated[
    list[str] | None, typer.Option("--policy", help=f"{', '.join(RIVALS)} or FILE.py:NAME; may be repeated.")
]
BranchRange = Annotated[str, typer.Option("--K", help="Branches, as 2 or 1..4.", **_SHAPE)]
TrunkRange = Annotated[str, typer.Option("--L1", help="Trunk lengths.", **_SHAPE)]
LengthRange = Annotated[str, typer.Option("--L2", help="Branch lengths.", **_SHAPE)]
MaxNodes = Annotated[int | None, typer.Option(min=0, help="Only shapes of at most N drafted tokens.", **_SHAPE)]
Times = Annotated[str, typer.Option(help="Times as draft=1,branch=.1,target=10,node=.1 or a JSON file.", **_SHAPE)]
Overhead = Annotated[float, typer.Option(min=0, help="Time that choosing takes in every block.", **_SHAPE)]
Together = Annotated[bool, typer.Option("--together", help="Also choose among the verifiers, block by block.")]
Blocks = Annotated[int, typer.Option("--check", min=0, help="Check so many blocks of every policy for losslessness.")]


@with_groups()
def policies(
    chosen: Chosen = None,
    *,
    wanted: Wanted = None,
    given: Given,
    K: BranchRange = "1..3",
    L1: TrunkRange = "0..2",
    L2: LengthRange = "0..2",
    max_nodes: MaxNodes = None,
    cost: Times = "draft=1,branch=.1,target=10,node=.1",
    overhead: Overhead = 0.0,
    together: Together = False,
    blocks: Blocks = 0,
    arithmetic: opt.ArithmeticName = "float64",
    json_target: opt.JsonTarget = None,
) -> int:
    """Exact tokens per time of policies that choose a shape for every block, beside the best one there is."""
    from draftproof.experiments.cli import policies_views as views
    from draftproof.experiments.cli import policies_work as valuing

    check_files((given.instance, given.text), {"--json": json_target})
    named = chosen_verifiers(chosen or USUAL)
    rivals = _rivals(wanted, arithmetic)
    problem = choose_problem(given)
    world = world_of(problem, arithmetic_named(arithmetic))
    schemes = shapes_of(K, L1, L2, max_nodes)
    times = time_model(cost)
    times.check(schemes)
    groups = [(each.label, [each]) for each in named]
    if together and len(named) > 1:
        groups.append((views.TOGETHER, named))
    remark(
        f"{len(schemes)} shapes, {world.histories:,} states of {world.order} tokens, "
        f"{sum(len(g) for _, g in groups)} x {len(schemes)} tables of {world.histories * world.states:,} numbers"
    )
    rows: list[dict[str, Any]] = []
    with bar("tables", sum(len(group) for _, group in groups) * len(schemes)) as tick:
        for label, group in groups:
            with named_errors(label):
                tables = valuing.tables_of(world, group, schemes, times, tick)
                rows += valuing.rows(label, tables, rivals, overhead, blocks)
    write_json(json_target, {"rows": rows})
    console = console_for(json_target)
    console.print(views.table(rows, f"{_named(problem)}, {arithmetic}, {len(schemes)} shapes, {cost}"))
    refuted = [row for row in rows if row["lossless"] is False]
    for row in refuted:
        console.print(f"{row['policy']} with {row['verifier']}: REFUTED, {row['violation']}")
    return 1 if refuted else 0


def _named(problem: Problem) -> str:
    """The problem without the roots of its text: in the long run they do not matter."""
    return str(problem).partition(", 8 most frequent roots")[0]


def _rivals(wanted: Sequence[str] | None, arithmetic: str) -> list[Any]:
    """The policies meant; raises `InvalidInput` for unknown ones, and for learners where numbers are exact."""
    exact = arithmetic_named(arithmetic).exact
    if not wanted:
        return [rival for rival in RIVALS.values() if not (exact and rival.learner)]
    found: list[Rival | Own] = []
    for spec in dict.fromkeys(wanted):
        if from_file(spec):
            found.append(own_policy(spec))
        elif spec not in RIVALS:
            raise InvalidInput(f"unknown policy {spec!r}; known: {', '.join(RIVALS)}, or FILE.py:NAME for your own")
        elif exact and RIVALS[spec].learner:
            raise InvalidInput(f"policy {spec} is fitted in floats; use --arithmetic float64")
        else:
            found.append(RIVALS[spec])
    return found
