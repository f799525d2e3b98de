"""The tables of the report: verifiers against the optimum and against each other, by scheme, with their commands.

Means are over rows, each of one world on one scheme. A share is block efficiency over the certified upper bound of the
same world and scheme; where no row has a bound, over the best verifier there.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

import numpy as np

from draftproof.experiments.grid.report.rows import WorldOnScheme, grouped, kind, told_otherwise
from draftproof.experiments.grid.report.terms import CLOSE, matched
from draftproof.experiments.grid.store import Row
from draftproof.experiments.result import Column, Table
from draftproof.experiments.shared.progress import counted

#: Standard errors that a measured mean may be away from the predicted one.
FAR = 4
_VERIFIER, _SCHEME, _COMMAND = Column("verifier"), Column("scheme"), Column("command", "command", shown=False)
_MEAN, _ROWS = Column("mean", "exact", "tokens a block"), Column("rows", "count")
_DRAFTED = Column("nodes", "count", "drafted")
#: Columns of the tables by name, with a title and what a reader has to know.
COLUMNS: Mapping[str, tuple[str, str, Sequence[Column]]] = {
    "verifiers": (
        "Verifiers", "Below: how far the block efficiency stays below the optimum, or below the best verifier where no "
        "optimum is known.",
        (_VERIFIER, Column("below", "percent"), Column("at_worst", "percent"), Column("worst_on"),
         Column("best_in", "percent"), _MEAN, _ROWS, _COMMAND),
    ),
    "refuted": (
        "Refuted", "On schemes of this kind these are in no other table: the block efficiency of a lossy verifier does "
        "not count. Controls are wrong on purpose; where no row here refutes one, draftproof check does.",
        (_VERIFIER, Column("control"), _ROWS, Column("refuted", "count", "refuted by"),
         Column("deviation", "exact", "largest deviation from p"), Column("scheme", title="on"), _COMMAND),
    ),
    "schemes": (
        "Draft schemes", "Mean tokens a block of each verifier; best: the mean optimum where it is known, else the "
        "best verifier.",
        (_SCHEME, _DRAFTED, Column("best", "exact")),
    ),
    "matched": (
        "On equal terms", "Each world has the best of the schemes, for each verifier its own, at one step of so many "
        "branches, at equal drafted tokens, at equal depth, or by time, as the speed-up over decoding without drafts. "
        "T: temperature.",
        (Column("term", title="at equal"), Column("value"), Column("vocab_size", "count", "V"), _VERIFIER,
         Column("mean", "exact"), Column("median", "exact"), Column("share", "percent", "share of optimum"),
         Column("wins", "percent", "best in"), Column("schemes", "count"), Column("worlds", "count")),
    ),
    "pairs": (
        "Below on the same drafts", "How often a verifier brings fewer tokens than another, and by how much at most.",
        (_VERIFIER, Column("other"), _ROWS, Column("below", "count"), Column("largest", "exact"), _SCHEME, _COMMAND),
    ),
    "cells": (
        "On real models", "",
        (_VERIFIER, Column("shape", title="scheme"), Column("predicted", "exact"), Column("measured", "exact"),
         Column("total_error", "exact", "standard error"), Column("z", "exact"), Column("blocks", "count")),
    ),
    "theorems": (
        "Proved for all p and q", "",
        (_VERIFIER, Column("shape", title="scheme"), Column("vocab_size", "count", "V"), Column("identities", "count")),
    ),
}  # fmt: skip
#: The tables that a terminal shows too.
_SHOWN = ("verifiers", "refuted", "cells", "theorems")


def tables_and_findings(
    rows: Mapping[str, Sequence[Row]], pairs: Sequence[WorldOnScheme]
) -> tuple[list[Table], list[str]]:
    """The tables that have rows, and the report in sentences.

    rows: by their kind, from `read`. pairs: the laws and bounds among them, grouped.
    """
    verifiers, refuted = _verifiers(pairs), list(_refuted(pairs))
    return _tables(rows, pairs, verifiers, refuted), list(_findings(rows, pairs, verifiers, refuted))


def _tables(
    rows: Mapping[str, Sequence[Row]],
    pairs: Sequence[WorldOnScheme],
    verifiers: Sequence[dict[str, Any]],
    refuted: Sequence[dict[str, Any]],
) -> list[Table]:
    names = [row["verifier"] for row in verifiers]
    lines: dict[str, Sequence[Mapping[str, Any]]] = {
        "verifiers": verifiers,
        "refuted": sorted(refuted, key=lambda row: -row["refuted"] / row["rows"]),
        "schemes": list(_schemes(pairs, names)),
        "matched": list(matched(pairs)),
        "pairs": list(_pairs(pairs, names)),
        "cells": rows.get("cell", ()),
        "theorems": rows.get("theorem", ()),
    }
    further = {
        "schemes": [*(Column(name, "exact", name) for name in names), _COMMAND],
        "matched": [
            Column(cell, "exact", cell) for cell in dict.fromkeys(name for row in lines["matched"] for name in row)
            if ", T = " in cell
        ],
    }  # fmt: skip
    return [
        Table.of([*columns, *further.get(name, ())], lines[name], title=title, name=name, shown=name in _SHOWN)
        for name, (title, _, columns) in COLUMNS.items()
        if lines[name]
    ]


def _verifiers(pairs: Sequence[WorldOnScheme]) -> list[dict[str, Any]]:
    """The verifiers that no row refutes, the one closest to the optimum first."""
    bounded = any(pair.upper for pair in pairs)
    rows = []
    for name in dict.fromkeys(name for pair in pairs for name in pair.values):
        there = [pair for pair in pairs if name in pair.values]
        known = [pair for pair in there if pair.upper or not bounded]
        below = [1 - pair.values[name] / (pair.upper or max(pair.values.values())) for pair in known]
        worst, where = max(zip(below, known, strict=True), key=lambda pair: pair[0], default=(None, None))
        rows.append({
            "verifier": name, "below": fmean(below) if below else None, "at_worst": worst,
            "worst_on": where.row["shape"] if where else None,
            "best_in": fmean(pair.values[name] >= max(pair.values.values()) - CLOSE for pair in there),
            "mean": fmean(pair.values[name] for pair in there), "rows": len(there),
            "command": where.command(name) if where else "",
        })  # fmt: skip
    return sorted(rows, key=lambda row: (row["below"] is None, row["below"] or 0, -row["mean"]))


def _refuted(pairs: Sequence[WorldOnScheme]) -> Iterator[dict[str, Any]]:
    """The verifiers that a row refutes, and negative controls, with the row of the largest deviation."""
    for name in dict.fromkeys(name for pair in pairs for name in pair.rows if name in pair.lossy):
        there = [pair for pair in pairs if name in pair.rows and name in pair.lossy]
        worst = max(there, key=lambda pair: pair.rows[name]["max_deviation_float"])
        refuted = sum(not pair.rows[name]["lossless"] for pair in there)
        yield {
            "verifier": name, "control": "yes" if any(pair.rows[name]["control"] for pair in there) else "",
            "rows": len(there), "refuted": refuted, "deviation": worst.rows[name]["max_deviation_float"],
            "told_otherwise": all(told_otherwise(pair.row["source"]) for pair in there),
            "scheme": worst.row["shape"] if refuted else "",
            "command": worst.command(name) if refuted else f"draftproof check {shlex.quote(worst.rows[name]['spec'])}",
        }  # fmt: skip


def _schemes(pairs: Sequence[WorldOnScheme], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The mean of each verifier on each scheme, the schemes with the fewest drafted tokens first."""
    for (nodes, shape), group in grouped(pairs, lambda pair: (pair.row["nodes"], pair.row["shape"])).items():
        brought = {name: [pair.values[name] for pair in group if name in pair.values] for name in names}
        means = {name: fmean(values) for name, values in brought.items() if values}
        bounds = [pair.upper for pair in group if pair.upper is not None]
        best = fmean(bounds) if len(bounds) == len(group) else max(means.values(), default=None)
        yield {"scheme": shape, "nodes": nodes, "best": best, **means, "command": group[0].command(*group[0].values)}


def _pairs(pairs: Sequence[WorldOnScheme], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """How often a verifier brings less than another on the same world and scheme, with the largest difference."""
    brought = {name: np.array([pair.values.get(name, np.nan) for pair in pairs]) for name in names}
    for one, other in permutations(names, 2):
        gaps = brought[other] - brought[one]
        known = ~np.isnan(gaps)
        if known.any():
            largest = int(np.nanargmax(gaps))
            pair, below = pairs[largest], int((gaps > CLOSE).sum())
            yield {
                "verifier": one, "other": other, "rows": int(known.sum()), "below": below,
                "largest": float(gaps[largest]) if below else 0.0, "scheme": pair.row["shape"] if below else "",
                "command": pair.command(one, other) if below else "",
            }  # fmt: skip


def _findings(
    rows: Mapping[str, Sequence[Row]],
    pairs: Sequence[WorldOnScheme],
    verifiers: Sequence[dict[str, Any]],
    refuted: Sequence[dict[str, Any]],
) -> Iterator[str]:
    if pairs:
        yield _size(pairs, all(row["arithmetic"] == "rational" for row in rows["law"]))
        against = "the optimum" if any(pair.upper for pair in pairs) else "the best verifier"
        yield from _leaders(verifiers, against)
        yield _losers(refuted, sorted({row["verifier"] for row in rows.get("failure", ())}))
    if cells := rows.get("cell", ()):
        farthest = max(cells, key=lambda row: abs(row["z"]))
        within = sum(abs(row["z"]) <= FAR for row in cells)
        yield (
            f"On real models: {counted(len(cells), 'cell')}, {within} within {FAR} standard errors of the prediction; "
            f"the farthest is {farthest['verifier']} on {farthest['shape']}, z = {farthest['z']:+.2f}."
        )
    if theorems := rows.get("theorem", ()):
        proved = ", ".join(dict.fromkeys(row["verifier"] for row in theorems))
        yield f"{counted(len(theorems), 'theorem')} for all p and q: {proved}."


def _size(pairs: Sequence[WorldOnScheme], exact: bool) -> str:
    worlds, schemes = len({pair.world for pair in pairs}), len({pair.row["shape"] for pair in pairs})
    verifiers = counted(len({name for pair in pairs for name in pair.rows}), "verifier")
    kinds = ", ".join(sorted({kind(pair.row["source"]).partition(":")[0] for pair in pairs}))
    rows = sum(len(pair.rows) + (pair.upper is not None) for pair in pairs)
    how = "exactly" if exact else "in float64"
    on = f"{counted(worlds, 'world')} ({kinds}) and {counted(schemes, 'draft scheme')}"
    return f"{verifiers} compared {how} on {on}: {rows:,} rows."


def _leaders(verifiers: Sequence[Mapping[str, Any]], against: str) -> Iterator[str]:
    ranked = [row for row in verifiers if row["below"] is not None]
    if ranked:
        best = ranked[0]
        level = [row["verifier"] for row in ranked if row["below"] <= best["below"] + CLOSE]
        more = f" and {counted(len(level) - 2, 'other')}" if len(level) > 2 else ""
        lead = f"{best['verifier']} leads" if len(level) == 1 else f"{', '.join(level[:2])}{more} lead"
        sentence = f"{lead}, {best['below']:.2%} below {against} on average and {best['at_worst']:.2%} at worst"
        if len(level) < len(ranked):
            last = ranked[-1]
            sentence += f"; {last['verifier']} is last with {last['below']:.2%}"
        yield f"{sentence}."


def _losers(refuted: Sequence[Mapping[str, Any]], failing: Sequence[str]) -> str:
    caught = []
    for row in refuted:
        if row["refuted"]:
            share = "every row" if row["refuted"] == row["rows"] else f"{row['refuted']:,} of {row['rows']:,} rows"
            caught.append(f"{row['verifier']} ({share}{' with --told' * row['told_otherwise']})")
    caught += [f"{name} (fails on legal rows)" for name in failing]
    unrefuted = [row["verifier"] for row in refuted if not row["refuted"]]
    sentence = f"Refuted: {', '.join(caught)}" if caught else "No verifier is refuted"
    if unrefuted:
        sentence += f"; not lossless either, though no row here shows it: {', '.join(unrefuted)}"
    return f"{sentence}."
