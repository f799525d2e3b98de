"""The optimum over all lossless verifiers: bounds at every root, with certificates, and the picture of the gap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from draftproof.experiments.cli.bound.programs import PLACE, Files, Programs, check_note
from draftproof.experiments.grid.bounds import (
    STEPS,
    Bound,
    BoundInterrupted,
    Goal,
    bound_fields,
    bound_root,
    expected_seconds,
)
from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot
from draftproof.experiments.grid.groups import FEWEST, few_text, mean_by_group
from draftproof.experiments.grid.machines import Machines
from draftproof.experiments.grid.rows import mixture, versions
from draftproof.experiments.inputs.worlds import samplings_of
from draftproof.experiments.result import Column, Interrupted, Result, Table, hidden
from draftproof.experiments.shared.progress import counted, duration, remark
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
    *hidden("method", "timed_out", "history", "certificate", "certificate_above"),
)
_MEMORY = (
    *PLACE,
    Column("depth", "count", "d"),
    Column("rejected", "exact"),
    Column("floor", "exact"),
    *hidden("memory", kind="count"),
)
_GROUPS = (
    *PLACE,
    Column("group"),
    Column("prompts", "count"),
    Column("lower", "exact", "attained"),
    Column("lower_interval", "interval", "95 %"),
    Column("upper", "exact", "at most"),
    Column("upper_interval", "interval", "95 %"),
)
_FLOOR = (
    "rejected: the mean total variation of p and q for the token of depth d, over contexts that the target writes; "
    "floor: that of the best draft which knows the root, the depth and as many of the last tokens."
)


def optimum_result(programs: Sequence[Programs], goal: Goal, files: Files, machines: Machines) -> Result:
    """The bounds of each world on its scheme, as means over the roots.

    At Ctrl-C raises `Interrupted` with the roots at hand, the last with the gap that it had, if there are any.
    """
    names = files.certificates(programs)
    found, interrupted = _solved(programs, goal, machines)
    if interrupted and not found:
        raise KeyboardInterrupt
    by_programs = [(each, [bound for of, bound in found if of is each]) for each in programs]
    done = [(each, bounds) for each, bounds in by_programs if bounds]
    roots = [_root_row(*each, *pair) for each, pair in zip(found, names, strict=False)]
    made = {
        name: content
        for (each, bound), pair in zip(found, names, strict=False)
        for name, content in _certificates(each, bound, *pair)
    }
    groups = [row for each, bounds in done for row in _group_rows(each, bounds)]
    several = any(len(bounds) > 1 for _, bounds in done)
    tables = [
        Table.of(_ROWS, [_row(*each) for each in done]),
        Table.of(_ROOTS, roots, title="by root context", name="roots", shown=several),
    ]
    if groups:
        tables.append(Table.of(_GROUPS, groups, title="by group of prompts", name="groups"))
    memory = [row for each, bounds in done for row in _memory_rows(each, len(bounds))]
    if memory:
        tables.append(Table.of(_MEMORY, memory, title="by depth, what the draft forgets", name="memory"))
    notes = [*_notes(programs, roots, goal.gap), *check_note(made)]
    if any(row["prompts"] < FEWEST for row in groups):
        notes.append(few_text("prompts"))
    if memory:
        notes.append(_FLOOR)
    result = Result("the optimum over all lossless verifiers, bounds in exact arithmetic", tables, notes, 0, made)
    if interrupted:
        raise Interrupted(result)
    if files.plot is None:
        return result
    pictured = {files.plot: gap_picture(roots, f"{programs[0].scheme}\n{programs[0].world}")}
    return replace(result, notes=[*notes, f"picture: {files.plot}"], files={**made, **pictured})


def _solved(programs: Sequence[Programs], goal: Goal, machines: Machines) -> tuple[list[tuple[Programs, Bound]], bool]:
    """The bounds at every root, with a bar; after Ctrl-C those at hand, and True."""
    items = [(each, root) for each in programs for root in each.roots]
    paths = max(context_count(root.draft.vocab_size, each.scheme.depth) for each, root in items)
    seconds = sum(expected_seconds(root.draft.vocab_size, each.scheme, root.draft, goal.gap) for each, root in items)
    most = " at most" if len(programs) > 1 else ""
    remark(
        f"{counted(len(items), 'program')} over {paths:,.0f} paths{most}, {duration(seconds)}"
        + (f", at most {goal.seconds:g} s each" if goal.seconds else "")
    )
    calls = [(root, each.scheme) for each, root in items]
    found, stop = machines.with_bar("bounds", STEPS, bound_root, calls, goal)
    if isinstance(stop, BoundInterrupted):
        found.append(stop.at_hand)
        remark(f"interrupted at root {len(found)} of {len(items)}, with the gap that it had")
    elif stop is not None:
        remark(f"interrupted after {len(found)} of {len(items)} roots")
    return [(each, bound) for (each, _), bound in zip(items, found, strict=False)], stop is not None


def _row(programs: Programs, bounds: Sequence[Bound]) -> dict[str, Any]:
    about = {"cut": programs.cut, "source": programs.world.source, "versions": versions()}
    return bound_fields(bounds, programs.scheme) | programs.place | about


def _root_row(programs: Programs, bound: Bound, own: str | None, above: str | None) -> dict[str, Any]:
    return {
        **programs.place,
        "root": repr(bound.root.name),
        "weight": bound.root.weight,
        "lower": bound.lower,
        "upper": bound.upper,
        "gap": bound.upper - bound.lower,
        "orders": len(bound.found.plan.weights),
        "seconds": round(bound.seconds, 3),
        "solver_gap": bound.solver_gap,
        "method": bound.found.method,
        "timed_out": bound.found.timed_out,
        "history": [list(point) for point in bound.found.history],
        "certificate": own,
        "certificate_above": above,
    }


def _certificates(
    programs: Programs, bound: Bound, own: str | None, above: str | None
) -> Iterator[tuple[str, str | bytes]]:
    """The certificate of a root, and the one of its upper bound if that is another, with their files."""
    for name, case, optimum in ((own, bound.root, bound.found), (above, bound.root.above, bound.above)):
        if name and case and optimum:
            rows = case.rows(programs.scheme.depth)
            yield name, dumps(certificate(rows.target, rows.draft, optimum))


def _memory_rows(programs: Programs, roots: int) -> list[dict[str, Any]]:
    """For drafts with a memory the floor of rejection at each depth, as means over so many roots."""
    memory = samplings_of(programs.world).of("draft").memory
    if memory is None or not programs.scheme.depth:
        return []
    weights = programs.weights(roots)
    found = [floors(root.target, root.draft, memory, programs.scheme.depth) for root in programs.roots[:roots]]
    return [
        {
            **programs.place,
            "depth": depth,
            "rejected": mixture(weights, [own for own, _ in each]),
            "floor": mixture(weights, [least for _, least in each]),
            "memory": memory,
        }
        for depth, each in enumerate(zip(*found, strict=True), start=1)
    ]


def _group_rows(programs: Programs, bounds: Sequence[Bound]) -> list[dict[str, Any]]:
    """The bounds of the roots by group of prompts, where roots are prompts."""
    groups = getattr(programs.world, "groups", ())[: len(bounds)]
    if not groups:
        return []
    lower = mean_by_group(groups, [float(bound.lower) for bound in bounds])
    upper = mean_by_group(groups, [float(bound.upper) for bound in bounds])
    return [
        {
            **programs.place,
            "group": low["group"],
            "prompts": low["prompts"],
            "lower": low["mean"],
            "lower_interval": _interval(low),
            "upper": high["mean"],
            "upper_interval": _interval(high),
        }
        for low, high in zip(lower, upper, strict=True)
    ]


def _interval(mean: Mapping[str, Any]) -> tuple[float, float] | None:
    return None if mean["low"] is None else (mean["low"], mean["high"])


def _notes(programs: Sequence[Programs], roots: Sequence[Mapping[str, Any]], goal: float) -> list[str]:
    """What the bounds of a cut vocabulary are about, and why a gap stayed above the goal."""
    notes = []
    cut = [each.scheme for each in programs if each.cut]
    if any(not isinstance(scheme, Delayed) for scheme in cut):
        notes.append("this bounds the cut tables only; the scheme delayed bounds the whole vocabulary from both sides")
    if any(isinstance(scheme, Delayed) for scheme in cut):
        notes.append(
            "both hold on the whole vocabulary: the lower bound is attained by a verifier that ends a block at a cut "
            "token, the upper bound counts all tokens after one as accepted; a larger vocab keeps more tokens"
        )
    wide = [root for root in roots if root["solver_gap"] > goal]
    if wide and any(root["timed_out"] for root in wide):
        notes.append(f"the gap is above {goal:g}: it stopped early; give it more seconds or a smaller tree")
    elif wide:
        notes.append(f"the gap is above {goal:g}: float64 goes no further; ask for a wider gap or a smaller tree")
    return notes


def gap_picture(roots: Sequence[Mapping[str, Any]], caption: str) -> bytes:
    """A PNG of the gap against time, one line a root."""
    figure, axes = matplotlib_pyplot().subplots(figsize=(6.4, 4.0), layout="constrained")
    for root in roots:
        points = [(seconds, upper - lower) for seconds, lower, upper in root["history"] if upper > lower]
        if points:
            axes.step(*zip(*points, strict=True), where="post", marker=".", linewidth=1.2, label=root["root"])
    axes.set_yscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("upper bound - lower bound")
    axes.grid(color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(roots) > 1 and axes.lines:
        axes.legend(frameon=False, fontsize=8, title="root")
    axes.set_title(f"Gap of the bounds, {caption}", loc="left", fontsize=9, wrap=True)
    return as_png(figure, 160)
