"""Means over prompts, by group of prompts: each prompt has the same weight, however many blocks follow it."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.result import Column

#: The fewest prompts for which a confidence interval over prompts is computed.
FEWEST = 4
#: The name of all groups together, and of prompts without a group.
ALL, NONE = "all", "(no group)"
#: What people must know to read tables by group.
GROUPS_NOTE = f"from, to: 95 % over prompts, where a group has at least {FEWEST}."


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


def group_columns(measure: str) -> list[Column]:
    """The columns of rows of `mean_by_group`. measure: what the mean is of."""
    columns = [Column("group"), Column("prompts", "count"), Column("mean", "exact", measure)]
    return [*columns, Column("low", "exact", "from"), Column("high", "exact", "to")]


def few_text(what: str) -> str:
    """The remark where there are too few prompts, or roots, for an interval."""
    return f"Fewer than {FEWEST} {what}: the numbers hold for these alone."
