"""The numbers of the report: verifiers against the optimum and against each other, by scheme, with their commands.

Means are over rows, each of one source of instances ("world") on one scheme. A share is block efficiency over the
certified upper bound of the same world and scheme; where no row has a bound, over the best verifier there. A negative
control, or a verifier that a row refutes, is listed as refuted; its rows on schemes of that kind count nowhere else.

[thomas2026dynamic] prints averages of block efficiency over pairs of models and temperatures. Those models are not
here; the report tests whether exact block efficiencies have the same order, on the same trees and at equal budgets.
"""

import json
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from statistics import fmean, quantiles
from types import MappingProxyType
from typing import Any

import numpy as np

from draftproof.experiments.grid.exchange import shape_fields
from draftproof.experiments.grid.figures import NAMED, best_budget, delay_lines, gains, highlighted
from draftproof.experiments.grid.report.matched import (
    CLOSE,
    WorldOnScheme,
    by_shape,
    comparisons,
    is_delayed,
    kind,
    matched,
    told_otherwise,
    worlds_on_schemes,
)
from draftproof.experiments.grid.store import Row, stored_rows
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.progress import counted
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.verifiers import REGISTRY

#: Rows that a report shows: of `compare`, of `model validate` and of `prove`.
KINDS = ("law", "bound", "failure", "cell", "theorem")
#: Their fields that a report shows.
_SHOWN = (
    "kind", "verifier", "spec", "scheme", "source", "options", "arithmetic", "control", "lossless", "K", "L1", "L2",
    "nodes", "shape", "block_efficiency_float", "max_deviation_float", "upper_float", "vocab_size", "identities",
    "predicted", "measured", "total_error", "z", "blocks",
)  # fmt: skip


def read(paths: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of all stores by their kind; raises `InvalidInput` for a store without rows."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for path in paths:
        if next(stored_rows(path), None) is None:
            raise InvalidInput(
                f"{cut(path)} has no rows that a report shows; draftproof compare --resume {cut(path)} computes some"
            )
        for name, some in by_kind(stored_rows(path, KINDS)).items():
            rows[name] += some
    return rows


def by_kind(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their kind, with their scheme as text; of what they have only the fields that a report shows."""
    found: dict[str, list[Row]] = defaultdict(list)
    known: dict[str, Any] = {}  # rows share what is alike, so that many of them have room in memory
    for row in rows:
        kind = row["kind"]
        shown = {name: row[name] for name in _SHOWN if name in row}
        if "scheme" in row and kind != "failure":
            shown |= shape_fields(row)
        if kind == "law":
            shown["depth"] = len(row["depth_distribution"]) - 1
        for name in ("scheme", "source", "options"):
            if name in shown:
                shown[name] = known.setdefault(json.dumps(shown[name]), shown[name])
        found[kind].append({name: sys.intern(value) if type(value) is str else value for name, value in shown.items()})
    return found


#: The averages of [thomas2026dynamic], lowest first.
REPORTED: Mapping[str, float] = MappingProxyType(
    {
        "nss": 4.05, "block": 4.30, "khisti": 4.41, "naive_tree": 4.50, "naive": 4.52, "specinfer": 4.58,
        "spectr": 4.61, "traversal": 5.31,
    }
)  # fmt: skip


def ordering(pairs: Sequence[WorldOnScheme]) -> list[dict[str, Any]]:
    """A row for each two of the reported verifiers: how often either brings more on the same trees of several paths.

    witness: the command that prints the largest difference against the reported order.
    """
    several = [pair for pair in pairs if (pair.row["scheme"].get("K") or 1) > 1]
    return [row for low, high in combinations(REPORTED, 2) if (row := _pair(low, high, several)) is not None]


def _pair(low: str, high: str, pairs: Sequence[WorldOnScheme]) -> dict[str, Any] | None:
    there = [pair for pair in pairs if low in pair.values and high in pair.values]
    if not there:
        return None
    gaps = [pair.values[high] - pair.values[low] for pair in there]
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


#: Standard errors that a measured mean may be away from the predicted one.
FAR = 4
#: Fields of a cell of `model validate`, what was predicted and what was measured, and of a theorem of `prove`.
_CELL = ("verifier", "shape", "predicted", "measured", "total_error", "z", "blocks")
_THEOREM = ("verifier", "shape", "vocab_size", "identities")


def summarise(rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """All numbers of the report, as plain data. rows: by their kind, from `read`."""
    order = {name: number for number, name in enumerate(REGISTRY)}
    laws = sorted(rows.get("law", ()), key=lambda row: order.get(row["verifier"], len(order)))
    pairs = worlds_on_schemes([*laws, *rows.get("bound", ())])
    compared = list(comparisons(pairs))
    verifiers = _verifiers(pairs)
    names = [row["verifier"] for row in verifiers]
    summary = {
        "rows": sum(len(pair.rows) + (pair.upper is not None) for pair in pairs),
        "exact": all(row["arithmetic"] == "rational" for row in laws),
        "worlds": len({pair.world for pair in pairs}),
        "schemes": len({pair.row["shape"] for pair in pairs}),
        "kinds": sorted({kind(pair.row["source"]).partition(":")[0] for pair in pairs}),
        "against": "the optimum" if any(pair.upper for pair in pairs) else "the best verifier",
        "verifiers": verifiers,
        "refuted": sorted(_refuted(pairs), key=lambda row: -row["refuted"] / row["rows"]),
        "failing": sorted({row["verifier"] for row in rows.get("failure", ())}),
        "delay": _delay(pairs),
        "by_scheme": [row for shape, group in by_shape(pairs).items() for row in _scheme(shape, group, names)],
        "commands": {shape: group[0].command(*group[0].values) for shape, group in by_shape(pairs).items()},
        "pairs": list(_pairs(pairs, names)),
        "matched": list(matched(compared)),
        "ordering": ordering(pairs),
        "cells": [{field: row[field] for field in _CELL} for row in rows.get("cell", ())],
        "theorems": [{field: row[field] for field in _THEOREM} for row in rows.get("theorem", ())],
    }
    return {**summary, "findings": list(_findings(summary))}


def _verifiers(pairs: Sequence[WorldOnScheme]) -> list[dict[str, Any]]:
    """The verifiers that no row refutes, the largest share of the optimum first."""
    bounded = any(pair.upper for pair in pairs)
    rows = []
    for name in dict.fromkeys(name for pair in pairs for name in pair.values):
        there = [pair for pair in pairs if name in pair.values]
        known = [pair for pair in there if pair.upper or not bounded]
        shares = [pair.values[name] / (pair.upper or max(pair.values.values())) for pair in known]
        worst, where = min(zip(shares, known, strict=True), key=lambda pair: pair[0], default=(None, None))
        wins = [pair.values[name] >= max(pair.values.values()) - CLOSE for pair in there]
        rows.append({
            "verifier": name, "rows": len(there), "mean": fmean(pair.values[name] for pair in there),
            "share": fmean(shares) if shares else None, "deciles": _deciles(shares), "worst": worst,
            "worst_scheme": where.row["shape"] if where else None,
            "worst_command": where.command(name) if where else "", "wins": fmean(wins),
        })  # fmt: skip
    return sorted(rows, key=lambda row: (row["share"] is None, -(row["share"] or 0), -row["mean"]))


def _deciles(shares: Sequence[float]) -> list[float]:
    """The least, the nine deciles and the largest."""
    return [min(shares), *quantiles(shares, n=10, method="inclusive"), max(shares)] if len(shares) > 1 else [*shares]


def _refuted(pairs: Sequence[WorldOnScheme]) -> Iterator[dict[str, Any]]:
    """The verifiers that a row refutes, and negative controls, with the row of the largest deviation."""
    for name in dict.fromkeys(name for pair in pairs for name in pair.rows if name in pair.lossy):
        there = [pair for pair in pairs if name in pair.rows and name in pair.lossy]
        worst = max(there, key=lambda pair: pair.rows[name]["max_deviation_float"])
        refuted = sum(not pair.rows[name]["lossless"] for pair in there)
        yield {
            "verifier": name, "control": any(pair.rows[name]["control"] for pair in there), "rows": len(there),
            "refuted": refuted, "deviation": worst.rows[name]["max_deviation_float"],
            "told_otherwise": all(told_otherwise(pair.row["source"]) for pair in there),
            "scheme": worst.row["shape"].removeprefix("delayed:") if refuted else "",
            "command": worst.command(name) if refuted else f"draftproof check {shlex.quote(worst.rows[name]['spec'])}",
        }  # fmt: skip


def _delay(pairs: Sequence[WorldOnScheme]) -> dict[str, Any]:
    """The points of the figure of delays, means over worlds; `named` are the highlighted lines."""
    groups = by_shape([pair for pair in pairs if is_delayed(pair.row)])
    most = max(map(len, groups.values()), default=0)
    rows = [
        {**group[0].row, **group[0].row["scheme"], "verifier": row["verifier"], "control": False, "lossless": True,
         "block_efficiency_float": row["mean"], "optimum_upper_float": row["optimum"]}
        for shape, group in groups.items()
        for row in _scheme(shape, group, list(group[0].values))
        if row["worlds"] == most
    ]  # fmt: skip
    budget = best_budget(rows)
    lines = delay_lines(rows, budget)
    if all(len(line) < 2 for line in lines.values()):
        lines = {}
    return {"budget": budget, "lines": lines, "named": highlighted(gains(lines), NAMED)}


def _scheme(shape: str, group: Sequence[WorldOnScheme], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The mean of each verifier on one scheme."""
    bounds = [pair.upper for pair in group if pair.upper is not None]
    for name in names:
        values = [pair.values[name] for pair in group if name in pair.values]
        if values:
            yield {
                "scheme": shape, "nodes": group[0].row["nodes"], "verifier": name, "worlds": len(values),
                "mean": fmean(values), "optimum": fmean(bounds) if len(bounds) == len(group) else None,
            }  # fmt: skip


def _pairs(pairs: Sequence[WorldOnScheme], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """How often a verifier brings less than another on the same world and scheme, with the largest difference."""
    brought = {name: np.array([pair.values.get(name, np.nan) for pair in pairs]) for name in names}
    for one, other in permutations(names, 2):
        gaps = brought[other] - brought[one]
        known = ~np.isnan(gaps)
        if known.any():
            at = int(np.nanargmax(gaps))
            pair, below = pairs[at], int((gaps > CLOSE).sum())
            yield {
                "verifier": one, "other": other, "rows": int(known.sum()), "below": below,
                "largest": float(gaps[at]) if below else 0.0, "scheme": pair.row["shape"] if below else "",
                "command": pair.command(one, other) if below else "",
            }  # fmt: skip


def percent(share: float) -> str:
    """A share as percent, with two significant digits where it is small."""
    value = 100 * share
    if value < 1e-4:
        return "0%" if share < CLOSE else "<.0001%"
    return f"{value:.2f}%" if value >= 0.1 else f"{value:.2g}%"


def _findings(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["rows"]:
        yield from _compared(summary)
    if cells := summary["cells"]:
        far = max(cells, key=lambda row: abs(row["z"]))
        near = sum(abs(row["z"]) <= FAR for row in cells)
        yield (
            f"On real models: {counted(len(cells), 'cell')}, {near} within {FAR} standard "
            f"errors of the prediction; the farthest is {far['verifier']} on {far['shape']}, z = {far['z']:+.2f}."
        )
    if theorems := summary["theorems"]:
        proved = ", ".join(dict.fromkeys(row["verifier"] for row in theorems))
        yield f"{counted(len(theorems), 'theorem')} for all p and q: {proved}."


def _compared(summary: Mapping[str, Any]) -> Iterator[str]:
    """Three sentences: what was compared, which verifiers lead and by how much, which are refuted."""
    verifiers, refuted = summary["verifiers"], summary["refuted"]
    how = "exactly" if summary["exact"] else "in float64"
    names = {row["verifier"] for row in (*verifiers, *refuted)}
    yield (
        f"{counted(len(names), 'verifier')} compared {how} on {counted(summary['worlds'], 'world')} "
        f"({', '.join(summary['kinds'])}) and {counted(summary['schemes'], 'draft scheme')}: {summary['rows']:,} rows."
    )
    if ranked := [row for row in verifiers if row["share"] is not None]:
        best = ranked[0]
        level = [row["verifier"] for row in ranked if row["share"] >= best["share"] - CLOSE]
        others = ranked[len(level) :]
        more = f" and {counted(len(level) - 2, 'other')}" if len(level) > 2 else ""
        lead = f"{best['verifier']} leads" if len(level) == 1 else f"{', '.join(level[:2])}{more} lead"
        sentence = f"{lead}, {percent(1 - best['share'])} below {summary['against']} on average"
        sentence += f" and {percent(1 - min(row['worst'] for row in ranked[: len(level)]))} at worst"
        if others:
            sentence += f"; {others[0]['verifier']} follows with {percent(1 - others[0]['share'])}"
        if len(others) > 1:
            sentence += f", and {others[-1]['verifier']} is last with {percent(1 - others[-1]['share'])}"
        yield sentence + "."
    caught: dict[str, list[str]] = {}
    for row in refuted:
        share = "every row" if row["refuted"] == row["rows"] else f"{row['refuted']:,} of {row['rows']:,} rows"
        share += " with --told" * row["told_otherwise"]
        caught.setdefault(share if row["refuted"] else "", []).append(row["verifier"])
    if summary["failing"]:
        caught["fails on legal rows"] = summary["failing"]
    unrefuted = caught.pop("", [])
    listed = "; ".join(f"{', '.join(names)} ({share})" for share, names in caught.items())
    sentence = f"Refuted: {listed}" if caught else "No verifier is refuted"
    if unrefuted:
        sentence += f"; not lossless either, though no row here shows it: {', '.join(unrefuted)}"
    yield sentence + "."
