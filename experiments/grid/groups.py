"""Means over prompts, by group of prompts: each prompt has the same weight, however many blocks follow it."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from rich.table import Table

from draftproof.experiments.shared.output import short

#: The fewest prompts for which a confidence interval over prompts is computed.
FEWEST = 4
#: The name of all groups together, and of prompts without a group.
ALL, NONE = "all", "(no group)"


def positions_by_group(groups: Sequence[str]) -> dict[str, list[int]]:
    """The positions of the prompts of each group; those of all groups first. groups: the group of each prompt."""
    by_group: dict[str, list[int]] = {}
    for position, group in enumerate(groups):
        by_group.setdefault(group or NONE, []).append(position)
    return {ALL: list(range(len(groups))), **(by_group if len(by_group) > 1 else {})}


def mean_by_group(
    groups: Sequence[str], values: Sequence[float], per: Sequence[float] | None = None
) -> list[dict[str, Any]]:
    """The mean over prompts, by group, with `low` and `high` of its 95 % confidence interval. values: one a prompt.

    The interval is None for fewer than `FEWEST` prompts. per: denominators; the mean is then a ratio of means.
    """
    from scipy.special import stdtrit

    means = []
    for group, positions in positions_by_group(groups).items():
        above = np.array([values[position] for position in positions], dtype=float)
        below = np.array([1.0 if per is None else per[position] for position in positions])
        mean, low, high = float(above.mean() / below.mean()), None, None
        if len(above) >= FEWEST:
            deviation = float((above - mean * below).std(ddof=1) / below.mean())
            half = float(stdtrit(len(above) - 1, 0.975)) * deviation / sqrt(len(above))
            low, high = mean - half, mean + half
        means.append({"group": group, "prompts": len(above), "mean": mean, "low": low, "high": high})
    return means


def interval_text(group: Mapping[str, Any]) -> str:
    """A mean of `mean_by_group` with its interval, where it has one."""
    if group["low"] is None:
        return short(group["mean"], 4)
    return f"{short(group['mean'], 4)} ({short(group['low'], 4)} to {short(group['high'], 4)})"


def group_columns(view: Table, groups: Sequence[Mapping[str, Any]]) -> None:
    """Add a column for each group, and a caption that explains the intervals."""
    for group in groups:
        view.add_column(f"{group['group']}\n{group['prompts']} prompt{'s' * (group['prompts'] > 1)}", justify="right")
    view.caption = "(..): 95 % over prompts."
    if any(group["prompts"] < FEWEST for group in groups):
        view.caption += f" {few_text('prompts')}"


def few_text(what: str) -> str:
    """The remark where there are too few prompts, or roots, for an interval."""
    return f"Fewer than {FEWEST} {what}: the numbers hold for these alone."
