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

from draftproof.experiments.grid.report.matched import Comparison, World
from draftproof.experiments.grid.report.places import CLOSE, Place
from draftproof.experiments.inputs.verifiers import find_verifier

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
    there = [place for place in places if low in place.values and high in place.values]
    if not there:
        return None
    gaps = [place.values[high] - place.values[low] for place in there]
    ahead, behind = sum(gap > CLOSE for gap in gaps), sum(gap < -CLOSE for gap in gaps)
    worst = there[min(range(len(gaps)), key=gaps.__getitem__)]
    return {
        "lower": low, "higher": high, "reported": REPORTED[high] - REPORTED[low], "drafts": len(gaps),
        "as_reported": ahead, "equal": len(gaps) - ahead - behind, "reversed": behind, "mean": fmean(gaps),
        "verdict": _verdict(low, high, ahead, behind, fmean(gaps)),
        "witness": worst.command(low, high) if behind else "",
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
        groups: dict[Any, list[World]] = {}
        for world in worlds:
            groups.setdefault(world.cell, []).append(world)
        whole, cells = _means(names, worlds), [_means(names, group) for group in groups.values()]
        leaders = Counter(name for means in cells for name in names if means[name] >= max(means.values()) - CLOSE)
        yield {
            "term": term.name, "value": term.value, "vocab_size": term.vocab_size, "schemes": term.schemes,
            "pairs": len(names) * (len(names) - 1) // 2, "as_reported": _concordant(whole), "cells": len(cells),
            "cells_mean": fmean(map(_concordant, cells)),
            "block_below_naive": sum(means["block"] < means["naive"] - CLOSE for means in cells)
            if {"block", "naive"} <= set(names) else None,
            "order": _order(whole), "leaders": dict(leaders.most_common()),
        }  # fmt: skip


def _means(names: Sequence[str], worlds: Sequence[World]) -> dict[str, float]:
    """The means, in the reported order."""
    return {name: fmean(world.best[name] for world in worlds) for name in names}


def _concordant(means: Mapping[str, float]) -> int:
    return sum(high - low > CLOSE for low, high in combinations(means.values(), 2))


def _order(means: Mapping[str, float]) -> str:
    """The verifiers by mean, lowest first; equal ones with = between them."""
    ranked = sorted(means, key=lambda name: means[name])
    text = ranked[0]
    for before, name in pairwise(ranked):
        text += (" = " if means[name] - means[before] <= CLOSE else " < ") + name
    return text
