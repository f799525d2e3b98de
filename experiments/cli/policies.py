"""`draftproof policies`: the exact value of every policy with every verifier on one Markov pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.latency import TimeModel, time_model
from draftproof.experiments.inputs.policies import Own, own_policy, shapes_of, world_of
from draftproof.experiments.inputs.sources import Problem
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers, from_file
from draftproof.experiments.models.policies.fitted import state_scalars
from draftproof.experiments.models.policies.rivals import RIVALS, Rival, choices
from draftproof.experiments.shared.output import check_files, number_fields, short, write_json
from draftproof.experiments.shared.progress import bar, console_for, named_errors, remark
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.optimal import best_static, policy_iteration
from draftproof.simulator.policies.policy import Action, ByState, Policy
from draftproof.simulator.policies.several import SeveralBlocks, several_blocks
from draftproof.simulator.policies.value import Value, value
from draftproof.simulator.protocol import DraftScheme, Progress


def tables_of(
    world: MarkovPair, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], times: TimeModel, tick: Progress
) -> Tables:
    """What each verifier does on each shape; raises `InvalidInput` for one that does not claim to be lossless there."""
    actions = []
    for each, scheme in product(named, schemes):
        card = each.verifier.card
        if scheme.name not in lossless_for(card):
            raise InvalidInput(
                f"{each.label} does not claim to be lossless on {scheme}, so its tokens per time do not count; "
                "leave it out"
            )
        actions.append(Action(scheme, each.verifier))
    model = times.exact() if world.arithmetic.exact else times
    return world.tables(actions, lambda action: model.time(action.scheme.as_dict()), tick)


@dataclass(frozen=True)
class Judged:
    """A policy in a world. found: None for one that is refuted. held_out: the rate where no state was seen in fitting.

    checked: its first blocks.
    """

    name: str
    found: Value | None
    choice: Any
    held_out: float | None = None
    checked: SeveralBlocks | None = None


def judged(tables: Tables, policies: Sequence[Rival | Own], overhead: float, blocks: int) -> list[Judged]:
    """Every policy, valued exactly. overhead: time a block for all that look at anything. blocks: that are checked.

    A policy of one's own that takes other actions than those given cannot be valued; it is checked first.
    """
    X = state_scalars(tables.pair) if any(isinstance(each, Rival) and each.learner for each in policies) else None
    return [_judged(tables, each, X, overhead, blocks) for each in policies]


def _judged(tables: Tables, policy: Rival | Own, X: Any, overhead: float, blocks: int) -> Judged:
    world = tables.pair
    spent = 0 if policy.name == "static" else Fraction(repr(overhead))
    if isinstance(policy, Own):
        checked = first_blocks(world, policy.bound(tables.actions), blocks)
        if checked is not None and not checked.lossless:
            return Judged(policy.name, None, (), None, checked)
        choice = world.choices(policy.bound(tables.actions), tables.actions)
        return Judged(policy.name, value(tables, choice, policy.name, spent), choice, None, checked)
    choice, unseen = choices(policy, tables, X)
    held_out = None if unseen is None else float(value(tables, unseen, policy.name, spent).rate)
    table = ByState(tables.actions, tuple(map(int, choice)), world.vocab_size, world.window, policy.name)
    checked = first_blocks(world, table, blocks)
    return Judged(policy.name, value(tables, choice, policy.name, spent), choice, held_out, checked)


def first_blocks(world: MarkovPair, policy: Policy, blocks: int) -> SeveralBlocks | None:
    """The first blocks from the world's first state, exactly in its arithmetic; None where none are asked for."""
    if blocks == 0:
        return None
    target, draft = world.processes(0)
    before = (0,) * (world.window - world.order)
    return several_blocks(policy, target, draft, blocks, world.arithmetic.name, start=before)


def row(name: str, tables: Tables, each: Judged, static: Any, best: Any) -> dict[str, Any]:
    """A policy as programs read it: rates, what it gains over the best static action and loses to the best policy."""
    found, checked = each.found, each.checked
    return {
        "verifier": name,
        "policy": each.name,
        **number_fields("tokens_per_time", None if found is None else found.rate),
        **number_fields("block_efficiency", None if found is None else found.tokens),
        **number_fields("time", None if found is None else found.time),
        "over_static": None if found is None else float(found.rate / static - 1),
        "regret": None if found is None else float(1 - found.rate / best),
        "held_out": each.held_out,
        "held_out_regret": None if each.held_out is None else 1 - each.held_out / float(best),
        "used": None if found is None else found.used,
        "actions": None if found is None else _shares(tables, each.choice, found),
        "blocks_checked": None if checked is None else checked.blocks,
        "lossless": None if checked is None else checked.lossless,
        "violation": None if checked is None or checked.violation is None else str(checked.violation),
    }


def _shares(tables: Tables, choice: Any, found: Value) -> dict[str, float]:
    """The share of the blocks that each action takes, the largest first."""
    shares: dict[str, float] = {}
    for state, position in enumerate(choice):
        action = str(tables.actions[position])
        shares[action] = shares.get(action, 0.0) + float(found.starts[state])
    return {action: share for action, share in sorted(shares.items(), key=lambda item: -item[1]) if share > 0}


def valued_rows(
    name: str, tables: Tables, policies: Sequence[Rival | Own], overhead: float = 0.0, blocks: int = 0
) -> list[dict[str, Any]]:
    """One row a policy."""
    static, best = value(tables, best_static(tables)).rate, value(tables, policy_iteration(tables).choice).rate
    return [row(name, tables, each, static, best) for each in judged(tables, policies, overhead, blocks)]


#: Most used actions that are named.
NAMED = 3
#: Where a policy chooses the verifier as well.
TOGETHER = "any of them"


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
        "held out: regret where every state\nis chosen for by a learner that has not seen it. used: actions in use."
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
        _shares_text(row["actions"], several=row["verifier"] == TOGETHER),
    ]


def _shares_text(actions: dict[str, float], several: bool) -> str:
    parts = []
    for action, share in list(actions.items())[:NAMED]:
        shape = action.partition("delayed(")[2].rstrip(")")
        numbers = ", ".join(part.partition("=")[2] for part in shape.split(", "))
        which = action.partition(" on ")[0] + " " if several else ""
        parts.append(f"{which}{numbers} {share:.0%}")
    return "; ".join(parts)


def _verdict(row: dict[str, Any]) -> str:
    if row["lossless"] is None:
        return ""
    return f"{row['blocks_checked']} blocks" if row["lossless"] else "REFUTED"


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
        groups.append((TOGETHER, named))
    remark(
        f"{len(schemes)} shapes, {world.histories:,} states of {world.order} tokens, "
        f"{sum(len(g) for _, g in groups)} x {len(schemes)} tables of {world.histories * world.states:,} numbers"
    )
    rows: list[dict[str, Any]] = []
    with bar("tables", sum(len(group) for _, group in groups) * len(schemes)) as tick:
        for label, group in groups:
            with named_errors(label):
                tables = tables_of(world, group, schemes, times, tick)
                rows += valued_rows(label, tables, rivals, overhead, blocks)
    write_json(json_target, {"rows": rows})
    console = console_for(json_target)
    console.print(table(rows, f"{_named(problem)}, {arithmetic}, {len(schemes)} shapes, {cost}"))
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
