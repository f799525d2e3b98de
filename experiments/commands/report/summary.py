"""What the rows of a store say: verifiers against the optimum and against each other, by scheme, with witnesses.

Means are over rows, each a world on a scheme; a share is block efficiency over the certified upper bound of the same
world and scheme, where the store has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

from draftproof.experiments.commands.report import equal_terms
from draftproof.experiments.commands.report.matched import comparisons, matched
from draftproof.experiments.commands.report.ordering import agreement, ordering
from draftproof.experiments.commands.report.places import CLOSE, Place, command, kind, places_of
from draftproof.experiments.commands.report.sources import Found
from draftproof.experiments.commands.sweep.store import Row
from draftproof.experiments.shared.progress import counted

#: Standard errors that a measured mean may be away from the predicted one.
FAR = 4


def summarise(found: Found) -> dict[str, Any]:
    """All numbers of the report, as plain data."""
    places = places_of(found.compared)
    compared = list(comparisons(places))
    names = list(dict.fromkeys(name for place in places for name in place.rows))
    verifiers = sorted((_verifier(name, places) for name in names), key=_best_first)
    summary = {
        "rows": sum(len(place.rows) + (place.upper is not None) for place in places),
        "worlds": len({place.world for place in places}),
        "schemes": len({place.row["shape"] for place in places}),
        "kinds": sorted({kind(place.row["source"]).partition(":")[0] for place in places}),
        "verifiers": verifiers,
        "by_scheme": list(_by_scheme(places, names)),
        "pairs": list(_pairs(places, names)),
        "matched": list(matched(compared)),
        "ordering": ordering(places),
        "agreement": list(agreement(compared)),
        "cells": [_cell(row) for row in found.cells],
        "shares": _shares(found.shares),
    }
    return {**summary, "findings": list(_findings(summary))}


def _verifier(name: str, places: Sequence[Place]) -> dict[str, Any]:
    there = [place for place in places if name in place.rows]
    lossless = [place for place in there if place.rows[name]["lossless"]]
    values = [place.rows[name]["block_efficiency_float"] for place in lossless]
    shares = [(place.usable[name] / place.upper, place) for place in lossless if place.upper]
    wins = sum(place.usable[name] >= max(place.usable.values()) - CLOSE for place in lossless)
    worst = min(shares, key=lambda each: each[0], default=None)
    refuted = next((place for place in there if not place.rows[name]["lossless"]), None)
    return {
        "verifier": name,
        "rows": len(there),
        "lossless": len(lossless),
        "control": any(place.rows[name].get("control") for place in there),
        "mean": _mean(values),
        "share": _mean([share for share, _ in shares]),
        "worst": worst[0] if worst else None,
        "wins": wins / len(lossless) if lossless else None,
        "worst_command": command(worst[1].rows[name], name) if worst else "",
        "refuted_command": command(refuted.rows[name], name) if refuted else "",
    }


def _cell(row: Row) -> dict[str, Any]:
    """A cell of `validate`: what was predicted and what was measured."""
    kept = ("verifier", "shape", "predicted", "measured", "total_error", "z", "blocks")
    return {name: row[name] for name in kept}


def _shares(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Mean and worst share of the optimum by verifier, of the study of shares, the best first."""
    names = dict.fromkeys(name for row in rows for name in row["shares"])
    each = {name: [row["shares"][name] for row in rows if name in row["shares"]] for name in names}
    found = [
        {"verifier": name, "instances": len(values), "mean": _mean(values), "worst": min(values)}
        for name, values in each.items()
    ]
    return sorted(found, key=lambda row: -row["mean"])


def _best_first(row: Mapping[str, Any]) -> tuple[bool, float, float]:
    return row["mean"] is None, -(row["share"] or 0.0), -(row["mean"] or 0.0)


def _by_scheme(places: Sequence[Place], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    groups = defaultdict(list)
    for place in places:
        groups[place.row["shape"]].append(place)
    for shape, group in sorted(groups.items(), key=lambda item: (item[1][0].row["nodes"], item[0])):
        bounds = [place.upper for place in group if place.upper is not None]
        for name in names:
            values = [place.usable[name] for place in group if name in place.usable]
            if values:
                yield {
                    "scheme": shape, "nodes": group[0].row["nodes"], "verifier": name, "worlds": len(values),
                    "mean": _mean(values), "optimum": _mean(bounds) if len(bounds) == len(group) else None,
                }  # fmt: skip


def _pairs(places: Sequence[Place], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """How often one falls below another on the same world and scheme, with the worst place."""
    for one, other in permutations(names, 2):
        gaps = [
            (place.usable[other] - place.usable[one], place)
            for place in places
            if one in place.usable and other in place.usable
        ]
        if gaps:
            largest, place = max(gaps, key=lambda each: each[0])
            below = sum(gap > CLOSE for gap, _ in gaps)
            yield {
                "verifier": one, "other": other, "rows": len(gaps), "below": below,
                "largest": largest if below else 0.0,
                "command": command(place.rows[one], one, other) if below else "",
            }  # fmt: skip


def _findings(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["rows"]:
        yield from _compared(summary)
    cells = summary["cells"]
    if cells:
        far = max(cells, key=lambda row: abs(row["z"]))
        near = sum(abs(row["z"]) <= FAR for row in cells)
        yield (
            f"On real models: {counted(len(cells), 'cell')}, {near} within {FAR} standard "
            f"errors of the prediction; the farthest is {far['verifier']} on {far['shape']}, z = {far['z']:+.2f}."
        )
    shares = summary["shares"]
    if shares:
        best = shares[0]
        yield (
            f"Shares of the optimum on {best['instances']:,} random instances: {best['verifier']} {best['mean']:.2%} "
            f"on average, {best['worst']:.2%} at worst."
        )


def _compared(summary: Mapping[str, Any]) -> Iterator[str]:
    verifiers = summary["verifiers"]
    yield (
        f"{summary['rows']:,} rows: {len(verifiers)} verifiers on {counted(summary['worlds'], 'world')} "
        f"({', '.join(summary['kinds'])}) and {counted(summary['schemes'], 'draft scheme')}."
    )
    usable = [row for row in verifiers if row["mean"] is not None]
    sound = [row for row in verifiers if row["lossless"] == row["rows"]]
    yield f"Lossless on every row: {', '.join(row['verifier'] for row in sound if not row['control']) or 'none'}."
    lucky = [row["verifier"] for row in sound if row["control"]]
    if lucky:
        yield f"Not refuted by these rows, and yet not lossless: {', '.join(lucky)} (draftproof check says where)."
    refuted = [
        f"{row['verifier']} ({row['rows'] - row['lossless']:,} of {row['rows']:,})"
        for row in verifiers
        if row["lossless"] < row["rows"]
    ]
    if refuted:
        yield f"Refuted: {', '.join(refuted)}."
    shared = [row for row in usable if row["share"] is not None and not row["control"]]
    if shared:
        best = max(shared, key=lambda row: row["share"])
        last = min(shared, key=lambda row: row["share"])
        shown = f"{best['share']:.2%} of it on average, {best['worst']:.2%} at worst"
        yield f"Closest to the optimum: {best['verifier']}, {shown}."
        yield f"Farthest: {last['verifier']}, {last['share']:.2%} on average, {last['worst']:.2%} at worst."
    yield from equal_terms.findings(summary)
    controls = {row["verifier"] for row in verifiers if row["control"]}
    pairs = [pair for pair in summary["pairs"] if not controls & {pair["verifier"], pair["other"]}]
    never = [f"{pair['verifier']} below {pair['other']}" for pair in pairs if not pair["below"]]
    if never:
        more = f" and {len(never) - 6} more" if len(never) > 6 else ""
        yield f"Never on these rows: {', '.join(never[:6])}{more}."
    falls = sorted((pair for pair in pairs if pair["below"]), key=lambda pair: -pair["largest"])
    if falls:
        worst = falls[0]
        gap = f"{worst['largest']:.4f} tokens a block"
        yield f"Largest difference: {worst['verifier']} {gap} below {worst['other']} on the same drafts."


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None  # the same in any order
