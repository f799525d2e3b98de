"""The optimum over all lossless verifiers: bounds at every root, with certificates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draftproof.experiments.cli.answers import AtHand
from draftproof.experiments.cli.bound.programs import PLACE, Programs, Run, check_note
from draftproof.experiments.grid.bounds import (
    STEPS,
    Bound,
    BoundInterrupted,
    Goal,
    bound_root,
    expected_seconds,
)
from draftproof.experiments.grid.groups import FEWEST, few_text, group_columns, mean_by_group
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.worlds import samplings_of
from draftproof.experiments.result import Column, Result, Table, hidden, number_of
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import bar, counted, duration, remark
from draftproof.lp_analysis import certificate, dumps, floors
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.tables import context_count

_BOUNDS = (Column("lower", "exact", "attained"), Column("upper", "exact", "at most"), Column("gap", "exact"))
_ROWS = (*PLACE, *_BOUNDS, Column("method"), *hidden("cut", "seconds", "source", "versions"))
_ROOTS = (
    *PLACE,
    Column("root"),
    Column("weight", "exact"),
    *_BOUNDS,
    Column("orders", "count"),
    Column("seconds"),
    *hidden("solver_gap", kind="exact"),
    *hidden("method", "timed_out", "certificate", "certificate_above"),
)
_MEMORY = (
    *PLACE,
    Column("depth", "count", "d"),
    Column("rejected", "exact"),
    Column("floor", "exact"),
    *hidden("memory", kind="count"),
)
_GROUPS = (*PLACE, Column("bound"), *group_columns("tokens a block"))
_FLOOR = (
    "rejected: the mean total variation of p and q for the token of depth d, over contexts that the target writes; "
    "floor: that of the best draft which knows the root, the depth and as many of the last tokens."
)


def optimum_result(programs: Sequence[Programs], goal: Goal, run: Run) -> Result:
    """The bounds of each world on its scheme, as means over the roots.

    At Ctrl-C raises `Interrupted` with the roots at hand, the last with the gap that it had, if there are any.
    """
    _announce(programs, goal)
    solved = run.solved(programs, root_row, goal, **vars(goal))
    done = [(program, rows) for program, rows in zip(programs, solved.rows, strict=True) if rows]
    roots = [{**program.place, **row} for program, rows in done for row in rows]
    groups = [row for program, rows in done for row in _group_rows(program, rows)]
    several = any(len(rows) > 1 for _, rows in done)
    tables = [
        Table.of(_ROWS, [_mean_row(*pair) for pair in done]),
        Table.of(_ROOTS, roots, title="by root context", name="roots", shown=several),
    ]
    if groups:
        tables.append(Table.of(_GROUPS, groups, title="by group of prompts", name="groups"))
    memory = [row for program, rows in done for row in _memory_rows(program, rows)]
    if memory:
        tables.append(Table.of(_MEMORY, memory, title="by depth, what the draft forgets", name="memory"))
    notes = [*_notes(programs, roots, goal.gap), *check_note(solved.files)]
    if any(row["prompts"] < FEWEST for row in groups):
        notes.append(few_text("prompts"))
    if memory:
        notes.append(_FLOOR)
    title = "the optimum over all lossless verifiers, bounds in exact arithmetic"
    return solved.finished(Result(title, tables, notes, 0, solved.files))


def _announce(programs: Sequence[Programs], goal: Goal) -> None:
    """Say how many programs there are, and how long they take."""
    items = [(program, root) for program in programs for root in program.roots]
    paths = max(context_count(root.draft.vocab_size, program.scheme.depth) for program, root in items)
    seconds = sum(
        expected_seconds(root.draft.vocab_size, program.scheme, root.draft, goal.gap) for program, root in items
    )
    most = " at most" if len(programs) > 1 else ""
    remark(
        f"{counted(len(items), 'program')} over {paths:,.0f} paths{most}, {duration(seconds)}"
        + (f", at most {goal.seconds:g} s each" if goal.seconds else "")
    )


def root_row(about: tuple[int, int], programs: Sequence[Programs], certified: bool, goal: Goal) -> Row:
    """The row of a root, with what proves its bounds. At Ctrl-C raises `AtHand` with the bounds so far."""
    own, root = programs[about[0]], programs[about[0]].roots[about[1]]
    with bar(f"bounds at root {root.name!r}", STEPS) as tick:
        try:
            return _row_of(own, bound_root(root, own.scheme, goal, tick), certified)
        except BoundInterrupted as stop:
            remark("interrupted, with the gap that it had")
            raise AtHand(about, _row_of(own, stop.at_hand, certified)) from None


def _row_of(programs: Programs, bound: Bound, certified: bool) -> Row:
    row = {
        "kind": "root",
        "root": repr(bound.root.name),
        **number_fields("weight", bound.root.weight),
        **number_fields("lower", bound.lower),
        **number_fields("upper", bound.upper),
        **number_fields("gap", bound.upper - bound.lower),
        **number_fields("solver_gap", bound.solver_gap),
        "orders": len(bound.optimum.plan.weights),
        "seconds": round(bound.seconds, 3),
        "method": bound.optimum.method,
        "timed_out": bound.optimum.timed_out,
        "cut": bound.above is not None,
        "source": programs.world.source,
        "versions": versions(),
    }
    proofs = ("proof", bound.root, bound.optimum), ("proof_above", bound.root.above, bound.above)
    for name, case, solved in proofs if certified else ():
        if case and solved:
            rows = case.rows(programs.scheme.depth)
            row[name] = dumps(certificate(rows.target, rows.draft, solved))
    return row


def _mean_row(programs: Programs, roots: Sequence[Row]) -> dict[str, Any]:
    """The row of a world on a scheme: means over the roots that are done."""
    lower, upper = (programs.mean(roots, side) for side in ("lower", "upper"))
    return {
        **programs.place,
        "lower": lower,
        "upper": upper,
        "gap": upper - lower,
        "cut": programs.cut,
        "method": ", ".join(dict.fromkeys(root["method"] for root in roots)),
        "seconds": round(sum(root["seconds"] for root in roots), 3),
        "source": programs.world.source,
        "versions": versions(),
    }


def _memory_rows(programs: Programs, roots: Sequence[Row]) -> list[dict[str, Any]]:
    """For drafts with a memory the floor of rejection at each depth, as means over the roots that are done."""
    memory, deepest = samplings_of(programs.world).of("draft").memory, programs.scheme.depth
    if memory is None:
        return []
    rows = []
    for root in roots:
        case = programs.roots[root["place"]]
        pairs = floors(case.target, case.draft, memory, deepest) if deepest else ()
        rows.append([{**root, "rejected": rejected, "floor": floor} for rejected, floor in pairs])
    return [
        {
            **programs.place,
            "depth": depth,
            "rejected": programs.mean(of_depth, "rejected"),
            "floor": programs.mean(of_depth, "floor"),
            "memory": memory,
        }
        for depth, of_depth in enumerate(zip(*rows, strict=True), start=1)
    ]


def _group_rows(programs: Programs, roots: Sequence[Row]) -> list[dict[str, Any]]:
    """The bounds of the roots by group of prompts, where roots are prompts."""
    of_prompts = getattr(programs.world, "groups", ())
    if not of_prompts:
        return []
    groups = [of_prompts[root["place"]] for root in roots]
    return [
        {**programs.place, "bound": words, **mean}
        for side, words in (("lower", "attained"), ("upper", "at most"))
        for mean in mean_by_group(groups, [root[f"{side}_float"] for root in roots])
    ]


def _notes(programs: Sequence[Programs], roots: Sequence[Mapping[str, Any]], goal: float) -> list[str]:
    """What the bounds of a cut vocabulary are about, and why a gap stayed above the goal."""
    notes = []
    cut = [program.scheme for program in programs if program.cut]
    if any(not isinstance(scheme, Delayed) for scheme in cut):
        notes.append("this bounds the cut tables only; the scheme delayed bounds the whole vocabulary from both sides")
    if any(isinstance(scheme, Delayed) for scheme in cut):
        notes.append(
            "both hold on the whole vocabulary: the lower bound is attained by a verifier that ends a block at a cut "
            "token, the upper bound counts all tokens after one as accepted; a larger vocab keeps more tokens"
        )
    open_roots = [root for root in roots if number_of(root["solver_gap"]) > goal]
    if any(root["timed_out"] for root in open_roots):
        notes.append(f"the gap is above {goal:g}: it stopped early; give it more seconds or a smaller tree")
    elif open_roots:
        notes.append(f"the gap is above {goal:g}: float64 goes no further; ask for a wider gap or a smaller tree")
    return notes
