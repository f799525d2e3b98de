"""The ranking on the terminal and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.shared.drawing import as_png, drawing_board, quiet_axes

#: Rows of the table, and bars of the picture.
SHOWN = 12


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Table, what was left out, and the recommendation."""
    about = f"V = {found['V']}, {found['sampling']}, {found['device']}"
    table = Table(title=f"target {found['target']}, draft {found['draft']}, {about}", title_justify="left")
    for heading in (
        "verifier",
        "K, L1, L2",
        "tokens a block\nexpected",
        "\nmeasured",
        "tokens/s\npredicted",
        "\nmeasured",
    ):
        table.add_column(heading, justify="left" if heading == "verifier" else "right", no_wrap=True)
    table.add_column("times plain, 95 %", justify="right", no_wrap=True)
    table.add_column("verification\nof a block", justify="right", no_wrap=True)
    for row in found["rows"][:SHOWN]:
        table.add_row(
            row["verifier"],
            _shape(row),
            f"{row['expected_block_efficiency']:.3f}"
            + (f"±{row['expected_error']:.3f}" if row["expected_error"] else ""),
            f"{row['block_efficiency']:.3f}",
            f"{row['predicted_tokens_per_second']:.0f}",
            f"{row['tokens_per_second']:.0f}",
            _interval(row) if row["finalist"] else "",
            f"{100 * row['verification_milliseconds'] / row['block_milliseconds']:.0f} %",
        )
    console.print(table)
    more = len(found["rows"]) - SHOWN
    if more > 0:
        console.print(f"{more} more were measured and are slower; --json has them")
    console.print(f"plain generation: {found['plain_tokens_per_second']:.0f} tokens/s", soft_wrap=True)
    if found["left_out"]:
        best = max(each["most_tokens_per_second"] for each in found["left_out"]) / found["passes_slower_in_loop"]
        console.print(
            f"left out: {len(found['left_out'])} candidates, which even with verification in no time and passes as "
            f"quick as the quickest of the others would bring at most {best:.0f} tokens/s",
            soft_wrap=True,
        )
    console.print(f"use {found['recommendation']}; {found['seconds']:.0f} s", soft_wrap=True)


def _shape(row: Mapping[str, Any]) -> str:
    return ", ".join(str(row["scheme"][key]) for key in ("K", "L1", "L2"))


def _interval(row: Mapping[str, Any]) -> str:
    return f"{row['speedup']:.2f} ({row['speedup_low']:.2f} to {row['speedup_high']:.2f})"


def figure(found: Mapping[str, Any]) -> bytes:
    """Tokens a second, fastest on top: bars measured, marks predicted, a line for plain generation."""
    rows = found["rows"][:SHOWN][::-1]
    board = drawing_board()
    drawn, axes = board.subplots(figsize=(7.2, 1.2 + 0.32 * len(rows)))
    for place, row in enumerate(rows):
        final = row["finalist"]
        axes.barh(place, row["tokens_per_second"], height=0.62, color="#0072B2" if final else "#56B4E9")
        if final:
            plain = found["plain_tokens_per_second"]
            low, high = row["speedup_low"] * plain, row["speedup_high"] * plain
            axes.plot([low, high], [place, place], color="black", linewidth=1.4, solid_capstyle="butt")
    axes.plot(
        [row["predicted_tokens_per_second"] for row in rows],
        range(len(rows)),
        linestyle="none",
        marker="D",
        markersize=5,
        markerfacecolor="white",
        markeredgecolor="#D55E00",
        label="predicted",
    )
    axes.axvline(found["plain_tokens_per_second"], color="0.35", linestyle="--", linewidth=1, label="plain generation")
    axes.set_yticks(range(len(rows)), [f"{row['verifier']}  {_shape(row)}" for row in rows], fontsize=8)
    axes.set_xlabel("tokens a second, measured (line: 95 % of those that ran against each other)", fontsize=8)
    quiet_axes(axes)
    axes.grid(axis="y", visible=False)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    drawn.tight_layout()
    return as_png(drawn, 150)
