"""The report as one file of HTML: no network, light and dark, tables that sort and filter, fit for print."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from draftproof.experiments.commands.claims.verdicts import RECORDED
from draftproof.experiments.commands.claims.views import recorded
from draftproof.experiments.commands.gallery.entries import ENTRIES
from draftproof.experiments.commands.gallery.work import measured
from draftproof.experiments.commands.report import equal_terms
from draftproof.experiments.commands.report.figures import bars, curves
from draftproof.experiments.commands.report.section import Cell, Section, count, number, percent, text


def page(summary: Mapping[str, Any], stores: Sequence[str], version: str) -> str:
    """The whole report. stores: the names of what it was made from."""
    loader = PackageLoader("draftproof.experiments.commands.report", "")
    template = Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template("report.html.j2")
    return template.render(
        named=", ".join(stores),
        findings=summary["findings"],
        version=version,
        again=shlex.join(["draftproof", "report", *stores, "--json", "-"]),
        sections=[section for section in _sections(summary) if section.rows],
    )


def _sections(summary: Mapping[str, Any]) -> Iterator[Section]:
    yield _verifiers(summary)
    yield _schemes(summary)
    yield _pairs(summary)
    yield from equal_terms.sections(summary)
    yield _shares(summary)
    yield _cells(summary)
    yield _ledger()
    yield _gallery()


def _verifiers(summary: Mapping[str, Any]) -> Section:
    sound = [row for row in summary["verifiers"] if row["lossless"] == row["rows"] and not row["control"]]
    shares = {row["verifier"]: row["share"] for row in sound if row["share"] is not None}
    hover = {
        row["verifier"]: f"{row['verifier']}: {row['share']:.4%} of the optimum, {row['worst']:.4%} at worst"
        for row in sound
        if row["share"] is not None
    }
    rows: list[list[Cell]] = [
        [
            text(row["verifier"]), count(row["rows"]), count(row["lossless"]), number(row["mean"]),
            percent(row["share"]), percent(row["worst"]), percent(row["wins"]),
            text(row["worst_command"] or row["refuted_command"]),
        ]
        for row in summary["verifiers"]
    ]  # fmt: skip
    headings = ("verifier", "rows", "lossless", "mean tokens a block", "share of optimum", "worst share", "best of all")
    drawn = bars(shares, "verifiers", "mean share of the optimum", hover)
    return Section("verifiers", "Verifiers", (*headings, "worst row"), rows, commands=7, figure=drawn)


def _schemes(summary: Mapping[str, Any]) -> Section:
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    best: dict[tuple[str, int], float] = {}
    for row in summary["by_scheme"]:
        key = (row["verifier"], row["nodes"])
        best[key] = max(best.get(key, 0.0), row["mean"])
    for (name, nodes), value in best.items():
        lines[name].append((nodes, value))
    title = "best mean tokens a block by drafted tokens"
    drawn = curves(lines, "schemes", title, "drafted tokens", "tokens a block")
    rows: list[list[Cell]] = [
        [text(row["scheme"]), count(row["nodes"]), text(row["verifier"]), count(row["worlds"]),
         number(row["mean"]), number(row["optimum"])]
        for row in summary["by_scheme"]
    ]  # fmt: skip
    headings = ("scheme", "drafted tokens", "verifier", "worlds", "mean tokens a block", "optimum")
    return Section("schemes", "Draft schemes", headings, rows, figure=drawn)


def _pairs(summary: Mapping[str, Any]) -> Section:
    headings = ("verifier", "against", "common rows", "below in", "largest difference", "where")
    rows: list[list[Cell]] = [
        [text(pair["verifier"]), text(pair["other"]), count(pair["rows"]), count(pair["below"]),
         number(pair["largest"]), text(pair["command"])]
        for pair in summary["pairs"]
    ]  # fmt: skip
    return Section("pairs", "One against another", headings, rows, commands=5)


def _shares(summary: Mapping[str, Any]) -> Section:
    rows: list[list[Cell]] = [
        [text(row["verifier"]), count(row["instances"]), percent(row["mean"]), percent(row["worst"])]
        for row in summary["shares"]
    ]
    return Section("shares", "Shares of the optimum", ("verifier", "instances", "mean share", "worst share"), rows)


def _cells(summary: Mapping[str, Any]) -> Section:
    headings = ("verifier", "scheme", "predicted", "measured", "standard error", "z", "blocks")
    rows: list[list[Cell]] = [
        [text(row["verifier"]), text(row["shape"]), number(row["predicted"]), number(row["measured"]),
         number(row["total_error"]), (f"{row['z']:+.2f}", row["z"]), count(row["blocks"])]
        for row in summary["cells"]
    ]  # fmt: skip
    return Section("cells", "On real models", headings, rows)


def _ledger() -> Section:
    names = ("id", "status", "statement", "evidence", "command")
    rows: list[list[Cell]] = [[text(row[name]) for name in names] for row in recorded(RECORDED).values()]
    note = "As recorded; draftproof claims tests them again."
    return Section("claims", "What papers claim", ("claim", *names[1:]), rows, commands=4, note=note)


def _gallery() -> Section:
    known = measured()
    rows: list[list[Cell]] = [
        [
            text(entry.name),
            text(f"{entry.repository}: {entry.what}"),
            text(known[entry.name].verdict),
            count(known[entry.name].instances),
            count(known[entry.name].refuted),
            text(f"draftproof gallery {entry.name}"),
        ]
        for entry in ENTRIES
        if entry.name in known
    ]
    headings = ("entry", "what", "verdict", "instances", "refuted", "command")
    note = "As recorded; draftproof gallery --checkout FOLDER measures them again."
    return Section("gallery", "Verifiers of public projects", headings, rows, commands=5, note=note)
