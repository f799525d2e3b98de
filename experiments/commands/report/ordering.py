"""The order of verifiers that a paper reports, against the exact one: on the same drafts, and on every equal term.

[thomas2026dynamic] prints averages of block efficiency over pairs of models and temperatures. They are measurements of
other models; what can be asked here is whether laws can be ordered so at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Any

from draftproof.experiments.commands.report.matched import Comparison, World
from draftproof.experiments.commands.report.places import CLOSE, Place, command
from draftproof.experiments.shared.names import find_verifier

#: The averages of [thomas2026dynamic], lowest first.
REPORTED: Mapping[str, float] = MappingProxyType(
    {
        "nss": 4.05, "block": 4.30, "khisti": 4.41, "naive_tree": 4.50, "naive": 4.52, "specinfer": 4.58,
        "spectr": 4.61, "traversal": 5.31,
    }
)  # fmt: skip


def ordering(places: Sequence[Place]) -> list[dict[str, Any]]:
    """A row for each two of the reported verifiers: who is ahead on the same drafts of several paths, and how often.

    witness: the command that shows the largest gap the other way.
    """
    several = [place for place in places if (place.row["scheme"].get("K") or 1) > 1]
    return [row for low, high in combinations(REPORTED, 2) if (row := _pair(low, high, several)) is not None]


def _pair(low: str, high: str, places: Sequence[Place]) -> dict[str, Any] | None:
    there = [place for place in places if low in place.fair and high in place.fair]
    if not there:
        return None
    gaps = [place.fair[high] - place.fair[low] for place in there]
    ahead, behind = sum(gap > CLOSE for gap in gaps), sum(gap < -CLOSE for gap in gaps)
    worst = there[min(range(len(gaps)), key=gaps.__getitem__)]
    return {
        "lower": low, "higher": high, "reported": REPORTED[high] - REPORTED[low], "drafts": len(gaps),
        "as_reported": ahead, "equal": len(gaps) - ahead - behind, "reversed": behind, "mean": fmean(gaps),
        "verdict": _verdict(low, high, ahead, behind, fmean(gaps)),
        "witness": command(worst.rows[low], low, high) if behind else "",
    }  # fmt: skip


def _verdict(low: str, high: str, ahead: int, behind: int, mean: float) -> str:
    if high in find_verifier(low).verifier.card.dominates:
        return "impossible: never so on the same drafts, by its card"
    if not ahead:
        return "equal here" if not behind else "the other way round on all drafts"
    if not behind:
        return "holds on all drafts"
    return "holds on average" if mean > CLOSE else "the other way round on average"


def agreement(compared: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """For every term how many of the pairs have the reported order: by the mean over all worlds, and cell by cell."""
    for term, worlds in compared:
        names = [name for name in REPORTED if name in worlds[0].best]
        if len(names) < 2:
            continue
        cells: dict[Any, list[World]] = {}
        for world in worlds:
            cells.setdefault(world.cell, []).append(world)
        pairs = list(combinations(names, 2))
        whole, each = _concordant(pairs, worlds), [_concordant(pairs, group) for group in cells.values()]
        below = _cells_below("block", "naive", list(cells.values())) if {"block", "naive"} <= set(names) else None
        yield {
            "term": term.name, "value": term.value, "vocab_size": term.vocab_size, "schemes": term.schemes,
            "pairs": len(pairs),
            "as_reported": whole, "cells": len(cells), "cells_mean": fmean(each), "block_below_naive": below,
            "order": _order(names, worlds), "leaders": _leaders(names, list(cells.values())),
        }  # fmt: skip


def _means(names: Sequence[str], worlds: Sequence[World]) -> dict[str, float]:
    return {name: fmean(world.best[name] for world in worlds) for name in names}


def _concordant(pairs: Sequence[tuple[str, str]], worlds: Sequence[World]) -> int:
    means = _means(list(dict.fromkeys(name for pair in pairs for name in pair)), worlds)
    return sum(means[high] - means[low] > CLOSE for low, high in pairs)


def _cells_below(one: str, other: str, cells: Sequence[Sequence[World]]) -> int:
    """In how many cells the mean of one is below that of the other."""
    found = [_means((one, other), group) for group in cells]
    return sum(means[one] < means[other] - CLOSE for means in found)


def _leaders(names: Sequence[str], cells: Sequence[Sequence[World]]) -> dict[str, int]:
    """In how many cells each has the largest mean, alone or with others, the most frequent first."""
    found = Counter[str]()
    for group in cells:
        means = _means(names, group)
        found.update(name for name in names if means[name] >= max(means.values()) - CLOSE)
    return dict(found.most_common())


def _order(names: Sequence[str], worlds: Sequence[World]) -> str:
    """The verifiers by mean, lowest first; equal ones with = between them."""
    means = _means(names, worlds)
    ranked = sorted(names, key=lambda name: means[name])
    text = ranked[0]
    for before, name in pairwise(ranked):
        text += (" = " if means[name] - means[before] <= CLOSE else " < ") + name
    return text
