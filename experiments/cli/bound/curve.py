"""The most tokens a block at each bias, and how near lossy verifiers come to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.answers import AtHand
from draftproof.experiments.cli.bound.programs import PLACE, Programs, Run, check_note
from draftproof.experiments.grid.bounds import STEPS, Goal, hundredths
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.verifiers import NamedVerifier, evaluator, find_verifier
from draftproof.experiments.result import Column, Result, Table, hidden
from draftproof.experiments.shared.progress import Tick, bar, counted, named_errors, remark
from draftproof.lp_analysis import (
    FrontierInterrupted,
    FrontierPoint,
    dumps,
    frontier_certificate,
)
from draftproof.lp_analysis import frontier as trace
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme

#: The lossless verifier that lossy ones are held against.
LOSSLESS = "block"
_POINTS = (
    *PLACE,
    Column("bias", "exact"),
    Column("lower", "exact", "attained"),
    Column("upper", "exact", "at most"),
    Column("gain", "percent", "more than lossless"),
    Column("price", "exact"),
    *hidden("cut", "source", "versions"),
)
_VERIFIERS = (
    *PLACE,
    Column("verifier"),
    Column("bias", "exact"),
    Column("tokens", "exact", "tokens a block"),
    Column("upper", "exact", "at most"),
    Column("distance", "exact"),
    Column("beaten_by", title="no better than"),
    *hidden("lossless"),
)


def curve_result(
    programs: Sequence[Programs],
    biases: Sequence[Fraction],
    named: Sequence[NamedVerifier],
    goal: Goal,
    run: Run,
) -> Result:
    """The curve of each world on its scheme, as means over the roots, and the verifiers beside it.

    biases: in order, from 0 on. At Ctrl-C raises `Interrupted` with the roots at hand, if there are any.
    """
    programs = [replace(program, roots=[replace(root, above=None) for root in program.roots]) for program in programs]
    count = sum(len(program.roots) for program in programs)
    limit = f", at most {goal.seconds:g} s each" if goal.seconds else ""
    remark(f"{counted(count, 'root')}, {len(biases)} biases each{limit}")
    settings = {"biases": list(map(str, biases)), "verifiers": [one.identity for one in named]}
    solved = run.solved(programs, curve_row, biases, named, goal, **settings, **vars(goal))
    points: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for program, rows in zip(programs, solved.rows, strict=True):
        at = _means(program, rows, "points")
        about = {"cut": program.cut, "source": program.world.source, "versions": versions()}
        points += [{**program.place, **about, **point, "gain": _gain(point, at[0])} for point in at]
        held = _means(program, rows, "verifiers")
        rival = held[len(named)] if len(held) > len(named) else None
        for one, row in zip(named, held, strict=False):
            fields = {"verifier": one.label, "distance": row["upper"] - row["tokens"]}
            lines.append({**program.place, **row, **fields, "beaten_by": _beaten_by(row, rival, at[0]["lower"])})
    if run.plot is not None and points:
        solved.files[run.plot] = picture(points, lines, f"{programs[0].world}, {programs[0].scheme}")
    return solved.finished(_result(points, lines, solved.files, any(program.cut for program in programs)))


def _means(programs: Programs, roots: Sequence[Row], name: str) -> list[dict[str, Any]]:
    """The numbers of each point or verifier as means over the roots that are done; lossless is what is so at all."""
    means = []
    for of_roots in zip(*(root[name] for root in roots), strict=False):
        rows = [{**row, "place": root["place"]} for row, root in zip(of_roots, roots, strict=True)]
        numbers: dict[str, Any] = {key: programs.mean(rows, key) for key in of_roots[0] if key != "lossless"}
        if "lossless" in of_roots[0]:
            numbers["lossless"] = all(row["lossless"] for row in rows)
        means.append(numbers)
    return means


def _gain(point: dict[str, Any], first: dict[str, Any]) -> float:
    return float(point["lower"]) / float(first["lower"]) - 1


def _result(
    points: Sequence[dict[str, Any]],
    lines: Sequence[dict[str, Any]],
    made: dict[str, str | bytes],
    cut: bool,
) -> Result:
    notes = [
        "bias: total variation of the first L + 1 tokens of a block. Both bounds are exact.",
        "price: tokens that a unit of more bias brings at most.",
    ]
    if cut:
        notes.append("the rows are cut to the tokens kept, and the curve is about these; a larger vocab keeps more")
    notes += check_note(name for name in made if not name.endswith(".png"))
    tables = [Table.of(_POINTS, points)]
    if lines:
        tables.append(Table.of(_VERIFIERS, lines, title="verifiers", name="verifiers"))
        notes.append("at most: the curve at this bias (of several roots, at the bias at each).")
        notes.append("no better than: a lossless verifier with at least as many tokens.")
    return Result("the most tokens a block at each bias", tables, notes, 0, made)


def curve_row(
    about: tuple[int, int],
    programs: Sequence[Programs],
    certified: bool,
    biases: Sequence[Fraction],
    named: Sequence[NamedVerifier],
    goal: Goal,
) -> Row:
    """The row of a root: the points of the curve, and each verifier with the curve at its bias."""
    own, root = programs[about[0]], programs[about[0]].roots[about[1]]
    row = {"kind": "root", "verifiers": [], "source": own.world.source, "versions": versions()}
    rows = root.rows(own.scheme.depth)

    def with_points(points: Sequence[FrontierPoint]) -> Row:
        proof = {"proof": dumps(frontier_certificate(rows.target, rows.draft, own.scheme, points))} if certified else {}
        return {**row, "points": [_texts(point.to_dict()) for point in points], **proof}

    base = find_verifier(LOSSLESS)
    held = [*named, *([base] if named and own.scheme.name in lossless_for(base.verifier.card) else [])]
    with bar(f"curve at root {root.name!r}", (len(biases) + len(held)) * STEPS) as tick:
        try:
            traced_row = with_points(traced(root, own.scheme, biases, goal, tick))
        except FrontierInterrupted as stop:
            remark(f"interrupted at bias {len(stop.points)} of {len(biases)}, with the gap that it had")
            raise AtHand(about, with_points(stop.points)) from None
        return traced_row | {"verifiers": _held(held, root, own.scheme, goal, tick)}


def _texts(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers as a store keeps them."""
    return {key: str(value) if isinstance(value, Fraction) else value for key, value in numbers.items()}


def _held(
    held: Sequence[NamedVerifier], root: Case, scheme: DraftScheme, goal: Goal, tick: Tick
) -> list[dict[str, Any]]:
    """The bias and tokens of each verifier at a root, and the curve at its bias."""
    rows, verdicts = root.rows(scheme.depth), []
    for one in held:
        with named_errors(one.label):
            verdicts.append(evaluator(one.verifier, "rational", "auto").check(rows.target, rows.draft, scheme))
        if verdicts[-1].total_variation is None:
            raise InvalidInput(f"{one.label}: its law is too large for an exact bias; use a smaller tree")
    points = traced(root, scheme, [verdict.total_variation for verdict in verdicts], goal, tick) if held else []
    return [
        {"lossless": verdict.lossless}
        | _texts({"bias": verdict.total_variation, "tokens": verdict.block_efficiency, "upper": point.upper})
        for verdict, point in zip(verdicts, points, strict=True)
    ]


def traced(root: Case, scheme: DraftScheme, biases: Sequence[Any], goal: Goal, tick: Tick) -> list[FrontierPoint]:
    """The points at one root. tick: called with `STEPS` for each point, as its gap closes."""
    rows, done = root.rows(scheme.depth), 0

    def closer(_: float, lower: float, upper: float) -> None:
        nonlocal done
        now = max(done, hundredths(upper - lower, goal.gap))
        tick(now - done)
        done = now

    def next_point(_: FrontierPoint) -> None:
        nonlocal done
        tick(STEPS - done)
        done = 0

    settings: Any = {"gap": goal.gap, "seconds": goal.seconds, "clock": time.perf_counter}
    return trace(rows.target, rows.draft, scheme, biases, **settings, report=next_point, on_bounds=closer)


def _beaten_by(row: dict[str, Any], rival: dict[str, Any] | None, attained: Fraction) -> str | None:
    """`block`, or some lossless verifier, where that has at least the tokens of a lossy one."""
    if row["lossless"]:
        return None
    if rival and rival["lossless"] and rival["tokens"] >= row["tokens"]:
        return LOSSLESS
    return "a lossless one" if attained >= row["tokens"] else None


def picture(points: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], title: str) -> bytes:
    """A PNG: the curve, and each verifier as a named point."""
    figure, axes = matplotlib_pyplot().subplots(figsize=(7.6, 4.4), layout="constrained")
    drawn = sorted((float(row["bias"]), float(row["upper"])) for row in [*points, *lines])
    axes.plot(*zip(*drawn, strict=True), color="0.35", linewidth=1.6, label="most at this bias")
    axes.axhline(drawn[0][1], color="0.6", linewidth=0.9, linestyle=":", label="best lossless")
    for number, row in enumerate(lines):
        style = {**line_style(number), "linestyle": "none"}
        axes.plot(float(row["bias"]), float(row["tokens"]), **style, label=row["verifier"])
    axes.set_xlabel("bias: total variation of a block from the target")
    axes.set_ylabel("tokens a block")
    style_axes(axes)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(title, loc="left", fontsize=9, wrap=True)
    return as_png(figure, 160)
