"""The table and the figure of the study of shares: functions of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from experiments.plot import as_png, drawing_board, line_style, quiet_axes

#: Quantiles that are shown.
QUANTILES = {"worst": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75}

Row = dict[str, Any]


def summarise(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Mean and quantiles of the share by verifier, the best mean first."""
    shares = {name: np.array([row["shares"][name] for row in rows]) for name in rows[0]["shares"]}
    ranked = sorted(shares, key=lambda name: -shares[name].mean())
    return {
        name: {
            "mean": float(shares[name].mean()),
            **{label: float(np.quantile(shares[name], level)) for label, level in QUANTILES.items()},
        }
        for name in ranked
    }


def table(summary: dict[str, dict[str, float]], rows: Sequence[Row]) -> Table:
    """The summary on the terminal."""
    gap = max(row["gap_float"] for row in rows)
    view = Table(
        title=f"share of the optimum over {len(rows):,} instances (largest certified gap {gap:.1e})",
        title_justify="left",
    )
    view.add_column("verifier")
    for heading in ("mean", *QUANTILES):
        view.add_column(heading, justify="right")
    for name, values in summary.items():
        view.add_row(name, *(f"{value:.4f}" for value in values.values()))
    return view


def markdown(summary: dict[str, dict[str, float]]) -> str:
    """The summary for a page."""
    from tabulate import tabulate

    body = [[f"`{name}`", *(f"{value:.4f}" for value in values.values())] for name, values in summary.items()]
    text: str = tabulate(body, ["verifier", "mean", *QUANTILES], tablefmt="github", disable_numparse=True)
    return text + "\n"


def figure(rows: Sequence[Row]) -> bytes:
    """A PNG: quantiles by verifier, and the mean share by depth and by number of branches."""
    summary = summarise(rows)
    drawing, panels = drawing_board().subplots(1, 3, figsize=(12.5, 5.2), layout="constrained", width_ratios=[4, 3, 3])
    _quantiles(panels[0], summary)
    styles = {name: {**line_style(number), "markersize": 5, "linewidth": 1.2} for number, name in enumerate(summary)}
    _lost(panels[1], rows, styles)
    _means(panels[2], rows, styles, lambda row: row["K"], "branches K")
    panels[2].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, handlelength=3.5)
    drawing.suptitle(f"Share of the certified optimum, {len(rows):,} random instances", x=0.01, ha="left", fontsize=10)
    return as_png(drawing, 160)


def _quantiles(axes: Any, summary: dict[str, dict[str, float]]) -> None:
    for place, values in enumerate(reversed(summary.values())):
        axes.plot([values["5 %"], values["75 %"]], [place, place], color="0.75", linewidth=1.5, zorder=1)
        axes.plot([values["25 %"], values["75 %"]], [place, place], color="0.45", linewidth=5, zorder=2)
        axes.plot(values["median"], place, "o", color="#D55E00", markersize=6, zorder=3)
        axes.plot(values["worst"], place, "|", color="0.4", markersize=9, zorder=3)
    axes.set_yticks(range(len(summary)), list(reversed(summary)), fontsize=9)
    axes.axvline(1, color="0.6", linewidth=3)
    axes.set_xlabel("share: worst |, 5 %, quartiles, median o")
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _lost(axes: Any, rows: Sequence[Row], styles: dict[str, Any]) -> None:
    """How much less often than the optimum a verifier gets to each depth, on the deepest trees."""
    deepest = max(len(row["lost"][name]) for row in rows for name in styles)
    deep = [row for row in rows if len(row["lost"][next(iter(styles))]) == deepest]
    for name, style in styles.items():
        means = np.mean([row["lost"][name] for row in deep], axis=0)
        axes.plot(range(1, deepest), means[1:], label=name, **style)
    axes.set_xticks(range(1, deepest))
    axes.set_xlabel(f"depth d (trees of depth {deepest - 1})")
    axes.set_ylabel("P(tau >= d) of the optimum minus the verifier's")
    axes.axhline(0, color="0.6", linewidth=3)
    quiet_axes(axes)


def _means(axes: Any, rows: Sequence[Row], styles: dict[str, Any], key: Callable[[Row], int], label: str) -> None:
    groups: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    places = sorted(groups)
    for name, style in styles.items():
        means = [float(np.mean([row["shares"][name] for row in groups[place]])) for place in places]
        axes.plot(places, means, label=name, **style)
    axes.axhline(1, color="0.6", linewidth=3)
    axes.set_xticks(places)
    axes.set_xlabel(label)
    axes.set_ylabel("mean share of the optimum")
    quiet_axes(axes)
