"""The tables, the page and the picture of a validation: functions of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.groups import group_columns, interval_text
from draftproof.experiments.inputs.text import text_label
from draftproof.experiments.models.expect.expected import SUMS
from draftproof.experiments.models.validate.agreement import MOST_ERRORS
from draftproof.experiments.shared.output import markdown_name

Row = Mapping[str, Any]


def check_lines(found: Mapping[str, Row]) -> list[str]:
    """One line for each check of tree attention, caches and greedy text."""
    tree, cache, lines = found["tree_attention"], found["caches"], []
    lines.append(
        f"tree attention: logits of {tree['trees']} trees ({tree['shape']}; {tree['compared']} nodes) and of separate "
        f"passes differ by at most {tree['largest']:.1e}, logits up to {tree['scale']:.1f}: {verdict(tree)}"
    )
    lines.append(
        f"caches after {cache['blocks']} blocks ({cache['shape']}) and rebuilt from scratch differ by at most "
        f"{cache['largest']:.1e}, numbers up to {cache['scale']:.1f}: {verdict(cache)}"
    )
    if "greedy" in found:
        greedy = found["greedy"]
        line = (
            f"greedy: {greedy['tokens']} tokens of generate(do_sample=False), {greedy['runs']} verifiers and shapes: "
        )
        differ = ", ".join(
            f"{each['verifier']} ({each['shape']}) at token {each['token']}" for each in greedy["differ"]
        )
        lines.append(line + (f"DIFFERENT: {differ}" if differ else "identical"))
    return lines


def left_out_lines(left_out: Sequence[Row]) -> list[str]:
    """Lines that name the verifiers left out on each scheme."""
    names: dict[str, list[str]] = {}
    for each in left_out:
        names.setdefault(each["shape"], []).append(each["verifier"])
    return [f"left out on {shape}, which their cards do not claim: {', '.join(each)}" for shape, each in names.items()]


def verdict(row: Row) -> str:
    """In a word."""
    return "same up to rounding" if row["passed"] else "DIFFERENT"


#: The colour of lossy verifiers, distinct from the colours of agreement and failure.
_LOSSY = "yellow"


def cell_table(rows: Sequence[Row], table: Row) -> Table:
    """Predicted against measured, grouped by shape."""
    view = Table(title="block efficiency, predicted against measured", title_justify="left")
    view.add_column(_tree_heading(rows))
    view.add_column("verifier")
    columns = _columns(rows, table)
    for heading in columns:
        view.add_column(heading, justify="right")
    before = None
    failed, lossy = _cells(table["failed"]), _cells(table["lossy"])
    for row in rows:
        if before is not None and row["shape"] != before:
            view.add_section()
        style = "bold red" if _cell(row) in failed else _LOSSY if _cell(row) in lossy else None
        shape = row["shape"] if row["shape"] != before else ""
        view.add_row(shape, row["verifier"], *(column(row) for column in columns.values()), style=style)
        before = row["shape"]
    return view


def _cell(row: Row) -> tuple[str, str]:
    return row["verifier"], row["shape"]


def _cells(rows: Sequence[Row]) -> set[tuple[str, str]]:
    return {_cell(row) for row in rows}


def outcome(table: Row, wrong: Sequence[str]) -> str:
    """The last line: what is wrong, else what is as predicted and what is lossy."""
    lossy: dict[str, int] = Counter(each["verifier"] for each in table["lossy"])
    if wrong:
        return f"NOT as predicted: {', '.join(wrong)}"
    if not lossy:
        return "all as predicted"
    left = table["cells"] - sum(lossy.values())
    names = ", ".join(f"{name} ({count} {'cell' if count == 1 else 'cells'})" for name, count in lossy.items())
    others = f"the other {left} as predicted" if left else "no other cell"
    return f"lossy, as is known: {names}; {others}"


def _tree_heading(rows: Sequence[Row]) -> str:
    delayed = all(row["scheme"]["name"] == "delayed" for row in rows)
    return "K, L1, L2" if delayed else "scheme"


def _columns(rows: Sequence[Row], table: Row) -> dict[str, Any]:
    """Heading and cell; columns that no row fills are left out."""
    columns: dict[str, Any] = {"predicted": lambda row: f"{row['predicted']:.4f}"}
    if any(row["predicted_error"] for row in rows):
        columns["± of it"] = lambda row: f"{row['predicted_error']:.4f}"
    if any(row["predicted_error"] and row.get("predicted_interval") for row in rows):
        columns["95 % of it"] = lambda row: "{:.3f} to {:.3f}".format(
            *row.get("predicted_interval") or [row["predicted"]] * 2
        )
    columns["measured"] = lambda row: f"{row['measured']:.4f}"
    columns["std. error"] = lambda row: f"{row['total_error']:.4f}"
    columns["z"] = lambda row: f"{row['z']:+.2f}"
    columns["draft passes"] = lambda row: f"{row['draft_passes']:.2f}"
    columns["blocks"] = lambda row: f"{row['blocks']:,}"
    if any(row["outcomes"] for row in rows):
        columns["outcomes: p"] = lambda row: f"{row['outcomes']['probability']:.2g}" if row["outcomes"] else "-"
    if any(row["own_law"] for row in rows):
        columns["own law"] = lambda row: f"{row['own_law']['block_efficiency']:.4f}" if row["own_law"] else "-"
        columns["z of it"] = lambda row: f"{row['own_law']['z']:+.2f}" if row["own_law"] else "-"
    if table["lossy"] or any(row.get("lossless") is not None for row in rows):
        lossy = _cells(table["lossy"])
        columns["lossless"] = lambda row: "LOSSY" if _cell(row) in lossy else row.get("verdict") or "-"
    if any(row.get("truncated") for row in rows):
        columns["top tokens"] = lambda row: f"{row['truncated']['block_efficiency']:.4f}" if row["truncated"] else "-"
        columns["outside"] = lambda row: f"{row['truncated']['outside_draft']:.3f}" if row["truncated"] else "-"
    return columns


def table_lines(rows: Sequence[Row], table: Row) -> str:
    """The table as a whole, in words."""
    means, outcomes = table["means"], table["outcomes"]
    lines = [
        f"{table['cells']} cells, largest |z| {table['largest_z']:.2f} (at most {MOST_ERRORS:g}), largest standard "
        f"error {table['largest_error']:.4f}",
        f"sum of z^2 {means['statistic']:,.4g} on {means['freedom']} degrees of freedom, "
        f"p = {means['probability']:.3g}",
    ]
    if outcomes["freedom"]:
        lines.append(
            f"outcomes (accepted tokens and correction): chi-square {outcomes['statistic']:,.6g} on "
            f"{outcomes['freedom']:,} degrees of freedom, p = {outcomes['probability']:.3g}"
        )
    summed = sum(row["prediction"] == SUMS for row in rows)
    if summed:
        lines.append(f"predicted by exact sums, without tables: {summed} cells; outcomes there are accepted depths")
    if table["lossy"]:
        lines.append("lossy: its law is not the target's, and tokens a block of it are no merit")
    if any(row["predicted_error"] for row in rows):
        lines.append("predicted from sampled trees where ± says so; blocks there are compared by their mean only")
    if any(row.get("truncated") for row in rows):
        lines.append(
            "top tokens: exact for the verifier behind a cut to the most probable tokens; outside: share of drafted "
            "paths that leave them, each of which can change its block by up to L tokens with all rows"
        )
    return "\n".join(lines)


def markdown(rows: Sequence[Row], table: Row) -> str:
    """The table for a page."""
    from tabulate import tabulate

    columns = _columns(rows, table)
    body = [
        [row["shape"], markdown_name(row["verifier"]), *(column(row) for column in columns.values())] for row in rows
    ]
    text: str = tabulate(body, [_tree_heading(rows), "verifier", *columns], tablefmt="github", disable_numparse=True)
    return f"{text}\n\n" + "\n".join(f"{line}.  " for line in table_lines(rows, table).splitlines()) + "\n"


def figure(rows: Sequence[Row], caption: str, lossy: Container[str] = ()) -> bytes:
    """A PNG: measured against predicted, and the distance of the two in standard errors.

    lossy: the lossy verifiers; the picture labels them.
    """
    drawing, panels = matplotlib_pyplot().subplots(1, 2, figsize=(11.5, 5.0), layout="constrained", width_ratios=[4, 5])
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    names = list(dict.fromkeys(row["verifier"] for row in rows))
    ends = [f([row[key] for row in rows for key in ("predicted", "measured")]) for f in (min, max)]
    panels[0].plot(ends, ends, color="0.8", linewidth=4, zorder=1)
    for number, shape in enumerate(shapes):
        here = [row for row in rows if row["shape"] == shape]
        style = {**line_style(number), "linestyle": "none"}
        errors = [2 * row["total_error"] for row in here]
        points = [row["predicted"] for row in here], [row["measured"] for row in here]
        panels[0].errorbar(*points, yerr=errors, **style, markersize=6, elinewidth=1.2, label=shape)
        places = [names.index(row["verifier"]) + 0.12 * (number - (len(shapes) - 1) / 2) for row in here]
        panels[1].plot([np.clip(row["z"], -8, 8) for row in here], places, **style, markersize=6)
    panels[0].set_xlabel("predicted E[tau + 1]")
    panels[0].set_ylabel("measured, ± 2 standard errors")
    panels[0].legend(title=_tree_heading(rows), frameon=False, fontsize=9)
    panels[1].axvspan(-2, 2, color="0.94", zorder=0)
    for bound in (-MOST_ERRORS, MOST_ERRORS):
        panels[1].axvline(bound, color="#D55E00", linewidth=1.2, linestyle="--")
    shown = [f"{name} (lossy)" if name in lossy else name for name in names]
    panels[1].set_yticks(range(len(names)), shown, fontsize=9)
    panels[1].invert_yaxis()
    panels[1].set_xlim(-8.5, 8.5)
    panels[1].set_xlabel("z: measured minus predicted in standard errors (beyond 8: at 8)")
    for axes in panels:
        style_axes(axes)
    drawing.suptitle(caption, x=0.01, ha="left", fontsize=9)
    return as_png(drawing, 160)


def groups_table(rows: Sequence[Row]) -> Table:
    """Block efficiency by group of prompts: predicted, and measured below it."""
    view = Table(
        title="block efficiency by group of prompts", title_justify="left", caption_justify="left", show_lines=True
    )
    view.add_column(_tree_heading(rows))
    for heading in ("verifier", ""):
        view.add_column(heading)
    group_columns(view, rows[0]["groups"]["predicted"])
    for row in rows:
        predicted, measured = (row["groups"][name] for name in ("predicted", "measured"))
        cells = [
            f"{interval_text(first)}\n{interval_text(second)}"
            for first, second in zip(predicted, measured, strict=True)
        ]
        view.add_row(row["shape"], row["verifier"], "predicted\nmeasured", *cells)
    return view


def show_pair(console: Console, report: Row) -> None:
    """Which pair it is; of one made by `model train` also how good, and what it writes."""
    bits = report["bits_per_character"]
    console.print(
        f"target {report['target']}, draft {report['draft']}: V = {report['V']}, {report['sampling']}, "
        f"{report['dtype']} on {report['device']}",
        soft_wrap=True,
    )
    console.print(f"  {report['after']}", soft_wrap=True)
    if bits is None and "prompts" in report:
        return
    console.print(f"  text {text_label(report['text'])} (sha256 {report['text_hash']})", soft_wrap=True)
    if bits is None:
        return
    console.print(
        f"  bits per character on held-out text: target {bits['target']:.3f}, draft {bits['draft']:.3f}; "
        f"n-grams of order 3 {bits['ngram3']:.3f}, of order 1 {bits['ngram1']:.3f}",
        soft_wrap=True,
    )
    console.print(
        f"  the target after {report['sample']['prompt']!r}:\n    {report['sample']['text']!r}", soft_wrap=True
    )


def caption(report: Row) -> str:
    """Where the numbers of a picture come from."""
    means = report["table"]["means"]
    return (
        f"Real models, predicted against measured, {report['table']['cells']} cells: sum of z^2 "
        f"{means['statistic']:.1f} on {means['freedom']} degrees of freedom (p = {means['probability']:.2g})\n"
        f"V = {report['V']}, {report['sampling']}, {report['dtype']} on {report['device']}, "
        f"text sha256 {report['text_hash']}"
    )
