"""Means over prompts, by group: a prompt counts once, however much was computed or measured after it."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import t

from draftproof.experiments.shared.output import short

#: Roots from which on an interval is over roots, so that it speaks of others like them.
FEWEST = 4
#: What all groups together are called, and prompts of none.
ALL, NONE = "all", "(no group)"


def positions_by_group(groups: Sequence[str]) -> dict[str, list[int]]:
    """The prompts of each group, in the order in which groups come; of all first, where there are several."""
    found: dict[str, list[int]] = {}
    for position, group in enumerate(groups):
        found.setdefault(group or NONE, []).append(position)
    return {ALL: list(range(len(groups))), **found} if len(found) > 1 else {ALL: list(range(len(groups)))}


def mean_by_group(
    groups: Sequence[str], values: Sequence[float], per: Sequence[float] | None = None
) -> list[dict[str, Any]]:
    """The mean of a number a prompt, by group. low, high: 95 % over prompts, None of fewer than `FEWEST` prompts.

    per: of what the mean is over that of the values; the interval is then that of a ratio of means.
    """
    found = []
    for group, positions in positions_by_group(groups).items():
        own = np.array([values[position] for position in positions], dtype=float)
        below = np.array([1.0 if per is None else per[position] for position in positions])
        mean, low, high = float(own.mean() / below.mean()), None, None
        if len(own) >= FEWEST:
            deviation = float((own - mean * below).std(ddof=1) / below.mean())
            half = float(t.ppf(0.975, len(own) - 1)) * deviation / sqrt(len(own))
            low, high = mean - half, mean + half
        found.append({"group": group, "prompts": len(own), "mean": mean, "low": low, "high": high})
    return found


def interval_text(found: Mapping[str, Any]) -> str:
    """A mean with its interval, where it has one."""
    if found["low"] is None:
        return short(found["mean"], 4)
    return f"{short(found['mean'], 4)} ({short(found['low'], 4)} to {short(found['high'], 4)})"


def group_columns(view: Table, groups: Sequence[Mapping[str, Any]]) -> None:
    """A column for each group, and what a reader must know of few prompts."""
    for each in groups:
        view.add_column(f"{each['group']}\n{each['prompts']} prompt{'s' * (each['prompts'] > 1)}", justify="right")
    view.caption = "(..): 95 % over prompts."
    if any(each["prompts"] < FEWEST for each in groups):
        view.caption += f" {few_text('prompts')}"


def few_text(what: str) -> str:
    """What is said where an interval would be over too few."""
    return f"Fewer than {FEWEST} {what}: what is said holds for these alone."
