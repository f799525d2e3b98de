"""The picture of a comparison: block efficiency against delay depth at a fixed node budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from experiments.shared.drawing import as_png, drawing_board, line_style, quiet_axes

_BASELINE = "naive"
_OPTIMUM = "upper bound"

#: For each verifier its points: delay depth, block efficiency, shape.
Lines = Mapping[str, list[tuple[int, float, str]]]


def best_budget(rows: Sequence[dict[str, Any]]) -> int:
    """The node budget `L1 + K L2` with the most delay depths among the rows; the largest among equals."""
    delays: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        if row["scheme"]["name"] == "delayed":
            delays[row["nodes"]].add(_delay(row))
    return max(delays, default=0, key=lambda budget: (len(delays[budget]), budget))


def undrawn(rows: Sequence[dict[str, Any]]) -> set[str]:
    """Negative controls, and whatever a row refutes: their block efficiency is no merit."""
    return {row["verifier"] for row in rows if row["control"] or not row["lossless"]}


def delay_lines(rows: Sequence[dict[str, Any]], budget: int) -> Lines:
    """The points of each verifier that is drawn: at each delay depth the shape that does best."""
    left_out = undrawn(rows)
    best: dict[str, dict[int, tuple[float, str]]] = defaultdict(dict)
    for row in rows:
        if row["nodes"] == budget and row["verifier"] not in left_out:
            shape = f"K={row['K']}\nL2={row['L2']}" if row["K"] > 1 else "trunk\nonly"
            point = (row["block_efficiency_float"], shape)
            points = best[row["verifier"]]
            points[_delay(row)] = max(points.get(_delay(row), point), point)
    for row in rows if best else ():  # the line that nothing lossless crosses
        if row["nodes"] == budget and row.get("optimum_upper_float") is not None:
            points = best[_OPTIMUM]
            points[_delay(row)] = max(points.get(_delay(row), (0.0, "")), (row["optimum_upper_float"], ""))
    return {name: [(x, *points[x]) for x in sorted(points)] for name, points in best.items()}


def draw_delay(axes: Any, lines: Lines) -> None:
    """Draw the lines on matplotlib `axes`."""
    for number, (name, points) in enumerate(lines.items()):
        if name == _OPTIMUM:
            axes.plot(
                *zip(*[point[:2] for point in points], strict=True), color="0.6", linewidth=4, zorder=1, label=name
            )
            continue
        axes.plot(
            [x for x, _, _ in points],
            [y for _, y, _ in points],
            **line_style(number),
            markersize=6,
            linewidth=1.3,
            label=name,
        )
    quiet_axes(axes)


def draw_gain(axes: Any, lines: Lines) -> None:
    """Draw what each line has over the baseline, in the same styles."""
    base = {x: y for x, y, _ in lines[_BASELINE]}
    gains = {name: [(x, y - base[x], shape) for x, y, shape in points if x in base] for name, points in lines.items()}
    draw_delay(axes, gains)
    values = [y for points in gains.values() for _, y, _ in points]
    highest = max(*values, 0.05)
    axes.set_ylim(1.15 * max(min(values), -highest), 1.15 * highest)  # what falls far below is in the other panel
    axes.set_ylabel(f"tokens over {_BASELINE}")


def delay_figure(rows: Sequence[dict[str, Any]], caption: str) -> bytes:
    """A PNG of the comparison, 200 dots an inch; empty if there is no line to draw."""
    pyplot = drawing_board()
    budget = best_budget(rows)
    lines = delay_lines(rows, budget)
    if not lines:
        return b""
    with_gain = _BASELINE in lines and len(lines) > 1
    figure, panels = pyplot.subplots(
        1 + with_gain,
        1,
        figsize=(7.4, 7.0 if with_gain else 4.2),
        sharex=True,
        squeeze=False,
        layout="constrained",
        height_ratios=[2, 3] if with_gain else [1],
    )
    top, bottom = panels[0][0], panels[-1][0]
    draw_delay(top, lines)
    top.set_ylabel("block efficiency E[tau + 1]")
    top.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9, handlelength=3.5)
    if with_gain:
        draw_gain(bottom, lines)
    shapes: dict[int, set[str]] = defaultdict(set)
    for points in lines.values():
        for x, _, shape in points:
            shapes[x] |= {shape} - {""}
    bottom.set_xticks(sorted(shapes), [f"{x}\n" + "\nor ".join(sorted(shapes[x])) for x in sorted(shapes)])
    bottom.set_xlabel("delay depth L1 (tokens drafted before the tree branches)")
    note = f"; not drawn (controls, refuted): {', '.join(sorted(undrawn(rows)))}" if undrawn(rows) else ""
    figure.suptitle(
        "\n".join(
            [
                f"Exact block efficiency at {budget} drafted tokens (L1 + K L2 = {budget})",
                *wrap(f"{caption}{note}", 115),
            ]
        ),
        x=0.01,
        ha="left",
        fontsize=9,
    )
    return as_png(figure, 200)


def _delay(row: dict[str, Any]) -> int:
    """The trunk of a row's tree; a single path is all trunk."""
    return int(row["L1"] + (row["L2"] if row["K"] == 1 else 0))
