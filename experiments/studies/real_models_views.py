"""The tables and the figure of the study of real models: functions of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, drawing_board, line_style, quiet_axes

Row = Mapping[str, Any]

#: Where the time of a block goes, with its colour in the picture.
PARTS = {"draft": "#56B4E9", "target": "#0072B2", "verify": "#E69F00", "cache": "#009E73", "other": "0.75"}


def of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    """The rows of one kind: latency, plain or speculative."""
    return [row for row in rows if row["kind"] == kind]


def columns() -> dict[str, Any]:
    """Headings and cells of the main table; a bar in a heading is where its line may break."""
    return {
        "K, L1, L2": lambda row: row["shape"],
        "verifier": lambda row: row["verifier"],
        "E[tau+1]|predicted": lambda row: _pm(row["predicted_efficiency"], row["predicted_efficiency_error"]),
        "E[tau+1]|measured": lambda row: _pm(row["block_efficiency"], row["block_efficiency_error"]),
        "tokens/s|predicted": lambda row: f"{row['predicted_tokens_per_second']:.0f}",
        "tokens/s|measured": lambda row: f"{row['tokens_per_second']:.0f}",
        "speedup": lambda row: f"{row['speedup']:.2f}",
        **{f"{part}|%": partial(_percent, part) for part in PARTS},
    }


def _pm(value: float, error: float) -> str:
    """A number and its standard error."""
    return f"{value:.3f}±{error:.3f}"


def _percent(part: str, row: Row) -> str:
    """Of the time without the prompt, the share of this part."""
    return f"{100 * row['seconds_by_part'][part] / row['seconds_by_part']['all']:.0f}"


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print all tables."""
    first = rows[0]
    console.print(f"V = {first['V']}, {first['dtype']} on {first['device']}, text sha256 {first['text_hash']}")
    for line in latency_lines(of_kind(rows, "latency")[0]):
        console.print(line, soft_wrap=True)
    for row in of_kind(rows, "plain"):
        console.print(
            f"one token a pass, {row['sampling']}: {row['tokens_per_second']:.0f} tokens/s, "
            f"predicted {row['predicted_tokens_per_second']:.0f}"
        )
    for sampling in dict.fromkeys(row["sampling"] for row in of_kind(rows, "speculative")):
        chosen = [row for row in of_kind(rows, "speculative") if row["sampling"] == sampling]
        console.print(main_table(chosen))
        console.print(depth_table(chosen))


def main_table(rows: Sequence[Row]) -> Table:
    """Efficiency, speed and time of the rows of one sampling."""
    cells = columns()
    view = Table(title=f"{rows[0]['sampling']}: predicted and measured", title_justify="left")
    for heading in cells:
        view.add_column(heading.replace("|", "\n"), justify="left" if heading == "verifier" else "right")
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before["shape"] != row["shape"]:
            view.add_section()
        view.add_row(*(cell(row) for cell in cells.values()))
    return view


def latency_lines(row: Row) -> list[str]:
    """The fitted pass times, in words."""
    lines = ["seconds of a pass over a tokens after x remembered ones, fitted on a warm-up:"]
    for name in ("draft", "target"):
        start, by_context, by_token, by_both = (1e6 * each for each in row[name]["coefficients"])
        lines.append(
            f"  {name}: T(x, a) = {start:.0f} {by_context:+.2f} x {by_token:+.1f} a {by_both:+.4f} x a microseconds, "
            f"root mean square error {100 * row[name]['error']:.1f} % of the mean, "
            f"worst {100 * row[name]['worst']:.0f} %"
        )
    return lines


def depth_table(rows: Sequence[Row]) -> Table:
    """Acceptance and L1 distance by depth, for the deepest shapes."""
    deepest = max(len(row["depths"]) for row in rows)
    title = f"{rows[0]['sampling']}: accepted at each depth reached, L1 distance"
    view = Table(title=title, title_justify="left")
    for heading in ("K, L1, L2", "verifier"):
        view.add_column(heading)
    for depth in range(deepest):
        view.add_column(f"{depth}", justify="right")
    for row in deep_rows(rows):
        cells = [f"{each['accepted']:.2f}, {each['distance']:.2f}" for each in row["depths"]]
        view.add_row(row["shape"], row["verifier"], *cells)
    return view


def deep_rows(rows: Sequence[Row]) -> list[Row]:
    """Those of the deepest trees."""
    depth = max(row["scheme"]["L1"] + row["scheme"]["L2"] for row in rows)
    return [row for row in rows if row["scheme"]["L1"] + row["scheme"]["L2"] == depth]


def markdown(rows: Sequence[Row]) -> str:
    """The main table and the fit for a page."""
    from tabulate import tabulate

    cells = columns()
    body = [[row["sampling"], *(cell(row) for cell in cells.values())] for row in of_kind(rows, "speculative")]
    headings = ["sampling", *(heading.replace("|", " ").strip() for heading in cells)]
    text: str = tabulate(body, headings, tablefmt="github", disable_numparse=True)
    return text + "\n\n" + "\n".join(f"{line}  " for line in latency_lines(of_kind(rows, "latency")[0])) + "\n"


def figure(rows: Sequence[Row]) -> bytes:
    """A PNG: efficiency, speed, where the time goes, and acceptance and distance by depth; of the last temperature."""
    sampling = rows[-1]["sampling"]
    chosen = [row for row in of_kind(rows, "speculative") if row["sampling"] == sampling]
    drawing, panels = drawing_board().subplots(2, 2, figsize=(13, 9), layout="constrained")
    shapes = list(dict.fromkeys(row["shape"] for row in chosen))
    names = list(dict.fromkeys(row["verifier"] for row in chosen))
    styles = {name: {**line_style(number), "markersize": 6, "linewidth": 1.2} for number, name in enumerate(names)}
    for number, name in enumerate(names):
        here = [row for row in chosen if row["verifier"] == name]
        shift = 0.1 * (number - (len(names) - 1) / 2)
        places = [shapes.index(row["shape"]) + shift for row in here]
        style = {**styles[name], "linestyle": "none"}
        errors = [2 * row["block_efficiency_error"] for row in here]
        measured = [row["block_efficiency"] for row in here]
        panels[0][0].errorbar(places, measured, yerr=errors, **style, label=name, elinewidth=1)
        exact = [row["predicted_efficiency"] for row in here]
        panels[0][0].plot(places, exact, "_", color=style["color"], markersize=9, markeredgewidth=2)
        panels[0][1].plot(places, [row["speedup"] for row in here], **style)
    panels[0][0].set_ylabel("tokens a block: measured ± 2 s.e., predicted _")
    panels[0][0].legend(frameon=False, fontsize=9)
    panels[0][1].axhline(1, color="0.6", linewidth=3)
    panels[0][1].set_ylabel("tokens a second over one token a pass")
    for axes in panels[0]:
        axes.set_xticks(range(len(shapes)), shapes, fontsize=9)
        axes.set_xlabel("K, L1, L2")
        quiet_axes(axes)
    _draw_time(panels[1][0], chosen, shapes, names)
    _draw_depths(panels[1][1], deep_rows(chosen), styles)
    first = rows[0]
    title = (
        f"Real models, V = {first['V']}, {sampling}, {first['dtype']} on {first['device']}, text {first['text_hash']}"
    )
    drawing.suptitle(title, x=0.01, ha="left", fontsize=10)
    return as_png(drawing, 150)


def _draw_time(axes: Any, rows: Sequence[Row], shapes: Sequence[str], names: Sequence[str]) -> None:
    """Milliseconds of a block by part: for each shape a bar for every verifier, and what the models should take."""
    width = 0.8 / len(names)
    for row in rows:
        place = shapes.index(row["shape"]) + width * (names.index(row["verifier"]) - (len(names) - 1) / 2)
        bottom = 0.0
        for part, colour in PARTS.items():
            height = 1e3 * row["seconds_by_part"][part] / row["blocks"]
            label = part if row is rows[0] else None
            axes.bar(place, height, 0.9 * width, bottom=bottom, color=colour, label=label)
            bottom += height
    for number, shape in enumerate(shapes):
        predicted = 1e3 * next(row["predicted_passes"] for row in rows if row["shape"] == shape)
        label = "T(x, a) of both models" if number == 0 else None
        axes.plot([number - 0.45, number + 0.45], [predicted] * 2, "k", linewidth=2, label=label)
    axes.set_xticks(range(len(shapes)), shapes, fontsize=9)
    axes.set_xlabel("K, L1, L2; bars: verifiers in the order of the legend above")
    axes.set_ylabel("milliseconds a block")
    axes.legend(frameon=False, fontsize=9)
    quiet_axes(axes)


def _draw_depths(axes: Any, rows: Sequence[Row], styles: Mapping[str, Any]) -> None:
    """Acceptance by verifier and the distance of p and q, on the deepest shape with most rows of data."""
    shape = rows[0]["shape"]
    here = [row for row in rows if row["shape"] == shape]
    for row in here:
        depths = [each["depth"] for each in row["depths"]]
        axes.plot(
            depths, [each["accepted"] for each in row["depths"]], **styles[row["verifier"]], label=row["verifier"]
        )
    deepest = max(len(row["depths"]) for row in here)
    distances = [
        np.mean([row["depths"][depth]["distance"] for row in here if len(row["depths"]) > depth])
        for depth in range(deepest)
    ]
    axes.plot(range(deepest), distances, color="0.6", linewidth=5, zorder=1, label="L1 distance of p and q")
    axes.set_ylim(0, None)
    axes.set_xticks(range(deepest))
    axes.set_xlabel(f"depth, trees {shape}")
    axes.set_ylabel("accepted, given that it was reached; L1 distance")
    axes.legend(frameon=False, fontsize=9)
    quiet_axes(axes)
