"""The most tokens a block at each bias, and how near lossy verifiers come to it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.bound.programs import PLACE, Files, Programs, check_note
from draftproof.experiments.grid.bounds import STEPS, Goal, hundredths
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.rows import mixture, versions
from draftproof.experiments.inputs.verifiers import NamedVerifier, evaluator, find_verifier
from draftproof.experiments.result import Column, Interrupted, Result, Table, hidden
from draftproof.experiments.shared.progress import Tick, bar, counted, duration, named_errors, remark
from draftproof.lp_analysis import FrontierInterrupted, FrontierPoint, dumps, frontier_certificate
from draftproof.lp_analysis import frontier as trace
from draftproof.lp_analysis.problem import is_one_path
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import context_count

#: The lossless verifier that lossy ones are held against.
LOSSLESS = "block"
#: The gap at which the time of a point is measured beforehand, and what each further digit has multiplied it by.
COARSE, DIGIT = 1e-3, 1.3
#: Of any measure of bias. The curve of another measure than `block` is computed in float64 and has no lower bound.
POINTS = (
    *PLACE,
    Column("bias", "exact"),
    Column("lower", "exact", "attained"),
    Column("upper", "exact", "at most"),
    Column("gain", "percent", "more than lossless"),
    Column("price", "exact"),
    *hidden("measure", "cut", "source", "versions"),
)
VERIFIERS = (
    *PLACE,
    Column("verifier"),
    Column("bias", "exact"),
    Column("tokens", "exact", "tokens a block"),
    Column("upper", "exact", "at most"),
    Column("distance", "exact"),
    Column("beaten_by", title="no better than"),
    *hidden("lossless"),
)
#: What the columns of verifiers mean.
HELD = "at most: the curve at this bias (of several roots, at the bias at each)."


def curve_result(
    programs: Sequence[Programs],
    biases: Sequence[Fraction],
    named: Sequence[NamedVerifier],
    goal: Goal,
    files: Files,
    machines: Machines,
) -> Result:
    """The curve of each world on its scheme, as means over the roots, and the verifiers beside it.

    biases: in order, from 0 on. At Ctrl-C raises `Interrupted` with the curves at hand, if there are any.
    """
    programs = [replace(each, roots=[replace(root, above=None) for root in each.roots]) for each in programs]
    names = iter(files.certificates(programs))
    points: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    made: dict[str, str | bytes] = {}
    interrupted = False
    for each in programs:
        found, interrupted = curve(each, biases, goal, machines)
        for root, own, (name, _) in zip(each.roots, found, names, strict=False):
            if name is not None:
                rows = root.rows(each.scheme.depth)
                made[name] = dumps(frontier_certificate(rows.target, rows.draft, each.scheme, own))
        at = means(each, found) if found else []
        about = {"measure": "block", "cut": each.cut, "source": each.world.source, "versions": versions()}
        points += [{**each.place, **about, **point} for point in at]
        if interrupted:
            break
        lines += [{**each.place, **line} for line in verifier_rows(named, each, goal, at[0]["lower"])]
    if interrupted and not points:
        raise KeyboardInterrupt
    result = _result(points, lines, made, any(each.cut for each in programs))
    if interrupted:
        raise Interrupted(result)
    if files.plot is None:
        return result
    made[files.plot] = _picture(programs[0], points, lines, goal)
    return replace(result, notes=[*result.notes, f"picture: {files.plot}"], files=made)


def _result(
    points: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], made: dict[str, str | bytes], cut: bool
) -> Result:
    notes = [
        "bias: total variation of the first L + 1 tokens of a block. Both bounds are exact.",
        "price: tokens that a unit of more bias brings at most.",
        *check_note(made),
    ]
    if cut:
        notes.append("the rows are cut to the tokens kept, and the curve is about these; a larger vocab keeps more")
    tables = [Table.of(POINTS, points)]
    if lines:
        tables.append(Table.of(VERIFIERS, lines, title="verifiers", name="verifiers"))
        notes += [HELD, "no better than: a lossless verifier with at least as many tokens."]
    return Result("the most tokens a block at each bias", tables, notes, 0, made)


def traced(root: Case, scheme: DraftScheme, biases: Sequence[Fraction], goal: Goal, tick: Tick | None) -> Any:
    """The points at one root. tick: called with `STEPS` for each point, as its gap closes."""
    rows, done = root.rows(scheme.depth), 0

    def near(_: float, lower: float, upper: float) -> None:
        nonlocal done
        now = hundredths(upper - lower, goal.gap)
        if tick is not None:
            tick(max(now - done, 0))
        done = max(done, now)

    def next_point(_: FrontierPoint) -> None:
        nonlocal done
        if tick is not None:
            tick(STEPS - done)
        done = 0

    settings: Any = {"gap": goal.gap, "seconds": goal.seconds, "clock": time.perf_counter}
    return trace(rows.target, rows.draft, scheme, biases, **settings, report=next_point, on_bounds=near)


def expected_seconds(root: Case, scheme: DraftScheme, biases: Sequence[Fraction], goal: Goal) -> float:
    """The time for the points at one root: of one path by its size, of branches by one point at a wide gap."""
    paths = context_count(root.draft.vocab_size, scheme.depth)
    if is_one_path(scheme):
        return 0.01 + len(biases) * 0.8 * math.pow(paths / 4096, 1.66)
    rows, begun = root.rows(scheme.depth), time.perf_counter()
    most = None if goal.seconds is None else 0.1 * goal.seconds
    settings: Any = {"gap": max(COARSE, goal.gap), "seconds": most, "clock": time.perf_counter}
    trace(rows.target, rows.draft, scheme, [sorted(biases)[len(biases) // 2]], **settings)
    measured = time.perf_counter() - begun
    return measured * len(biases) * float(DIGIT ** max(0.0, math.log10(COARSE / goal.gap)))


def curve(
    programs: Programs, biases: Sequence[Fraction], goal: Goal, machines: Machines = HERE
) -> tuple[list[list[FrontierPoint]], bool]:
    """The points at each root, with a bar; after Ctrl-C those of the roots that are done, or of the first, and True."""
    roots, scheme = programs.roots, programs.scheme
    paths = context_count(roots[0].draft.vocab_size, scheme.depth)
    remark(
        f"{counted(len(roots), 'program')} over {paths:,.0f} paths, {len(biases)} biases each, "
        f"{duration(expected_seconds(roots[0], scheme, biases, goal) * len(roots))}"
        + (f", at most {goal.seconds:g} s each" if goal.seconds else "")
    )
    calls = [(root, scheme, biases, goal) for root in roots]
    found, stop = machines.with_bar("curve", len(biases) * STEPS, traced, calls)
    if not found and isinstance(stop, FrontierInterrupted):
        found.append(stop.points)
        remark(f"interrupted at bias {len(stop.points)} of {len(biases)}, with the gap that it had")
    elif stop is not None:
        remark(f"interrupted after {len(found)} of {len(roots)} roots")
    return found, stop is not None


def means(programs: Programs, found: Sequence[Sequence[FrontierPoint]]) -> list[dict[str, Any]]:
    """The points of the curve, each of one bias at every root, as means over the roots that are done."""
    weights = programs.weights(len(found))
    made = [
        {key: mixture(weights, [point.to_dict()[key] for point in points]) for key in points[0].to_dict()}
        for points in zip(*found, strict=True)
    ]
    first = float(made[0]["lower"])
    return [{**point, "gain": float(point["lower"]) / first - 1} for point in made]


def verifier_rows(
    named: Sequence[NamedVerifier], programs: Programs, goal: Goal, attained: Fraction
) -> list[dict[str, Any]]:
    """The bias and tokens of each verifier and the curve at its bias, as means over the roots, and what beats it.

    attained: the best of lossless verifiers.
    """
    if not named:
        return []
    roots, scheme = programs.roots, programs.scheme
    base = find_verifier(LOSSLESS)
    held = [*named, *([base] if scheme.name in lossless_for(base.verifier.card) else [])]
    verdicts: list[list[Any]] = [[] for _ in held]
    limit: list[list[FrontierPoint]] = []
    with bar("verifiers", len(roots) * (1 + STEPS) * len(held)) as tick:
        for root in roots:
            rows = root.rows(scheme.depth)
            for one, own in zip(held, verdicts, strict=True):
                with named_errors(one.label):
                    own.append(evaluator(one.verifier, "rational", "auto").check(rows.target, rows.draft, scheme))
                if own[-1].total_variation is None:
                    raise InvalidInput(f"{one.label}: its law is too large for an exact bias; use a smaller tree")
                tick(1)
            limit.append(traced(root, scheme, [own[-1].total_variation for own in verdicts], goal, tick))
    weights = programs.weights(len(roots))
    made = [
        _verifier_row(one.label, weights, own, [points[number] for points in limit])
        for number, (one, own) in enumerate(zip(held, verdicts, strict=True))
    ]
    rival = made[-1] if len(held) > len(named) else None
    return [{**row, "beaten_by": _beaten_by(row, rival, attained)} for row in made[: len(named)]]


def _verifier_row(
    label: str, weights: list[Fraction], verdicts: Sequence[Any], points: Sequence[FrontierPoint]
) -> dict[str, Any]:
    """One verifier: means over the roots, given its verdict and the point of the curve at its bias at each."""
    columns = (
        [verdict.total_variation for verdict in verdicts],
        [verdict.block_efficiency for verdict in verdicts],
        [point.upper for point in points],
    )
    bias, tokens, upper = (mixture(weights, list(values)) for values in columns)
    lossless = all(verdict.lossless for verdict in verdicts)
    numbers = {"bias": bias, "tokens": tokens, "upper": upper, "distance": upper - tokens}
    return {"verifier": label, "lossless": lossless, **numbers}


def _beaten_by(row: dict[str, Any], rival: dict[str, Any] | None, attained: Fraction) -> str | None:
    """`block`, or some lossless verifier, where that has at least the tokens of a lossy one."""
    if row["lossless"]:
        return None
    if rival and rival["lossless"] and rival["tokens"] >= row["tokens"]:
        return LOSSLESS
    return "a lossless one" if attained >= row["tokens"] else None


def _picture(
    programs: Programs, points: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], goal: Goal
) -> bytes:
    """The picture of the curve, as far as the verifiers go."""
    end = points[-1]["bias"]
    last = max([end, *(row["bias"] for row in lines)])
    if last > end:
        more, interrupted = curve(programs, [end + (last - end) / 8 * (i + 1) for i in range(8)], goal)
        if interrupted:
            raise KeyboardInterrupt
        points = [*points, *means(programs, more)]
    return picture(points, lines, f"{programs.world}, {programs.scheme}")


def picture(points: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], title: str) -> bytes:
    """A PNG: the curve, and each verifier as a named point."""
    figure, axes = matplotlib_pyplot().subplots(figsize=(7.6, 4.4), layout="constrained")
    drawn = sorted((float(point["bias"]), float(point["lower"])) for point in points)
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
